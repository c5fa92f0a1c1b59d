package schedtest

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// RunLeaks tests that what a scheduler was used for leaves nothing behind: no
// memory after a burst, no goroutine after Close. It is not part of Run, as a
// scheduler may be correct and keep a number per task; and it takes longer.
func RunLeaks[S firq.Scheduler[string, int]](t *testing.T, newScheduler func(firq.Config[string, int]) (S, error)) {
	newSched := func(cfg config) (sched, error) { return newScheduler(cfg) }
	for _, c := range []check{
		{name: "a burst", run: leakBurst},
		{name: "a burst that expires", run: leakExpired},
		{name: "a burst that is cancelled", run: leakCancelled},
		{name: "a burst in flight", run: leakInFlight},
		{name: "one-shot tenants", run: sharded(leakOneShot, 1, 2)},
		{name: "a crowd of tenants", run: leakCrowd},
		{name: "waiting in vain", run: leakWaiting},
		{name: "schedulers", run: leakSchedulers},
		{name: "goroutines", run: leakGoroutines},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, newSched) })
	}
}

// What a scheduler at rest may hold beyond what it held when new: per shard, a histogram
// with a row for each waiting time up to an hour (33 rows of 8 KB) and a few hundred
// places for tasks; and what the runtime needs.
const (
	floorShard   = 320 << 10
	floorRuntime = 128 << 10
)

// leakLeast is how many tasks or tenants it takes for a leak of one word each
// to be twice what a shard may keep.
const leakLeast = 2 * (floorShard + floorRuntime) / 8

// leakReps is reps, but never too few for a leak to be seen.
func leakReps(n int) int { return max(reps(n), leakLeast) }

// floored fails if the heap stays larger after run than before it by more than the shards
// may keep. A scheduler may keep what a burst needed for the next one, for a while: so
// some quiet traffic follows, and with it some collections.
func floored(t *testing.T, what string, shards int, run, quiet func()) {
	t.Helper()
	most := int64(shards)*floorShard + floorRuntime
	before := heap()
	run()
	first, after := heap(), int64(0)
	for range 5 {
		quiet()
		if after = heap(); after <= before+most {
			break
		}
	}
	t.Logf("%s: %d KB alive before, %+d KB at first, %+d KB in the end",
		what, before>>10, (first-before)>>10, (after-before)>>10)
	if after > before+most {
		t.Errorf("%s: %d bytes more are alive than before, want at most %d", what, after-before, most)
	}
}

// quietly enqueues and dequeues one task at a time.
func quietly(t *testing.T, s sched, names []string) {
	t.Helper()
	for i := range leakLeast {
		admit(t, s, names[i%len(names)], task{Payload: i})
		it := take(t, s)
		it.Done()
	}
}

// spread queues n tasks.
func spread(t *testing.T, s sched, names []string, n int, tk task) {
	t.Helper()
	for i := range n {
		tk.Payload = i
		admit(t, s, names[i%len(names)], tk)
	}
}

// serveAll takes what is deliverable, in batches, until nothing is queued.
func serveAll(t *testing.T, s sched) {
	t.Helper()
	dst := make([]item, 64)
	for ctx := patient(t); s.Len() > 0; {
		n, err := s.DequeueBatch(ctx, dst)
		if err != nil {
			t.Fatalf("DequeueBatch: %v", err)
		}
		for i := range dst[:n] {
			dst[i].Done()
		}
	}
}

// bursts runs a burst of n tasks with one shard, and with two. Of each tenant
// there are few in flight at a time.
func bursts(t *testing.T, newSched maker, n int, run func(s sched, names []string, n int)) {
	t.Helper()
	names := tenants(64)
	for _, shards := range []int{1, 2} {
		s := open(t, newSched, config{Shards: shards, MaxGlobal: n, MaxInFlightPerTenant: 2})
		quietly(t, s, names)
		floored(t, fmt.Sprintf("%d tasks, %d shards", n, shards), shards,
			func() { run(s, names, n) },
			func() { quietly(t, s, names) })
	}
}

func leakBurst(t *testing.T, newSched maker) {
	bursts(t, newSched, leakReps(1_000_000), func(s sched, names []string, n int) {
		spread(t, s, names, n, task{})
		serveAll(t, s)
	})
}

func leakExpired(t *testing.T, newSched maker) {
	bursts(t, newSched, leakLeast, func(s sched, names []string, n int) {
		spread(t, s, names, n, expired(0))
		await(t, "the expired tasks to be worked off", func() bool { idle(t, s); return s.Len() == 0 })
	})
}

func leakCancelled(t *testing.T, newSched maker) {
	bursts(t, newSched, leakLeast, func(s sched, names []string, n int) {
		tks := make([]firq.Ticket, n)
		for i := range tks {
			admit(t, s, names[i%len(names)], task{Payload: i, Ticket: &tks[i]})
		}
		for i := range tks {
			mustCancel(t, &tks[i])
		}
	})
}

// leakInFlight: the memory that a tenant needs per delivery in flight goes when the tenant
// is forgotten.
func leakInFlight(t *testing.T, newSched maker) {
	names := tenants(64)
	s := open(t, newSched, config{Shards: 1, MaxGlobal: leakLeast, MaxInFlightPerTenant: leakLeast, TenantIdle: time.Millisecond})
	quiet := func() {
		quietly(t, s, names)
		forgotten(t, s)
	}
	quiet()
	floored(t, "in flight", 1, func() {
		spread(t, s, names, leakLeast, task{})
		items := make([]item, leakLeast)
		for i := range items {
			items[i] = take(t, s)
		}
		for i := range items {
			items[i].Done()
		}
	}, quiet)
}

// leakOneShot: tenants that come once, a few at a time.
func leakOneShot(t *testing.T, newSched maker, shards int) {
	n := leakReps(1_000_000)
	s := open(t, newSched, config{Shards: shards, TenantIdle: time.Millisecond})
	next := 0
	come := func(n int) {
		for range n / 4 {
			for range 4 {
				next++
				admit(t, s, "one-shot-"+strconv.Itoa(next), task{Payload: next})
			}
			for range 4 {
				take(t, s)
			}
		}
	}
	come(10_000)
	forgotten(t, s)
	floored(t, fmt.Sprintf("%d one-shot tenants, %d shards", n, shards), shards,
		func() { come(n) },
		func() { forgotten(t, s) })
}

// leakCrowd: a crowd of tenants, all known together, three times.
func leakCrowd(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxGlobal: leakLeast, TenantIdle: time.Millisecond})
	bounded(t, floorShard+floorRuntime, func() {
		for i := range 3 * leakLeast {
			admit(t, s, "one-shot-"+strconv.Itoa(i), task{Payload: i})
			if s.Len() == leakLeast {
				serveAll(t, s)
				quietly(t, s, tenants(64))
				forgotten(t, s)
			}
		}
	})
}

// leakWaiting: producers and consumers that give up.
func leakWaiting(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxGlobal: 100, MaxPerTenant: 1, TenantIdle: time.Millisecond})
	round := func(i int) {
		ctx, cancel := context.WithCancel(context.Background())
		var asleep sync.WaitGroup
		for k := range 8 {
			name := strconv.Itoa(8*i + k)
			admit(t, s, name, task{})
			asleep.Go(func() { _ = s.EnqueueWait(ctx, name, task{Deadline: time.Now().Add(time.Hour)}) })
		}
		linger(i)
		cancel()
		asleep.Wait()
		for range 8 {
			take(t, s)
		}
		ctx, cancel = context.WithCancel(context.Background())
		for range 8 {
			asleep.Go(func() { _, _ = s.Dequeue(ctx) })
		}
		linger(i + 1)
		cancel()
		asleep.Wait()
	}
	for i := range 100 {
		round(i)
	}
	forgotten(t, s)
	const rounds = 1500 // of 16 calls, each of which would leave a hundred bytes at least
	floored(t, fmt.Sprint(16*rounds, " calls that waited"), 1, func() {
		for i := range rounds {
			round(i)
		}
	}, func() { forgotten(t, s) })
}

// leakSchedulers: nothing holds a scheduler that was closed, or its tasks.
func leakSchedulers(t *testing.T, newSched maker) {
	life := func(i int) {
		s, err := newSched(config{Shards: 4, MaxGlobal: leakLeast})
		if err != nil {
			t.Fatalf("new scheduler: %v", err)
		}
		spread(t, s, tenants(64), 1000*i, task{})
		if i%2 == 0 {
			serveAll(t, s)
			drained(t, s, patient(t))
		}
		s.Close()
	}
	life(1)
	floored(t, "schedulers", 0, func() {
		for i := range reps(20) {
			life(i)
		}
	}, func() {})
}

// leakGoroutines: no goroutine that a call has started goes on after Close.
func leakGoroutines(t *testing.T, newSched maker) {
	before := runtime.NumGoroutine()
	for i := range reps(200) {
		s := open(t, newSched, config{Shards: 2, MaxGlobal: 4,
			Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Millisecond}})
		var calls sync.WaitGroup
		ctx, cancel := context.WithCancel(context.Background())
		for k := range 8 {
			name := strconv.Itoa(k)
			calls.Go(func() { _ = s.Enqueue(name, task{Deadline: time.Now().Add(time.Millisecond)}) })
			calls.Go(func() { _ = s.EnqueueWait(ctx, name, task{Deadline: time.Now().Add(time.Hour)}) })
			calls.Go(func() { _, _ = s.Dequeue(ctx) })
		}
		linger(i)
		if i%2 == 0 {
			cancel()
		}
		s.Close()
		calls.Wait()
		cancel()
	}
	await(t, "the goroutines that calls have started to end", func() bool { return runtime.NumGoroutine() <= before })
}
