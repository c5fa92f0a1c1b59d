package jobs

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/benchmarks/actors/internal/peers"
	"github.com/firq-go/firq/internal/bench/spin"
)

const (
	quietActors = 100
	interval    = time.Millisecond       // between two messages for the quiet actors
	floodCost   = 500 * time.Microsecond // processor time of a message of a flooded actor
	backlog     = 64                     // messages that a busy actor has at all times
)

// quiet tells 100 actors a message each millisecond, beside some that always have work. It is an open loop: each
// message is due at a time that depends on nothing that the system does, and its latency counts from then, whenever
// the sender, which needs a processor as well, gets to sending it.
func quiet(flooded int) func(peers.System, Size) (Metrics, error) {
	return func(s peers.System, z Size) (Metrics, error) {
		stop := new(atomic.Bool)
		defer stop.Store(true)
		hogs, err := startHogs(s, stop, slices.Repeat([]time.Duration{floodCost}, flooded))
		if err != nil {
			return nil, err
		}
		skip, n := int(z.Long/5/interval), int((z.Long/5+z.Long)/interval)
		times, late, err := openLoop(s, n, stop)
		if err != nil {
			return nil, err
		}
		if err := hogs.err(); err != nil {
			return nil, err
		}
		times, late = slices.Sorted(slices.Values(times[skip:])), slices.Sorted(slices.Values(late[skip:]))
		return Metrics{
			"p50": us(percentile(times, 0.5)), "p99": us(percentile(times, 0.99)), "worst": us(percentile(times, 1)),
			"late-p50": us(percentile(late, 0.5)), "late-p99": us(percentile(late, 0.99)),
		}, nil
	}
}

// openLoop sends n messages when they are due, and returns how long after that each was handled, all of them, and how
// long after that the sender came to sending it: what is not handled when the last one was sent gets the time that it
// takes when the load is off (stop is set).
func openLoop(s peers.System, n int, stop *atomic.Bool) (times, late []time.Duration, err error) {
	times, late = make([]time.Duration, n), make([]time.Duration, n)
	var left atomic.Int64
	left.Store(int64(n))
	last := make(chan struct{})
	kind := s.Kind(func(_ peers.Ctx, m *peers.Msg) {
		times[m.N] = time.Since(m.Due)
		if left.Add(-1) == 0 {
			close(last)
		}
	})
	refs := make([]peers.Ref, quietActors)
	for i := range refs {
		if refs[i], err = kind.Spawn(fmt.Sprint("quiet-", i), n/quietActors+1); err != nil {
			return nil, nil, err
		}
	}
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i+1) * interval)
		if d := time.Until(due); d > 0 {
			time.Sleep(d)
		}
		late[i] = time.Since(due)
		if err := refs[i%quietActors].Tell(&peers.Msg{N: int64(i), Due: due}); err != nil {
			return nil, nil, err
		}
	}
	stop.Store(true)
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-last:
		return times, late, nil
	case <-t.C:
		return nil, nil, fmt.Errorf("%d of %d messages are not handled after %v", left.Load(), n, patience)
	}
}

// hogs are actors that always have work: their messages are told again by the actor that has handled them.
type hogs struct {
	handled []counter
	failed  atomic.Pointer[error]
}

// fail is apart, so that a handler has no error on the heap where there is none.
func (h *hogs) fail(err error) { h.failed.Store(&err) }

func (h *hogs) err() error {
	if err := h.failed.Load(); err != nil {
		return fmt.Errorf("a busy actor: %w", *err)
	}
	return nil
}

// startHogs starts an actor for each cost of a message. When stop is set their work is over.
func startHogs(s peers.System, stop *atomic.Bool, costs []time.Duration) (*hogs, error) {
	h := &hogs{handled: make([]counter, len(costs))}
	refs := make([]peers.Ref, len(costs))
	for i, cost := range costs {
		var err error
		work, l, self := spin.Of(cost), new(spin.Line), &refs[i]
		*self, err = s.Kind(func(c peers.Ctx, m *peers.Msg) {
			if stop.Load() {
				return
			}
			work.Do(l)
			h.handled[i].add()
			if err := c.Tell(*self, m); err != nil && !stop.Load() {
				h.fail(err)
			}
		}).Spawn(fmt.Sprint("busy-", i), backlog)
		if err != nil {
			return nil, err
		}
	}
	for range backlog {
		for _, r := range refs {
			if err := r.Tell(&peers.Msg{}); err != nil {
				return nil, err
			}
		}
	}
	return h, nil
}

const (
	expensive = time.Millisecond
	cheap     = 50 * time.Microsecond
)

// share compares the processor time of actors with expensive messages with that of actors with cheap ones.
func share(s peers.System, z Size) (Metrics, error) {
	stop := new(atomic.Bool)
	defer stop.Store(true)
	h, err := startHogs(s, stop, slices.Concat(slices.Repeat([]time.Duration{expensive}, 4), slices.Repeat([]time.Duration{cheap}, 4)))
	if err != nil {
		return nil, err
	}
	time.Sleep(z.Long / 5)
	costly, light := -sum(h.handled[:4]), -sum(h.handled[4:])
	time.Sleep(z.Long)
	costly += sum(h.handled[:4])
	light += sum(h.handled[4:])
	if err := h.err(); err != nil {
		return nil, err
	}
	if costly+light == 0 {
		return nil, fmt.Errorf("nothing was handled in %v", z.Long)
	}
	// Nothing at all for one side is shown as one message.
	return Metrics{"ratio": float64(max(costly, 1)) * float64(expensive) / (float64(max(light, 1)) * float64(cheap))}, nil
}
