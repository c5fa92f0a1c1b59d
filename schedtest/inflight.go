package schedtest

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// MaxInFlightPerTenant: delivered and not yet Done.
var inFlightChecks = []check{
	{name: "one: strictly one after another", run: inFlightOne},
	{name: "several", run: inFlightSeveral},
	{name: "a second Done does nothing", run: inFlightTwice},
	{name: "a blocked tenant does not stop others", run: inFlightOthers},
	{name: "a batch does not exceed it", run: inFlightBatch},
	{name: "who waits for Done goes first, in the order of Done", run: inFlightFirst},
	{name: "a turn goes on after Done", run: inFlightTurn},
	{name: "a tenant earns its quantum meanwhile", run: inFlightEarns},
	{name: "weights, costs and limits", run: inFlightShares},
	{name: "Done wakes a parked consumer", run: inFlightWakes},
	{name: "never exceeded under load", run: inFlightLoad},
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

func inFlightSeveral(t *testing.T, newSched maker) {
	for _, shards := range []int{1, 8} {
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

	// Many copies at once free one place.
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

func inFlightOthers(t *testing.T, newSched maker) {
	for _, shards := range []int{1, 8} {
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
}

func inFlightBatch(t *testing.T, newSched maker) {
	for _, shards := range []int{1, 8} {
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

// inFlightTurn: a turn has as many tasks as without the limit, and the tenant whose turn it
// is keeps that when another one goes first.
func inFlightTurn(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxInFlightPerTenant: 1, QuantumFor: func(name string) int64 {
		return map[string]int64{"a": 3, "b": 2, "c": 1}[name]
	}})
	for _, name := range []string{"a", "b", "c"} {
		load(t, s, name, 12)
	}
	var got []string
	for range 12 {
		it := take(t, s)
		it.Done()
		got = append(got, show(it))
	}
	same(t, "each Done before the next", strings.Join(got, " "), "a1 a2 a3 b1 b2 c1 a4 a5 a6 b3 b4 c2")
	a := take(t, s)
	b := take(t, s)
	a.Done()
	same(t, "a's turn has begun", show(a), "a7")
	same(t, "b's turn", show(b), "b5")
	same(t, "a goes before b, whose turn it is", next(t, s, 1), "a8")
	b.Done()
	same(t, "b's turn goes on", next(t, s, 1), "b6")
}

// inFlightEarns: rounds pass without a tenant that is at its limit, and bring it two quanta at
// most, or one more than its next task costs.
func inFlightEarns(t *testing.T, newSched maker) {
	for _, x := range []struct {
		quantum, cost int64
		rounds, first int // how many of its tasks go before the next of the other
	}{{3, 1, 0, 5 + 3}, {3, 1, 1, 6 + 3}, {3, 1, 9, 6 + 3}, {2, 7, 0, 0}, {2, 7, 1, 1}, {2, 7, 99, 1}} { // with a turn of its own
		s := open(t, newSched, config{Shards: 1, MaxInFlightFor: func(name string) int {
			return map[string]int{"a": 1}[name]
		}, QuantumFor: func(name string) int64 { return map[string]int64{"a": x.quantum}[name] }})
		admit(t, s, "a", task{Cost: 1})
		a := take(t, s)
		for range 30 {
			admit(t, s, "a", task{Cost: x.cost})
		}
		load(t, s, "b", 200)
		for range x.rounds + 1 {
			take(t, s)
		}
		first := 0
		for a.Done(); ; first++ {
			it := take(t, s)
			if it.Tenant != "a" {
				break
			}
			it.Done()
		}
		if first != x.first {
			t.Errorf("quantum %d, costs of %d, %d rounds: %d go first, want %d", x.quantum, x.cost, x.rounds, first, x.first)
		}
	}
}

// inFlightShares: a server of 64 slots, in which tasks take random times, simulated by one
// goroutine. Tenants get what their quanta say, in cost, however many tasks a turn has; and
// where a limit binds the others share the rest equally.
func inFlightShares(t *testing.T, newSched maker) {
	const slots, others, limit = 64, 10, 32
	for _, quantum := range []int64{1, 8, 16, 100} {
		for _, x := range []struct {
			name         string
			weight, cost int64
			limit        int
			want         float64
		}{{"weight 4", 4, 1, limit, 4}, {"cost 50", 1, 50, limit, 1}, {"weight 10, 16 in flight", 10, 1, 16, 16.0 / (slots - 16) * others}} {
			for _, shards := range []int{1, 8} {
				if shards > 1 && quantum > 8 {
					continue // they may be rounds apart, and a round is long
				}
				s := open(t, newSched, config{Shards: shards, MaxInFlightFor: func(name string) int {
					if name == "gold" {
						return x.limit
					}
					return limit
				}, QuantumFor: func(name string) int64 {
					if name == "gold" {
						return x.weight * quantum
					}
					return quantum
				}})
				add := func(name string) {
					if name == "gold" {
						admit(t, s, name, task{Cost: x.cost})
					} else {
						admit(t, s, name, task{})
					}
				}
				names := append([]string{"gold"}, tenants(others)...)
				for _, name := range names {
					add(name)
					add(name)
				}
				served := serveRandomly(t, s, slots, 20_000+600*int(quantum), add)
				low, most, sum := served[names[1]], served[names[1]], 0.0
				for _, name := range names[1:] {
					low, most, sum = min(low, served[name]), max(most, served[name]), sum+served[name]
				}
				mean := sum / others
				got, apart := served["gold"]/mean, (most-low)/mean
				t.Logf("quantum %d, %s, %d shards: %.3f, others %.1f %% apart", quantum, x.name, shards, got, 100*apart)
				least := 0.95 * x.want
				if shards > 1 && x.limit < limit {
					least /= 2 // what Done gives back another shard may take, whose turn it is
				}
				if got < least || got > 1.05*x.want || apart > 0.05 {
					t.Errorf("quantum %d, %s, %d shards: %.3f of what the others get, want %.3f; these are %.1f %% apart",
						quantum, x.name, shards, got, x.want, 100*apart)
				}
			}
		}
	}
}

// serveRandomly keeps that many slots busy with tasks that take random times, and adds one
// for each that is taken. It returns the cost that each tenant was served.
func serveRandomly(t *testing.T, s sched, slots, n int, add func(string)) map[string]float64 {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 5))
	served, busy, ends := map[string]float64{}, make([]item, 0, slots), make([]float64, 0, slots)
	for now := 0.0; n > 0; {
		for len(busy) < slots {
			it, ok := s.TryDequeue()
			if !ok {
				break
			}
			served[it.Tenant] += float64(it.Cost)
			add(it.Tenant)
			busy, ends = append(busy, it), append(ends, now+r.ExpFloat64())
			n--
		}
		first := 0
		for i, end := range ends {
			if end < ends[first] {
				first = i
			}
		}
		now = ends[first]
		busy[first].Done()
		last := len(busy) - 1
		busy[first], ends[first] = busy[last], ends[last]
		busy, ends = busy[:last], ends[:last]
	}
	return served
}

func inFlightWakes(t *testing.T, newSched maker) {
	for _, shards := range []int{1, 8} {
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
}

func inFlightLoad(t *testing.T, newSched maker) {
	const consumers, limit = 4, 2
	names := tenants(3)
	for _, shards := range []int{1, 8} {
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
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		consuming.Wait()
		if t.Failed() {
			return
		}
		inFlight(t, s, 0)
	}
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
