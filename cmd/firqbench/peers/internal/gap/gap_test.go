package gap

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/peers"
)

func measure(t *testing.T, c contest.Contestant, tenants, tasks, consumers int) int64 {
	t.Helper()
	var r Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = Measure(t.Context(), c, tenants, tasks, consumers)
	}()
	const patience = 10 * time.Second // not Measure's, which is for thousands of tenants
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.Fatalf("%s: not measured after %v", c.Name, patience)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.Tasks != tasks {
		t.Errorf("%+v", r)
	}
	return r.Gap
}

func peer(t *testing.T, name string) contest.Contestant {
	t.Helper()
	chosen, err := peers.Select([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return chosen[0].Contestant
}

// The measurement finds which queue is fair and which is not: with one consumer all of it is
// exact.
func TestExact(t *testing.T) {
	const tasks = 30
	for name, want := range map[string]int64{
		contest.Channel:  tasks - 1, // the last of them ends the interval
		peers.WorkQueue:  tasks - 1,
		peers.Controller: tasks - 1,
		peers.Pond:       tasks - 1,
		contest.OneLock:  1,
		peers.OneShard:   1,
		peers.Temporal:   1,
		peers.Kubernetes: 1,
	} {
		if got := measure(t, peer(t, name), 6, tasks, 1); got != want {
			t.Errorf("%s: gap %d, want %d", name, got, want)
		}
	}
}

// crew is a channel with one worker, that sees whether it is let go too early.
type crew struct {
	contest.Queue
	last    string
	handled atomic.Int64
	early   bool
	worker  sync.WaitGroup
}

func (c *crew) Prime(context.Context, []string) error { return nil }

func (c *crew) Serve(_ int, handle func(*contest.Item)) {
	c.worker.Go(func() {
		for {
			it, err := c.Dequeue(context.Background())
			if err != nil {
				return
			}
			handle(&it)
			c.handled.Add(1)
		}
	})
}

func (c *crew) Enqueue(tenant string, t contest.Task) error {
	if tenant == c.last {
		synctest.Wait() // until the worker waits for something
		c.early = c.early || c.handled.Load() > 0
	}
	return c.Queue.Enqueue(tenant, t)
}

func (c *crew) Shutdown(ctx context.Context) error {
	err := c.Queue.Shutdown(ctx)
	c.worker.Wait()
	return err
}

// Nothing is served until all is queued.
func TestGate(t *testing.T) {
	channel := peer(t, contest.Channel)
	synctest.Test(t, func(t *testing.T) {
		var q *crew
		c := contest.Contestant{Name: "crew", New: func(cfg contest.Config) (contest.Queue, error) {
			inner, err := channel.New(cfg)
			q = &crew{Queue: inner, last: "tenant-000002"}
			return q, err
		}}
		if got := measure(t, c, 3, 10, 1); got != 9 || q.early {
			t.Errorf("gap %d, want 9; served before all were queued: %v", got, q.early)
		}
	})
}

// What is past the round robin, in workers' hands, is counted as well.
func TestWorkers(t *testing.T) {
	if got := measure(t, peer(t, peers.TemporalFIFO), 6, 30, 1); got < 1 || got > 2 {
		t.Errorf("gap %d, want 1 or 2", got)
	}
}

// With several consumers the gap is the least that it must have been: never more
// than it is, and what is unfair still shows.
func TestConsumers(t *testing.T) {
	for range 5 {
		if got := measure(t, peer(t, contest.OneLock), 6, 30, 4); got > 1 {
			t.Errorf("one lock: gap %d, want at most 1", got)
		}
		if got := measure(t, peer(t, contest.Lockfree), 6, 30, 4); got > 3 {
			t.Errorf("lockfree: gap %d, want at most 3 (docs/fairness.md)", got)
		}
		if got := measure(t, peer(t, contest.Channel), 6, 30, 4); got < 15 {
			t.Errorf("channel: gap %d, want about all 30", got)
		}
	}
}

// favours is a fair scheduler with a fault: two tenants are a third one.
type favours struct{ contest.Queue }

func (f favours) Enqueue(tenant string, t contest.Task) error {
	if tenant == "tenant-000001" || tenant == "tenant-000002" {
		tenant = "tenant-000003"
	}
	return f.Queue.Enqueue(tenant, t)
}

// A tenant that shares its turn with two others gets a third, and what comes in
// between is seen: two thirds of all at some time.
func TestFault(t *testing.T) {
	one := peer(t, contest.OneLock)
	c := contest.Contestant{Name: "faulty", New: func(cfg contest.Config) (contest.Queue, error) {
		q, err := one.New(cfg)
		return favours{q}, err
	}}
	if got := measure(t, c, 6, 30, 1); got < 20 {
		t.Errorf("gap %d, want at least 20", got)
	}
}

// loses drops a task.
type loses struct{ contest.Queue }

func (l loses) Enqueue(tenant string, t contest.Task) error {
	if tenant == "tenant-000002" {
		t.Payload = plugTask
	}
	return l.Queue.Enqueue(tenant, t)
}

func TestErrors(t *testing.T) {
	one := peer(t, contest.OneLock)
	c := contest.Contestant{Name: "faulty", New: func(cfg contest.Config) (contest.Queue, error) {
		q, err := one.New(cfg)
		return loses{q}, err
	}}
	if _, err := Measure(t.Context(), c, 6, 30, 2); err == nil {
		t.Error("tasks are missing, and it is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ctx, one, 6, 30, 2); err == nil {
		t.Error("ctx is done, and it is no error")
	}
}

func TestTasks(t *testing.T) {
	for _, c := range []struct {
		tenants int
		slow    bool
		want    int
	}{{64, false, 256}, {64, true, 256}, {1024, false, 64}, {4096, false, 16}, {100_000, false, 16}, {4096, true, 4}} {
		if got := Tasks(c.tenants, c.slow); got != c.want {
			t.Errorf("Tasks(%d, %v) = %d, want %d", c.tenants, c.slow, got, c.want)
		}
	}
}
