package schedtest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// MaxInFlightPerTenant: delivered and not yet Done.
var inFlightChecks = []check{
	{name: "one: strictly one after another", run: inFlightOne},
	{name: "several", run: sharded(inFlightSeveral)},
	{name: "a second Done does nothing", run: inFlightTwice},
	{name: "a blocked tenant does not stop others", run: sharded(inFlightOthers)},
	{name: "a batch does not exceed it", run: sharded(inFlightBatch)},
	{name: "tenants that wait for Done go first, in the order of Done", run: inFlightFirst},
	{name: "a turn goes on after Done", run: inFlightTurn},
	{name: "a blocked tenant earns its quantum", run: inFlightEarns},
	{name: "weights, costs and limits", run: inFlightShares},
	{name: "Done wakes a parked consumer", run: sharded(inFlightWakes)},
	{name: "never exceeded under load", run: sharded(inFlightLoad)},
	{name: "priorities across tenants", run: inFlightAcross},
	{name: "Done after Close", run: inFlightClosed},
	{name: "without a limit Done does nothing", run: inFlightOff},
}

// inFlight checks Stats().InFlight.
func inFlight(t *testing.T, s sched, want int) {
	t.Helper()
	if n := s.Stats().InFlight; n != want {
		t.Fatalf("Stats().InFlight is %d, want %d", n, want)
	}
}

func inFlightOne(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxInFlightPerTenant: 1})
	load(t, s, "a", 20)
	for i := range 20 {
		it := take(t, s)
		if it.Payload != i+1 {
			t.Fatalf("delivered %s, want a%d", show(it), i+1)
		}
		idle(t, s)
		length(t, s, 19-i)
		inFlight(t, s, 1)
		it.Done()
		inFlight(t, s, 0)
	}
	idle(t, s)
}

func inFlightSeveral(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: 3})
	load(t, s, "a", 9)
	var items []item
	for range 3 {
		items = append(items, take(t, s))
	}
	idle(t, s)
	inFlight(t, s, 3)
	items[1].Done()
	items[1] = take(t, s)
	idle(t, s)
	for i := range items {
		items[i].Done()
	}
	inFlight(t, s, 0)
	for range 3 {
		take(t, s)
	}
	idle(t, s)
	length(t, s, 2)
}

func inFlightTwice(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxInFlightPerTenant: 2})
	load(t, s, "a", 10)
	first, second := take(t, s), take(t, s)
	again := first
	first.Done()
	first.Done()
	again.Done()
	inFlight(t, s, 1)
	third := take(t, s)
	idle(t, s)
	first.Done() // long after: the place may be another delivery's by now
	again.Done()
	idle(t, s)
	inFlight(t, s, 2)
	second.Done()
	third.Done()
	inFlight(t, s, 0)

	// Copies of one item, used by several goroutines together, free one place.
	it := take(t, s)
	take(t, s)
	together(4, func(int) {
		own := it
		own.Done()
	})
	inFlight(t, s, 1)
	take(t, s)
	idle(t, s)
}

func inFlightOthers(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: 1})
	load(t, s, "hog", 100)
	it := take(t, s)
	for i := range 50 {
		admit(t, s, "quiet", task{Payload: i})
		other := take(t, s)
		if other.Tenant != "quiet" || other.Payload != i {
			t.Fatalf("delivered %s, want quiet%d", show(other), i)
		}
		other.Done()
	}
	idle(t, s)
	it.Done()
	take(t, s)
}

func inFlightBatch(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: 2})
	for _, name := range []string{"a", "b", "c"} {
		load(t, s, name, 5)
	}
	dst := make([]item, 20)
	got := map[string]int{}
	for total := 0; total < 6; {
		n, err := s.DequeueBatch(patient(t), dst[total:])
		if err != nil {
			t.Fatalf("DequeueBatch after %d: %v", total, err)
		}
		for _, it := range dst[total : total+n] {
			got[it.Tenant]++
		}
		total += n
	}
	if len(got) != 3 || got["a"] != 2 || got["b"] != 2 || got["c"] != 2 {
		t.Fatalf("in flight per tenant: %v, want 2 each", got)
	}
	idle(t, s)
}

func inFlightFirst(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 2, MaxInFlightPerTenant: 1})
	for _, name := range []string{"a", "b", "c", "d"} {
		load(t, s, name, 3)
	}
	var items []item
	for range 4 {
		items = append(items, take(t, s))
	}
	idle(t, s)
	items[1].Done()
	items[2].Done()
	items[0].Done()
	same(t, "in order of Done", next(t, s, 3), "b2 c2 a2")
}

func inFlightWakes(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: 1})
	ctx := patient(t)
	n := reps(1000)
	load(t, s, "a", n)
	it := take(t, s)
	items := make(chan item)
	failed := make(chan error, 1)
	go func() {
		for range n - 1 {
			it, err := s.Dequeue(ctx)
			if err != nil {
				failed <- err
				return
			}
			items <- it
		}
	}()
	for i := range n - 1 {
		it.Done()
		select {
		case it = <-items:
		case err := <-failed:
			t.Fatalf("shards %d, after Done %d: Dequeue: %v", shards, i, err)
		}
	}
}

func inFlightLoad(t *testing.T, newSched maker, shards int) {
	const consumers, limit = 4, 2
	names := tenants(3)
	s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: limit})
	n := reps(1500)
	var busy [3]atomic.Int64
	index := map[string]int{names[0]: 0, names[1]: 1, names[2]: 2}
	var consuming sync.WaitGroup
	ctx := patient(t)
	for c := range consumers {
		consuming.Go(func() {
			dst := make([]item, 1+c)
			for {
				k, err := s.DequeueBatch(ctx, dst)
				if err != nil {
					if err != firq.ErrClosed {
						t.Errorf("DequeueBatch: %v", err)
					}
					return
				}
				for _, it := range dst[:k] {
					if b := busy[index[it.Tenant]].Add(1); b > limit {
						t.Errorf("%d of a tenant in flight, the limit is %d", b, limit)
					}
				}
				for i := range dst[:k] {
					busy[index[dst[i].Tenant]].Add(-1)
					dst[i].Done()
				}
			}
		})
	}
	for i := range n {
		admit(t, s, names[i%3], task{})
	}
	drained(t, s, ctx)
	consuming.Wait()
	if t.Failed() {
		return
	}
	inFlight(t, s, 0)
}

func inFlightAcross(t *testing.T, newSched maker) {
	s := open(t, newSched, across(config{MaxInFlightPerTenant: 1}))
	loadPriorities(t, s, "a", 6, 5, 1)
	loadPriorities(t, s, "b", 3, 2)
	it := take(t, s)
	same(t, "the highest", show(it), "a1")
	other := take(t, s)
	same(t, "a is blocked at every level", show(other), "b1")
	idle(t, s)
	it.Done()
	it = take(t, s)
	same(t, "a again", show(it), "a2")
	other.Done()
	it.Done()
	it = take(t, s)
	same(t, "b's 2 before a's 1", show(it), "b2")
	same(t, "the last", show(take(t, s)), "a3")
}

func inFlightClosed(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxInFlightPerTenant: 1})
	load(t, s, "a", 3)
	it := take(t, s)
	s.Close()
	it.Charge(5)
	it.Done()
	it.Done()
	idle(t, s)
	if n := s.Stats().Closed; n != 2 {
		t.Errorf("Closed is %d, want 2", n)
	}
}

func inFlightOff(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	load(t, s, "a", 100)
	for range 50 {
		take(t, s)
		it := take(t, s)
		it.Done()
	}
	inFlight(t, s, 0)
}
