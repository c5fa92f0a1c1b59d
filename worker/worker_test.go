package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/worker"
)

// patience is how long a test waits for what should come immediately.
const patience = 10 * time.Second

// receive fails the test if nothing comes.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: nothing in %v", what, patience)
		panic("unreachable")
	}
}

func enqueue[K comparable, T any](t *testing.T, s firq.Scheduler[K, T], tenant K, task firq.Task[T]) {
	t.Helper()
	if err := s.Enqueue(tenant, task); err != nil {
		t.Fatal(err)
	}
}

// onCores runs a test on both cores.
func onCores[K comparable, T any](t *testing.T, cfg firq.Config[K, T], test func(*testing.T, firq.Scheduler[K, T])) {
	for name, build := range cores[K, T]() {
		t.Run(name, func(t *testing.T) { test(t, build(t, cfg)) })
	}
}

// TestBacklog: Shutdown lets Run handle everything; the counters of pool and
// scheduler agree exactly.
func TestBacklog(t *testing.T) {
	onCores(t, firq.Config[string, int]{MaxInFlightPerTenant: 2}, func(t *testing.T, s firq.Scheduler[string, int]) {
		const n = 3000
		for i := range n {
			enqueue(t, s, fmt.Sprint(i%7), firq.Task[int]{Payload: i})
		}
		var mu sync.Mutex
		seen := map[int]int{}
		p, wait := started(t, t.Context(), s, func(_ context.Context, it item) error {
			mu.Lock()
			seen[it.Payload]++
			mu.Unlock()
			switch it.Payload % 10 {
			case 3:
				return errors.New("failed")
			case 7:
				panic("seven")
			}
			return nil
		}, options{Concurrency: 4, Name: "x", OnError: func(event) {}, OnPanic: func(event) {}})
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		st, q := p.Stats(), s.Stats()
		if st.Name != "x" || st.Started != n || st.Finished != n || st.Failed != n/10 || st.Panicked != n/10 || st.Running != 0 || st.Workers != 0 {
			t.Errorf("%+v", st)
		}
		if st.HandlerTime.Count() != n {
			t.Errorf("%d handler times, want %d", st.HandlerTime.Count(), n)
		}
		if q.Dequeued != st.Started || q.Enqueued != n || q.InFlight != 0 || q.QueueLen != 0 {
			t.Errorf("the scheduler says %d dequeued, %d in flight, %d queued", q.Dequeued, q.InFlight, q.QueueLen)
		}
		for i := range n {
			if seen[i] != 1 {
				t.Fatalf("task %d was handled %d times", i, seen[i])
			}
		}
	})
}

// TestStopLosesNothing: pools are stopped one after another while producers go
// on. What a pool took it handled, what it did not take is still there.
func TestStopLosesNothing(t *testing.T) {
	onCores(t, firq.Config[string, int]{MaxInFlightPerTenant: 3, Shards: 4}, func(t *testing.T, s firq.Scheduler[string, int]) {
		const producers, each = 4, 2000
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() {
				for i := range each {
					if err := s.Enqueue(fmt.Sprint(i%5), firq.Task[int]{Payload: p*each + i}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		seen := make([]atomic.Int32, producers*each)
		var handled, taken uint64
		for round := 0; handled < producers*each; round++ {
			ctx, cancel := context.WithCancel(t.Context())
			var count atomic.Int32
			p, wait := started(t, ctx, s, func(_ context.Context, it item) error {
				seen[it.Payload].Add(1)
				if count.Add(1) == 250 {
					cancel() // the others are anywhere between two tasks
				}
				return nil
			}, options{Concurrency: 4})
			if round > 0 && handled+250 > producers*each {
				wg.Wait()
				go func() { _ = s.Shutdown(t.Context()) }() // what is left may be fewer
			}
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			cancel()
			st := p.Stats()
			if st.Started != st.Finished || st.Workers != 0 {
				t.Fatalf("round %d: %+v", round, st)
			}
			handled += st.Finished
			taken += st.Started
			q := s.Stats()
			if q.Dequeued != taken || q.InFlight != 0 {
				t.Fatalf("round %d: the scheduler delivered %d, the pools took %d; %d in flight", round, q.Dequeued, taken, q.InFlight)
			}
		}
		for i := range seen {
			if n := seen[i].Load(); n != 1 {
				t.Fatalf("task %d was handled %d times", i, n)
			}
		}
	})
}

// TestTakesNothingWhenStopped: a ctx that is done before Run is called.
func TestTakesNothingWhenStopped(t *testing.T) {
	onCores(t, firq.Config[string, int]{}, func(t *testing.T, s firq.Scheduler[string, int]) {
		enqueue(t, s, "a", firq.Task[int]{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := worker.Run(ctx, s, func(context.Context, item) error { t.Error("handled"); return nil }, options{})
		if err != nil || s.Len() != 1 {
			t.Errorf("Run: %v, %d queued, want 1", err, s.Len())
		}
	})
}

// TestNoPrefetch: every worker is busy and low tasks are queued. A high task that
// comes last is next; and what expires in between is not handled.
func TestNoPrefetch(t *testing.T) {
	onCores(t, firq.Config[string, string]{PriorityScope: firq.PriorityAcrossTenants}, func(t *testing.T, s firq.Scheduler[string, string]) {
		const workers = 3
		busy, goOn, order := make(chan bool), make(chan bool), make(chan string, 100)
		p, err := worker.New(s, func(_ context.Context, it *firq.Item[string, string]) error {
			if it.Payload == "block" {
				busy <- true
				<-goOn
			} else {
				order <- it.Payload
			}
			return nil
		}, worker.Options[string, string]{Concurrency: workers})
		if err != nil {
			t.Fatal(err)
		}
		end := make(chan error, 1)
		for range workers {
			enqueue(t, s, "a", firq.Task[string]{Payload: "block"})
		}
		go func() { end <- p.Run(t.Context()) }()
		for range workers {
			receive(t, busy, "a worker")
		}
		for range 20 {
			enqueue(t, s, "a", firq.Task[string]{Payload: "low", Priority: firq.PriorityLow})
		}
		enqueue(t, s, "b", firq.Task[string]{Payload: "expired", Deadline: time.Now().Add(time.Millisecond)})
		enqueue(t, s, "b", firq.Task[string]{Payload: "high", Priority: firq.PriorityCritical})
		if n := s.Len(); n != 22 {
			t.Errorf("%d are queued while all workers are busy, want all 22", n)
		}
		time.Sleep(5 * time.Millisecond) // lets the deadline pass
		goOn <- true                     // one worker becomes free
		if first := receive(t, order, "the first task"); first != "high" {
			t.Errorf("first came %q, want the high one", first)
		}
		close(goOn)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := receive(t, end, "Run"); err != nil {
			t.Error(err)
		}
		close(order)
		for payload := range order {
			if payload == "expired" {
				t.Error("what had expired in the queue was handled")
			}
		}
	})
}

// TestSerialTenants: with one task in flight per tenant, no two of a tenant
// overlap and all are in order, though every fifth handler ignores that it was
// cancelled long ago and is replaced before that.
func TestSerialTenants(t *testing.T) {
	onCores(t, firq.Config[int, int]{MaxInFlightPerTenant: 1}, func(t *testing.T, s firq.Scheduler[int, int]) {
		const tenants, each = 5, 40
		for i := range each {
			for tenant := range tenants {
				enqueue(t, s, tenant, firq.Task[int]{Payload: i})
			}
		}
		type opts = worker.Options[int, int]
		var inside [tenants]atomic.Int32
		var next [tenants]int           // each is written by the one handler that its tenant may have
		var reported [tenants]chan bool // a handler of the tenant is stuck
		for i := range reported {
			reported[i] = make(chan bool, each)
		}
		p, err := worker.New(s, func(ctx context.Context, it *firq.Item[int, int]) error {
			if n := inside[it.Tenant].Add(1); n != 1 {
				t.Errorf("%d handlers of tenant %d at the same time", n, it.Tenant)
			}
			defer inside[it.Tenant].Add(-1)
			if it.Payload != next[it.Tenant] {
				t.Errorf("tenant %d: task %d, want %d", it.Tenant, it.Payload, next[it.Tenant])
			}
			next[it.Tenant]++
			if it.Payload%5 == 0 {
				<-reported[it.Tenant]
			}
			return nil
		}, opts{
			Concurrency: 2, MaxReplacements: 3,
			Timeout: time.Millisecond, TimeoutMode: worker.Cancel, StuckAfter: time.Millisecond,
			OnTimeout: func(worker.Event[int, int]) {},
			OnStuck:   func(e worker.Event[int, int]) { reported[e.Tenant] <- true },
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.Shutdown(t.Context()) }()
		// Any handler may be stuck after a millisecond on a busy machine, the last one too: Run does not wait for that.
		if err := p.Run(t.Context()); err != nil && !errors.Is(err, worker.ErrStuck) {
			t.Error(err)
		}
		for end := time.Now().Add(10 * time.Second); p.Stats().Running > 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if st := p.Stats(); st.Finished != tenants*each || st.Stuck < tenants*each/5 || s.Stats().InFlight != 0 {
			t.Errorf("%+v, %d in flight", st, s.Stats().InFlight)
		}
	})
}

// TestNames: two pools over one scheduler share its tasks, and each knows its own.
func TestNames(t *testing.T) {
	onCores(t, firq.Config[string, int]{}, func(t *testing.T, s firq.Scheduler[string, int]) {
		gate := make(chan string, 2)
		pool := func(name string) (*worker.Pool[string, int], func() error) {
			return started(t, t.Context(), s, func(context.Context, item) error {
				gate <- name
				for len(gate) < 2 { // until the other pool has one too
					time.Sleep(time.Millisecond)
				}
				return nil
			}, options{Name: name, Concurrency: 1})
		}
		p, waitP := pool("one")
		q, waitQ := pool("two")
		enqueue(t, s, "a", firq.Task[int]{})
		enqueue(t, s, "b", firq.Task[int]{})
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(waitP(), waitQ()); err != nil {
			t.Fatal(err)
		}
		a, b := p.Stats(), q.Stats()
		if a.Name != "one" || b.Name != "two" || a.Finished != 1 || b.Finished != 1 {
			t.Errorf("%+v\n%+v", a, b)
		}
	})
}

// TestScheduler: whatever a Scheduler is handed in as, types are inferred.
func TestScheduler(t *testing.T) {
	onCores(t, firq.Config[string, int]{}, func(t *testing.T, s firq.Scheduler[string, int]) {
		var got []int
		for i := range 3 {
			enqueue(t, s, "a", firq.Task[int]{Payload: i})
		}
		go func() { _ = s.Shutdown(t.Context()) }()
		err := worker.Run(t.Context(), s, func(_ context.Context, it *firq.Item[string, int]) error {
			got = append(got, it.Payload)
			return nil
		}, worker.Options[string, int]{Concurrency: 1})
		if err != nil || !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("%v, %v", got, err)
		}
	})
}
