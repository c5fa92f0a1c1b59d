package schedtest

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// No wake-up for a waiting producer is lost, whichever others wait or give up.
var waitRaceChecks = []check{
	{name: "each freed place wakes a producer", run: sharded(waitEachPlace)},
	{name: "many waiters, all get in", run: waitMany},
	{name: "many waiters of many tenants, all get in", run: waitManyTenants},
	{name: "a place goes to a producer that can use it", run: waitUseful},
	{name: "a producer that gives up passes the place on", run: waitPassOn},
	{name: "a batch frees as many as it takes", run: waitBatch},
	{name: "Cancel racing with a new waiter", run: sharded(waitCancelRace)},
}

func waitEachPlace(t *testing.T, newSched maker, shards int) {
	const n = 10
	s := open(t, newSched, config{Shards: shards, MaxGlobal: 3})
	load(t, s, "a", 3)
	answers := waiters(t, s, patient(t), "b", n)
	for range n {
		take(t, s)
		gets(t, answers, "a place came free", nil)
	}
	length(t, s, 3)
}

func waitMany(t *testing.T, newSched maker) { waitAll(t, newSched, 1) }

func waitManyTenants(t *testing.T, newSched maker) { waitAll(t, newSched, 5) }

// waitAll has many producers that wait and consumers that park, so that all progress
// depends on wake-ups.
func waitAll(t *testing.T, newSched maker, nTenants int) {
	const producers, consumers = 6, 2
	names := tenants(nTenants)
	for _, cfg := range []config{{Shards: 1, MaxGlobal: 1}, {Shards: 1, MaxPerTenant: 1}, {Shards: 8, MaxGlobal: 2}, {Shards: 8, MaxPerTenant: 2}} {
		each := reps(300)
		s := open(t, newSched, cfg)
		ctx := patient(t)
		var left atomic.Int64
		left.Store(producers)
		together(producers+consumers, func(i int) {
			if i < producers {
				for k := range each {
					if err := s.EnqueueWait(ctx, names[(i+k)%nTenants], task{}); err != nil {
						t.Errorf("%+v: producer %d, task %d: %v", cfg, i, k, err)
						break
					}
				}
				if left.Add(-1) == 0 {
					drained(t, s, ctx)
				}
				return
			}
			for {
				if _, err := s.Dequeue(ctx); err != nil {
					if err != firq.ErrClosed {
						t.Errorf("%+v: consumer: %v", cfg, err)
					}
					return
				}
			}
		})
		if t.Failed() {
			return
		}
		if n := s.Stats().Dequeued; n != uint64(producers*each) {
			t.Errorf("%d delivered of %d", n, producers*each)
		}
	}
}

// waitUseful: a waits for its own limit, c for the global one, and a came first.
// The place that b frees is of no use to a, so c must get it.
func waitUseful(t *testing.T, newSched maker) {
	for range reps(100) {
		s := open(t, newSched, config{Shards: 1, MaxGlobal: 2, MaxPerTenant: 1})
		load(t, s, "b", 1)
		load(t, s, "a", 1)
		ctx, stop := context.WithCancel(context.Background())
		first := waiters(t, s, ctx, "a", 3)
		runtime.Gosched()
		second := waiters(t, s, patient(t), "c", 1)
		same(t, "the first item", show(take(t, s)), "b1")
		gets(t, second, "a place came free that only c can use", nil)
		stop()
		for range 3 {
			if err := answer(t, first, "ctx was cancelled"); !errors.Is(err, context.Canceled) {
				t.Errorf("EnqueueWait beyond the tenant's limit: %v", err)
			}
		}
	}
}

// waitPassOn: of two waiters one gives up just when a place comes free. If it
// was the one that was woken, the other must be.
func waitPassOn(t *testing.T, newSched maker) {
	for _, cfg := range []config{{MaxGlobal: 1, Shards: 1}, {MaxPerTenant: 1, Shards: 1}, {MaxGlobal: 1, Shards: 8}} {
		s := open(t, newSched, cfg)
		for i := range reps(500) {
			load(t, s, "a", 1)
			ctx, stop := context.WithCancel(context.Background())
			quitter := waiters(t, s, ctx, "a", 1)
			linger(i)
			stayer := waiters(t, s, patient(t), "a", 1)
			linger(i)
			together(2, func(side int) {
				if side == 0 {
					stop()
				} else {
					s.TryDequeue()
				}
			})
			if err := answer(t, quitter, "ctx was cancelled"); err == nil {
				take(t, s) // it got the place after all; make another one
			}
			gets(t, stayer, "the other waiter gave up", nil)
			take(t, s)
		}
	}
}

func waitBatch(t *testing.T, newSched maker) {
	const n = 8
	for _, cfg := range []config{{MaxGlobal: n}, {MaxPerTenant: n}, {MaxGlobal: n, Shards: 8}} {
		s := open(t, newSched, cfg)
		for range reps(50) {
			load(t, s, "a", n)
			answers := waiters(t, s, patient(t), "a", n)
			got := 0
			for got < n {
				k, err := s.DequeueBatch(patient(t), make([]item, n-got))
				if err != nil {
					t.Fatalf("DequeueBatch: %v", err)
				}
				got += k
			}
			for range n {
				gets(t, answers, "a batch was taken", nil)
			}
			for range n {
				take(t, s)
			}
		}
	}
}

// waitCancelRace: the place is freed while the waiter is on its way to sleep.
func waitCancelRace(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxGlobal: 1})
	ctx := patient(t)
	for i := range reps(900) {
		var tk firq.Ticket
		admit(t, s, "t"+strconv.Itoa(i%3), task{Ticket: &tk})
		together(2, func(side int) {
			if side == 0 {
				if err := s.EnqueueWait(ctx, "a", task{}); err != nil {
					t.Errorf("round %d: EnqueueWait: %v", i, err)
				}
				return
			}
			linger(i)
			if !tk.Cancel() {
				t.Errorf("round %d: Cancel is false", i)
			}
		})
		if t.Failed() {
			return
		}
		take(t, s)
	}
}
