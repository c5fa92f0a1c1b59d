package lincheck

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
)

func right(cfg Config) (Scheduler, error) { return baseline.New(cfg) }

// faulty is a scheduler with one fault.
type faulty struct {
	Scheduler
	dequeue func(Scheduler) (Item, bool)
	enqueue func(Scheduler, string, firq.Task[int]) error
	fewer   int // than Len says
	more    int // than SetMaxGlobal and SetLimit are told
	// late: SetMaxGlobal and SetLimit come into force with the next TryDequeue.
	late bool

	mu   sync.Mutex
	todo []func()
}

func (f *faulty) SetMaxGlobal(n int) { f.set(func() { f.Scheduler.SetMaxGlobal(n + f.more) }) }

func (f *faulty) SetLimit(k string, n int) {
	if n > 0 {
		n += f.more
	}
	f.set(func() { f.Scheduler.SetLimit(k, n) })
}

func (f *faulty) set(do func()) {
	if !f.late {
		do()
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.todo = append(f.todo, do)
}

func (f *faulty) TryDequeue() (Item, bool) {
	f.mu.Lock()
	for _, do := range f.todo {
		do()
	}
	f.todo = nil
	f.mu.Unlock()
	if f.dequeue == nil {
		return f.Scheduler.TryDequeue()
	}
	return f.dequeue(f.Scheduler)
}

func (f *faulty) Enqueue(k string, t firq.Task[int]) error {
	if f.enqueue == nil {
		return f.Scheduler.Enqueue(k, t)
	}
	return f.enqueue(f.Scheduler, k, t)
}

func (f *faulty) Len() int { return max(f.Scheduler.Len()-f.fewer, 0) }

// wrapped wraps what baseline makes.
func wrapped(f func() *faulty) func(Config) (Scheduler, error) {
	return func(cfg Config) (Scheduler, error) {
		s, err := right(cfg)
		x := f()
		x.Scheduler = s
		return x, err
	}
}

// changed is baseline with another config than it was asked for.
func changed(change func(*Config)) func(Config) (Scheduler, error) {
	return func(cfg Config) (Scheduler, error) {
		change(&cfg)
		return right(cfg)
	}
}

// falselyEmpty answers one dequeue in four that nothing is queued.
func falselyEmpty() *faulty {
	var calls int
	var mu sync.Mutex
	return &faulty{dequeue: func(s Scheduler) (Item, bool) {
		mu.Lock()
		calls++
		lie := calls%4 == 2
		mu.Unlock()
		if lie {
			return Item{}, false
		}
		return s.TryDequeue()
	}}
}

// swapping delivers two tasks the wrong way round if it can.
func swapping() *faulty {
	var kept []Item
	var mu sync.Mutex
	return &faulty{dequeue: func(s Scheduler) (Item, bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(kept) > 0 {
			it := kept[0]
			kept = nil
			return it, true
		}
		first, ok := s.TryDequeue()
		if second, more := s.TryDequeue(); more {
			kept = append(kept, first)
			return second, true
		}
		return first, ok
	}}
}

// repeating delivers each third item again.
func repeating() *faulty {
	var last Item
	var calls int
	var mu sync.Mutex
	return &faulty{dequeue: func(s Scheduler) (Item, bool) {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == 4 && last.Payload != 0 {
			return last, true
		}
		it, ok := s.TryDequeue()
		if ok {
			last = it
		}
		return it, ok
	}}
}

// refusing answers ErrGlobalFull with one place left.
func refusing() *faulty {
	return &faulty{enqueue: func(s Scheduler, k string, t firq.Task[int]) error {
		if s.Len() == s.Stats().MaxGlobal-1 {
			return firq.ErrGlobalFull
		}
		return s.Enqueue(k, t)
	}}
}

// holding keeps an item back, and delivers it even after Close.
func holding() *faulty {
	var kept []Item
	var mu sync.Mutex
	return &faulty{dequeue: func(s Scheduler) (Item, bool) {
		mu.Lock()
		defer mu.Unlock()
		if it, ok := s.TryDequeue(); ok {
			kept = append(kept, it)
		}
		if len(kept) == 0 || len(kept) == 1 && s.Len() > 0 {
			return Item{}, false
		}
		it := kept[0]
		kept = kept[1:]
		return it, true
	}}
}

// TestFaulty: recorder and model find each fault within 3,000 histories.
func TestFaulty(t *testing.T) {
	for name, x := range map[string]struct {
		cases []string
		build func(Config) (Scheduler, error)
	}{
		"falsely empty":      {[]string{"plain", "shards", "in flight"}, wrapped(falselyEmpty)},
		"swapping":           {[]string{"order", "deep"}, wrapped(swapping)},
		"repeating":          {[]string{"plain", "shards"}, wrapped(repeating)},
		"refusing":           {[]string{"plain", "one place", "shards"}, wrapped(refusing)},
		"holding":            {[]string{"plain", "close"}, wrapped(holding)},
		"Len one off":        {[]string{"plain", "shards"}, wrapped(func() *faulty { return &faulty{fewer: 1} })},
		"one place more":     {[]string{"one place", "plain", "shards"}, changed(func(c *Config) { c.MaxGlobal++ })},
		"one of a tenant":    {[]string{"plain", "shards"}, changed(func(c *Config) { c.MaxPerTenant++ })},
		"limits one higher":  {[]string{"new limits of all", "new limits of a tenant"}, wrapped(func() *faulty { return &faulty{more: 1} })},
		"limits come late":   {[]string{"new limits of all", "new limits of a tenant", "shards, new limits"}, wrapped(func() *faulty { return &faulty{late: true} })},
		"one in flight":      {[]string{"in flight", "two in flight", "shards in flight"}, changed(func(c *Config) { c.MaxInFlightPerTenant++ })},
		"newest first":       {[]string{"order", "deep", "shards"}, changed(func(c *Config) { c.Order = firq.LIFO })},
		"no turns":           {[]string{"order", "deep", "costs and quanta"}, changed(func(c *Config) { c.Quantum = 100 })},
		"evicts newest":      {[]string{"evict"}, changed(func(c *Config) { c.Backpressure.Policy = firq.DropNewest })},
		"evicts never":       {[]string{"evict"}, changed(func(c *Config) { c.Backpressure.Policy = firq.Reject })},
		"no OnDrop":          {[]string{"close", "shards close"}, changed(func(c *Config) { c.OnDrop = nil })},
		"across, not within": {[]string{"priorities"}, changed(func(c *Config) { c.PriorityScope = firq.PriorityAcrossTenants })},
	} {
		for _, of := range x.cases {
			t.Run(name+"/"+of, func(t *testing.T) {
				if n := 3000; !found(t, of, n, x.build) {
					t.Errorf("not found in %d histories", n)
				}
			})
		}
	}
}

func found(t *testing.T, name string, n int, build func(Config) (Scheduler, error)) bool {
	for _, cs := range Cases() {
		for i := 0; cs.Name == name && i < n; i++ {
			h, _ := record(cs.draw(rand.New(rand.NewPCG(1, uint64(i)))), Relaxation{}, build)
			if verdict, err := Check(h); verdict == Wrong { // and not only the counters of rejections
				t.Logf("history %d: %v", i, err)
				return true
			}
		}
	}
	return false
}

// The same seed makes the same plans.
func TestPlansRepeat(t *testing.T) {
	for _, cs := range Cases() {
		x := cs.draw(rand.New(rand.NewPCG(7, 1)))
		y := cs.draw(rand.New(rand.NewPCG(7, 1)))
		for i := range x.clients {
			for j := range x.clients[i] {
				if p, q := x.clients[i][j], y.clients[i][j]; p.String() != q.String() || p.yields != q.yields {
					t.Fatalf("%s: %v, then %v", cs.Name, &p.Call, &q.Call)
				}
			}
		}
	}
}
