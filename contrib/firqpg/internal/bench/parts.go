package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

var payload = strings.Repeat("x", 100)

func (b *bench) open(ctx context.Context, name string, conns int) (system, error) {
	open := opens[name]
	if open == nil {
		return nil, fmt.Errorf("-systems: %q is not one of %s", name, strings.Join(known(), ", "))
	}
	return open(ctx, b.server.DSN("postgres"), conns)
}

// fill enqueues single tasks from 64 goroutines.
func (b *bench) fill(ctx context.Context, s system) error {
	var wg sync.WaitGroup
	var k atomic.Int64
	var failed atomic.Pointer[error]
	for range 64 {
		wg.Go(func() {
			for i := k.Add(1); i <= int64(b.tasks); i = k.Add(1) {
				if err := s.enqueue(ctx, fmt.Sprint("tenant-", i%int64(b.tenants)), payload); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// drain handles what is queued, until all of it is settled.
func (b *bench) drain(ctx context.Context, s system, processes, workers int) error {
	var done atomic.Int64
	stop, err := s.work(ctx, processes, workers, func(string) { done.Add(1) })
	if err != nil {
		return err
	}
	defer stop()
	for {
		time.Sleep(5 * time.Millisecond)
		if done.Load() < int64(b.tasks) && ctx.Err() == nil {
			continue
		}
		if n, err := s.left(ctx); n == 0 || err != nil {
			return err
		}
	}
}

func throughput(ctx context.Context, b *bench, name string) (rows []string, err error) {
	for _, workers := range b.workers {
		row, err := b.through(ctx, name, 1, workers)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
		b.server.Stop() // the next number of workers has a server that is new
		if err := b.start(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// through enqueues and then processes, in a fresh database.
func (b *bench) through(ctx context.Context, name string, processes, workers int) (string, error) {
	s, err := b.open(ctx, name, max(64, min(workers+8, 250)))
	if err != nil {
		return "", err
	}
	defer s.close()
	in, err := b.timed(b.tasks, func() error { return b.fill(ctx, s) })
	if err != nil {
		return "", err
	}
	out, err := b.timed(b.tasks, func() error { return b.drain(ctx, s, processes, workers) })
	if processes > 1 {
		return fmt.Sprintf("%d | %v", workers, in.plus(out)), err
	}
	return fmt.Sprintf("%d | %v | %v | %v", workers, in, out, in.plus(out)), err
}

func processes(ctx context.Context, b *bench, name string) ([]string, error) {
	row, err := b.through(ctx, name, 16, 4)
	return []string{row}, err
}

func single(ctx context.Context, b *bench, name string) ([]string, error) {
	s, err := b.open(ctx, name, 4)
	if err != nil {
		return nil, err
	}
	defer s.close()
	n := b.tasks / 5
	put := func(n int) error {
		for range n {
			if err := s.enqueue(ctx, "t", payload); err != nil {
				return err
			}
		}
		return nil
	}
	if err := put(200); err != nil {
		return nil, err
	}
	t, err := b.timed(n, func() error { return put(n) })
	return []string{t.String()}, err
}

func batches(ctx context.Context, b *bench, name string) ([]string, error) {
	s, err := b.open(ctx, name, 4)
	if err != nil {
		return nil, err
	}
	defer s.close()
	tenants := make([]string, 500)
	for i := range tenants {
		tenants[i] = fmt.Sprint("tenant-", i%b.tenants)
	}
	t, err := b.timed(b.tasks/500*500, func() error {
		for range b.tasks / 500 {
			if err := s.batch(ctx, tenants, payload); err != nil {
				return err
			}
		}
		return nil
	})
	return []string{t.String()}, err
}

func latency(ctx context.Context, b *bench, name string) ([]string, error) {
	s, err := b.open(ctx, name, 80)
	if err != nil {
		return nil, err
	}
	defer s.close()
	got := make(chan time.Time, 1)
	stop, err := s.work(ctx, 1, 64, func(string) { got <- time.Now() })
	if err != nil {
		return nil, err
	}
	defer stop()
	time.Sleep(2 * time.Second)
	idle, err := b.timed(0, func() error {
		time.Sleep(5 * time.Second)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for range b.samples {
		began := time.Now()
		if err := s.enqueue(ctx, "t", payload); err != nil {
			return nil, err
		}
		took = append(took, (<-got).Sub(began))
		time.Sleep(time.Duration(10+rand.IntN(60)) * time.Millisecond)
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return []string{fmt.Sprintf("%.1f; %.1f ms; %.1f %%", ms(took[len(took)/2]), ms(took[len(took)*99/100]), 100*idle.cpu.Seconds()/idle.wall.Seconds())}, nil
}

func fairness(ctx context.Context, b *bench, name string) ([]string, error) {
	s, err := b.open(ctx, name, 64)
	if err != nil {
		return nil, err
	}
	defer s.close()
	noisy := make([]string, 500)
	for i := range noisy {
		noisy[i] = "noisy"
	}
	for range b.noisy / 500 {
		if err := s.batch(ctx, noisy, "noisy"); err != nil {
			return nil, err
		}
	}
	for i := range 100 {
		if err := s.enqueue(ctx, fmt.Sprint("quiet-", i), "quiet"); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	handled, quiet, last := 0, 0, 0
	done := make(chan struct{})
	stop, err := s.work(ctx, 1, 8, func(p string) {
		mu.Lock()
		defer mu.Unlock()
		if handled++; p == "quiet" {
			if quiet++; quiet == 100 {
				last = handled
				close(done)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	select {
	case <-done:
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	return []string{fmt.Sprintf("%d of %d", last, b.noisy/500*500+100)}, ctx.Err()
}

// snapshot has 16 producers and 64 workers at full speed, and then a reader that holds a snapshot.
func snapshot(ctx context.Context, b *bench, name string) ([]string, error) {
	s, err := b.open(ctx, name, 80)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var done atomic.Int64
	stop, err := s.work(ctx, 1, 64, func(string) { done.Add(1) })
	if err != nil {
		return nil, err
	}
	defer stop()
	producing, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	for range 16 {
		wg.Go(func() {
			for producing.Err() == nil {
				_ = s.enqueue(producing, fmt.Sprint("tenant-", rand.IntN(b.tenants)), payload)
			}
		})
	}
	look := func() spent {
		was := done.Load()
		t, _ := b.timed(0, func() error {
			time.Sleep(5 * time.Second)
			return nil
		})
		t.tasks = int(done.Load() - was)
		return t
	}
	time.Sleep(2 * time.Second)
	before := look()
	holder, err := pgx.Connect(ctx, b.server.DSN("postgres"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = holder.Close(context.WithoutCancel(ctx)) }()
	if _, err := holder.Exec(ctx, "begin isolation level repeatable read; select count(*) from pg_class"); err != nil {
		return nil, err
	}
	for range 6 {
		look()
	}
	return []string{fmt.Sprintf("%v | %v", before, look())}, ctx.Err()
}

// backlog handles tasks while many more wait, of one tenant, of 10,000, and of 64 a tenth as many.
func backlog(ctx context.Context, b *bench, name string) (rows []string, err error) {
	for k, x := range []struct{ queued, tenants int }{{b.queued / 10, b.tenants}, {b.queued, 1}, {b.queued, 10_000}} {
		if k > 0 { // each has a server that is new
			b.server.Stop()
			if err := b.start(); err != nil {
				return nil, err
			}
		}
		first, next, err := b.behind(ctx, name, x.queued, x.tenants)
		if err != nil {
			return nil, err
		}
		rows = append(rows, fmt.Sprintf("%d | %d | %v | %v", x.queued, x.tenants, first, next))
	}
	return rows, nil
}

// behind fills a queue, and measures the first tasks that are handled, and as many after them. A queue may have put off until the first delivery
// what it has to do for each task that waits: then the first ones bear it.
func (b *bench) behind(ctx context.Context, name string, queued, tenants int) (first, next spent, err error) {
	s, err := b.open(ctx, name, 80)
	if err != nil {
		return first, next, err
	}
	defer s.close()
	some := make([]string, 500)
	for k := 0; k < queued; k += len(some) {
		for i := range some {
			some[i] = fmt.Sprint("tenant-", (k+i)%tenants)
		}
		if err := s.batch(ctx, some, payload); err != nil {
			return first, next, err
		}
	}
	n := min(b.tasks, queued/4)
	if first, err = b.some(ctx, s, n); err == nil {
		next, err = b.some(ctx, s, n)
	}
	return first, next, err
}

// some handles n tasks, while more wait.
func (b *bench) some(ctx context.Context, s system, n int) (spent, error) {
	return b.timed(n, func() error {
		var done atomic.Int64
		enough := make(chan struct{})
		stop, err := s.work(ctx, 1, 64, func(string) {
			if done.Add(1) == int64(n) {
				close(enough)
			}
		})
		if err != nil {
			return err
		}
		defer stop()
		select {
		case <-enough:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
}
