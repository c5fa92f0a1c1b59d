package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// enqueuers is how many goroutines enqueue.
const enqueuers = 64

// calls lets goroutines call f with 0 to n-1, and returns the first error.
func calls(ctx context.Context, goroutines, n int, f func(i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, goroutines)
	for range goroutines {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				if err := f(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return ctx.Err()
	}
}

// tenantNames returns n of them.
func tenantNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%d", i)
	}
	return names
}

// phase is what n tasks took.
type phase struct {
	Tasks    int     `json:"tasks"`
	Seconds  float64 `json:"seconds"`
	ServerUs float64 `json:"server_us"` // CPU time of the server, per task
	ClientUs float64 `json:"client_us"` // of this process, per task
	Scripts  float64 `json:"scripts"`   // calls, per task
}

func (p *phase) rate() float64 { return float64(p.Tasks) / p.Seconds }

// during measures f, which returns when the last task was through; what it does after that counts as CPU time
// only.
func (s *server) during(ctx context.Context, n int, f func() (time.Time, error)) (p phase, err error) {
	before, err := s.usage(ctx)
	if err != nil {
		return p, err
	}
	end, err := f()
	if err != nil {
		return p, err
	}
	after, err := s.usage(ctx)
	if err != nil {
		return p, err
	}
	tasks := float64(n)
	return phase{
		Tasks: n, Seconds: end.Sub(before.at).Seconds(), ServerUs: (after.server - before.server) / tasks,
		ClientUs: (after.client - before.client) / tasks, Scripts: (after.scripts - before.scripts) / tasks,
	}, nil
}

// patience is how long workers may take for a phase.
const patience = 2 * time.Minute

// handled counts tasks down, and tells when the last one was handled.
type handled struct {
	left atomic.Int64
	last chan time.Time
}

func expect(n int) *handled {
	h := &handled{last: make(chan time.Time, 1)}
	h.left.Store(int64(n))
	return h
}

func (h *handled) one() {
	if h.left.Add(-1) == 0 {
		h.last <- time.Now()
	}
}

func (h *handled) wait(ctx context.Context) (time.Time, error) {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case at := <-h.last:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-t.C:
		return time.Time{}, fmt.Errorf("%d tasks are not handled after %v", h.left.Load(), patience)
	}
}

// process handles n tasks.
func process(ctx context.Context, s *server, c session, workers, n int) (phase, error) {
	return s.during(ctx, n, func() (time.Time, error) { return drain(ctx, c, workers, n, nil) })
}

// drain starts workers, calls meanwhile while they work, and returns when they have handled n tasks.
func drain(ctx context.Context, c session, workers, n int, meanwhile func() error) (end time.Time, err error) {
	h := expect(n)
	stop, err := c.work(ctx, workers, func([]byte, uint64) { h.one() })
	if err != nil {
		return end, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if meanwhile != nil {
		if err := meanwhile(); err != nil {
			return end, err
		}
	}
	return h.wait(ctx)
}

// throughput is a run of enqueueing, then processing, then both at the same time.
type throughput struct {
	System  string `json:"system"`
	Workers int    `json:"workers"`
	Round   int    `json:"round"`
	Enqueue phase  `json:"enqueue"`
	Process phase  `json:"process"`
	Both    phase  `json:"both"`
}

// rate and serverUs are of one task, enqueued and then processed.
func (t *throughput) rate() float64 {
	return float64(t.Enqueue.Tasks) / (t.Enqueue.Seconds + t.Process.Seconds)
}
func (t *throughput) serverUs() float64 { return t.Enqueue.ServerUs + t.Process.ServerUs }

func measureThroughput(ctx context.Context, s *server, system string, workers, tenants, n int) (t throughput, err error) {
	t.System, t.Workers = system, workers
	if err := s.empty(ctx); err != nil {
		return t, err
	}
	names := tenantNames(tenants)
	c, err := open(ctx, s, system, enqueuers, names)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	one := func(i int) error { return c.enqueue(ctx, names[i%tenants]) }
	if err := warm(ctx, c, workers, names[:min(tenants, 8)]); err != nil {
		return t, err
	}
	t.Enqueue, err = s.during(ctx, n, func() (time.Time, error) {
		err := calls(ctx, enqueuers, n, one)
		return time.Now(), err
	})
	if err != nil {
		return t, err
	}
	if t.Process, err = process(ctx, s, c, workers, n); err != nil {
		return t, err
	}
	t.Both, err = s.during(ctx, n, func() (time.Time, error) {
		// Some come first: an asynq server that finds nothing sleeps for a second.
		first := min(n, enqueuers)
		if err := calls(ctx, enqueuers, first, one); err != nil {
			return time.Time{}, err
		}
		return drain(ctx, c, workers, n, func() error { return calls(ctx, enqueuers, n-first, one) })
	})
	return t, err
}

// warm opens connections and loads scripts.
func warm(ctx context.Context, c session, workers int, tenants []string) error {
	if err := calls(ctx, enqueuers, 2*enqueuers, func(i int) error { return c.enqueue(ctx, tenants[i%len(tenants)]) }); err != nil {
		return err
	}
	_, err := drain(ctx, c, workers, 2*enqueuers, nil)
	return err
}

// single is a run of one goroutine that enqueues over one connection.
type single struct {
	System string `json:"system"`
	Round  int    `json:"round"`
	phase
}

func measureSingle(ctx context.Context, s *server, system string, n int) (r single, err error) {
	r.System = system
	if err := s.empty(ctx); err != nil {
		return r, err
	}
	names := tenantNames(64)
	c, err := open(ctx, s, system, 1, names)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	one := func(i int) error { return c.enqueue(ctx, names[i%len(names)]) }
	if err := calls(ctx, 1, 100, one); err != nil {
		return r, err
	}
	r.phase, err = s.during(ctx, n, func() (time.Time, error) {
		err := calls(ctx, 1, n, one)
		return time.Now(), err
	})
	return r, err
}

// pauseFor lets time pass.
func pauseFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
