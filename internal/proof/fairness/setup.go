package fairness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq"
)

// Maker builds a scheduler whose shards' queues have the log as their host, and
// tells on which shard a tenant lives. The shards' current round is given.
type Maker func(cfg firq.Config[int, int], log *Log, round uint64) (s firq.Scheduler[int, int], shardOf func(tenant int) int, err error)

// setup is an experiment. One tenant is alone on each shard but the last, and a
// crowd is there. Half of them come first (both, if there are two); when half of
// their tasks were served all is stopped, the others come, and it goes on. The
// costs and quanta of a setup are always the same.
type setup struct {
	shards, crowd    int
	consumers, batch int
	slack            int
	mix              Mix
	costlyCrowd      bool // the crowd has costly tasks; only tenants that come later have not
	newcomers        bool // others come while tasks are served
	amid             bool // and one comes to another shard in the middle of many a hold
	newFirst         bool // NewTenantsFirst
	round            uint64
	history          History
}

// found is what an experiment has shown.
type found struct {
	setup
	within, across Verdict
	turns          int64   // that every tenant had, at least
	returned       float64 // the largest gap in the order in which calls returned
}

// law is what the setup has to keep.
func (x setup) law() Law {
	law := Proved(x.slack)
	if x.newFirst {
		law.Within++ // the turn that a newcomer gets ahead of the others
	}
	if x.newcomers || x.amid { // theorem 2, with holds of the lease in progress
		law.Across += 2 * 2
		law.Holds = 2 * 2
	}
	return law
}

// place finds tenants for the shards; those that are alone come first.
func (x setup) place(shardOf func(int) int) (keys []int) {
	last := x.shards - 1
	alone, crowd := make([]int, last), []int(nil)
	for k, missing := 1, last; missing > 0 || len(crowd) < x.crowd; k++ {
		switch sh := shardOf(k); {
		case sh == last && len(crowd) < x.crowd:
			crowd = append(crowd, k)
		case sh < last && alone[sh] == 0:
			alone[sh] = k
			missing--
		}
	}
	return append(alone, crowd...)
}

func (x setup) run(build Maker) (f found, err error) {
	f.setup = x
	log := new(Log)
	s, shardOf, err := build(firq.Config[int, int]{
		Shards: x.shards, FairnessSlack: x.slack, MaxGlobal: 1 << 20, NewTenantsFirst: x.newFirst,
	}, log, x.round)
	if err != nil {
		return f, err
	}
	defer func() { _ = s.Close() }()
	if err := Live(s, x.history, func(tenant int) int { return -1 - tenant }); err != nil {
		return f, err
	}
	keys := x.place(shardOf)
	late := func(i int) bool { return i%2 == 1 && x.crowd > 1 } // shards that were idle wake up
	early := func(i int) bool { return !late(i) }

	random := rand.New(rand.NewPCG(uint64(x.shards), uint64(x.crowd)))
	load := x.mix.Draw(random, len(keys))
	if x.costlyCrowd {
		costly := Costly.Draw(random, len(keys))
		for i := x.shards - 1; i < len(keys); i++ {
			if early(i) {
				load.Tenants[i], load.Costs[i] = costly.Tenants[i], costly.Costs[i]
			}
		}
	}
	for i, k := range keys {
		load.Tenants[i].Shard = shardOf(k)
	}
	next := make([]int, len(keys))

	tasks, err := Admit(s, load, keys, early)
	if err != nil {
		return f, err
	}
	Serve(s, tasks/2, x.consumers, x.batch)
	zero := make([]int, len(keys))
	if err := f.judge(load, zero, log.Deliveries(load, keys, next), early); err != nil {
		return f, fmt.Errorf("the first half: %w", err)
	}

	if _, err = Admit(s, load, keys, late); err != nil {
		return f, err
	}
	start := slices.Clone(next)
	for i := range keys {
		load.Tenants[i].Newcomer = late(i)
	}
	var calls []Delivery
	if x.amid {
		log.amid = x.elsewhere(s, shardOf)
	}
	x.among(s, func() { calls = Serve(s, s.Len(), x.consumers, x.batch) })
	if err := f.judge(load, start, log.Deliveries(load, keys, next), Everybody); err != nil {
		return f, err
	}
	if f.turns < x.mix.Enough {
		return f, fmt.Errorf("a tenant had %d turns while backlogged: too little to see anything", f.turns)
	}
	g := Measure(left(load, start, Everybody), asReturned(calls))
	for i := range keys {
		for j := range i {
			unit := load.Tenants[i].Quantum * load.Tenants[j].Quantum
			f.returned = max(f.returned, float64(g.Gap(i, j))/float64(unit))
		}
	}
	return f, nil
}

// left returns the tenants with the tasks that they have at the start of a log;
// a tenant that is not there has none.
func left(l Load, served []int, who func(int) bool) []Tenant {
	tenants := slices.Clone(l.Tenants)
	for i := range tenants {
		if tenants[i].Tasks -= served[i]; !who(i) {
			tenants[i].Tasks = 0
		}
	}
	return tenants
}

// judge measures a log that began when that many tasks of each had been served.
func (f *found) judge(l Load, served []int, log []Delivery, who func(int) bool) error {
	g := Measure(left(l, served, who), log)
	f.turns = g.Turns()
	f.within, f.across = g.Judge(f.law())
	if err := f.within.Check(); err != nil {
		return fmt.Errorf("on one shard, %w", err)
	}
	if err := f.across.Check(); err != nil {
		return fmt.Errorf("across shards, %w", err)
	}
	return nil
}

// among runs serve, and sends newcomers if there are to be any.
func (x setup) among(s firq.Scheduler[int, int], serve func()) {
	var over atomic.Bool
	var all sync.WaitGroup
	if x.newcomers {
		all.Go(func() {
			for k, length := 1<<30, s.Len(); !over.Load(); {
				if n := s.Len(); n < length-8 { // some were served
					length = n
					_ = s.Enqueue(k, firq.Task[int]{Payload: -1})
					k++
				}
			}
		})
	}
	serve()
	over.Store(true)
	all.Wait()
}

// elsewhere returns a function that has a new tenant enqueue on another shard than the given
// one, once in 20 calls.
func (x setup) elsewhere(s firq.Scheduler[int, int], shardOf func(int) int) func(shard int) {
	calls, k := 0, 1<<30
	return func(shard int) {
		if calls++; calls%20 > 0 {
			return
		}
		for k++; shardOf(k) == shard; k++ {
		}
		_ = s.Enqueue(k, firq.Task[int]{Payload: -1})
	}
}
