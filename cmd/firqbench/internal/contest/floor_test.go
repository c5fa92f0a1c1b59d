package contest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

func makeFloor(t *testing.T, cfg Config) *floor {
	t.Helper()
	q, err := newFloor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q.(*floor)
}

func TestFloorLimits(t *testing.T) {
	f := makeFloor(t, Config{MaxGlobal: 5, MaxPerTenant: 3, Shards: 2})
	batch := func(n int) (ts []Task) {
		for i := range n {
			ts = append(ts, Task{Payload: uint64(i)})
		}
		return ts
	}
	if n, err := f.EnqueueBatch("a", batch(4)); n != 3 || err != firq.ErrTenantFull {
		t.Errorf("4 tasks where a tenant may have 3: %d, %v", n, err)
	}
	if err := f.Enqueue("a", Task{}); err != firq.ErrTenantFull {
		t.Errorf("a fourth task of a tenant: %v", err)
	}
	if n, err := f.EnqueueBatch("b", batch(3)); n != 2 || err != firq.ErrGlobalFull {
		t.Errorf("3 tasks where there is room for 2: %d, %v", n, err)
	}
	if err := f.Enqueue("c", Task{}); err != firq.ErrGlobalFull {
		t.Errorf("a sixth task: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.EnqueueWait(ctx, "c", Task{}); err != firq.ErrTimeout {
		t.Errorf("EnqueueWait when full: %v", err)
	}
	// A refusal keeps no place: what comes out makes room for as much again.
	for round := range 20 {
		var got []string
		items := make([]Item, 9)
		for len(got) < 5 {
			n, err := f.DequeueBatch(t.Context(), items)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range items[:n] {
				got = append(got, it.Tenant)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "a", "a", "b", "b"}) {
			t.Fatalf("round %d: got %v", round, got)
		}
		if _, ok := f.TryDequeue(); ok {
			t.Fatalf("round %d: a sixth task", round)
		}
		if n, err := f.EnqueueBatch("a", batch(3)); n != 3 || err != nil {
			t.Fatalf("round %d: %d, %v", round, n, err)
		}
		if n, err := f.EnqueueBatch("b", batch(2)); n != 2 || err != nil {
			t.Fatalf("round %d: %d, %v", round, n, err)
		}
	}
	for range 5 {
		if _, ok := f.TryDequeue(); !ok {
			t.Error("TryDequeue finds nothing")
		}
	}
	for _, tenant := range []string{"c", "b"} { // both were refused while there was no room at all
		if n, err := f.EnqueueBatch(tenant, batch(3)); n != 3 && tenant == "c" || n != 2 && tenant == "b" {
			t.Errorf("%s: %d, %v", tenant, n, err)
		}
	}
	if n := f.lookUp("b").queued.Load(); n != 2 {
		t.Errorf("b holds %d places, want 2", n)
	}
}

func TestFloorInvalid(t *testing.T) {
	f := makeFloor(t, Config{MaxGlobal: 2})
	if n, err := f.EnqueueBatch("a", []Task{{}, {Cost: -1}}); n != 1 || !errors.Is(err, firq.ErrInvalidTask) {
		t.Errorf("a valid and an invalid task: %d, %v", n, err)
	}
	if n, err := f.EnqueueBatch("a", []Task{{}, {}, {Cost: -1}}); n != 1 || err != firq.ErrGlobalFull {
		t.Errorf("full before the invalid task: %d, %v", n, err)
	}
	if n, err := f.EnqueueBatch("a", nil); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	if _, err := newFloor(Config{MaxGlobal: -1}); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Errorf("MaxGlobal -1: %v", err)
	}
}

// A consumer that sleeps is woken by a task, by the end of its context, and by
// Shutdown.
func TestFloorSleep(t *testing.T) {
	f := makeFloor(t, Config{Shards: 4})
	type answer struct {
		it  Item
		err error
	}
	asleep := func(ctx context.Context) chan answer {
		got := make(chan answer, 1)
		go func() {
			it, err := f.Dequeue(ctx)
			got <- answer{it, err}
		}()
		for f.parker.Parked() == 0 {
			time.Sleep(time.Microsecond)
		}
		return got
	}
	got := asleep(t.Context())
	if err := f.Enqueue("t", Task{Payload: 3}); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.err != nil || a.it.Payload != 3 {
		t.Errorf("a task: %+v", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got = asleep(ctx)
	cancel()
	if a := <-got; a.err != context.Canceled {
		t.Errorf("cancelled: %+v", a)
	}
	got = asleep(t.Context())
	if err := f.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.err != firq.ErrClosed {
		t.Errorf("shut down: %+v", a)
	}
}

// Many at the same time, in little room: the limits hold, each task comes out once, those
// of one producer and tenant in order, and no consumer sleeps while there is a task.
func TestFloorConcurrent(t *testing.T) {
	const producers, consumers, tenants, each, perTenant, global = 4, 4, 3, 3000, 5, 8
	f := makeFloor(t, Config{MaxGlobal: global, MaxPerTenant: perTenant, Shards: 2})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	names := []string{"a", "b", "c"}
	var sending, receiving sync.WaitGroup
	got := make([][]Item, consumers)
	for c := range consumers {
		receiving.Go(func() {
			items := make([]Item, 1+c)
			for {
				n, err := f.DequeueBatch(ctx, items)
				if err != nil {
					if err != firq.ErrClosed {
						t.Error(err)
					}
					return
				}
				got[c] = append(got[c], items[:n]...)
			}
		})
	}
	for p := range producers {
		sending.Go(func() {
			for i := range uint64(each) {
				task := Task{Payload: uint64(p)<<32 | i}
				if err := f.EnqueueWait(ctx, names[i%tenants], task); err != nil {
					t.Error(err)
					return
				}
				if n := f.queued.Load(); n > global || n < 0 {
					t.Errorf("%d tasks queued, at most %d may be", n, global)
				}
				if ft := f.lookUp(names[i%tenants]); ft.queued.Load() > perTenant {
					t.Errorf("%s has %d tasks queued", ft.name, ft.queued.Load())
				}
			}
		})
	}
	sending.Wait()
	if err := f.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	receiving.Wait()
	seen := make(map[uint64]bool)
	for _, items := range got {
		last := make(map[[2]uint64]uint64) // by producer and tenant
		for _, it := range items {
			p, i := it.Payload>>32, it.Payload&(1<<32-1)
			if seen[it.Payload] || it.Tenant != names[i%tenants] {
				t.Fatalf("twice, or somebody else's: %+v", it)
			}
			seen[it.Payload] = true
			key := [2]uint64{p, i % tenants}
			if i < last[key] {
				t.Fatalf("producer %d, %s: %d after %d", p, it.Tenant, i, last[key])
			}
			last[key] = i
		}
	}
	if len(seen) != producers*each || f.queued.Load() != 0 {
		t.Errorf("%d tasks of %d came out, %d places are taken", len(seen), producers*each, f.queued.Load())
	}
}
