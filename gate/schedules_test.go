//go:build firq_failpoints

package gate

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/internal/proof/interleave"
)

// scene is a gate over the core with one lock, which has few marks: what is
// looked at is the gate's own steps. Only one goroutine runs at a time.
type scene struct {
	*interleave.Schedule
	g     *Gate[string]
	out   int
	falls bool // the limit does, in this program
}

func (sc *scene) build(limit int, cfg Config[string]) {
	var err error
	sc.g, err = open(limit, cfg, func(c firq.Config[string, *holder[string]]) (scheduler[string], error) {
		return baseline.New(c)
	})
	if err != nil {
		sc.T().Fatal(err)
	}
}

// use takes a permit and gives it back.
func (sc *scene) use(tenant string, weight int) error {
	p, err := sc.g.Acquire(background, tenant, Request{Weight: weight})
	if err == nil {
		if !sc.falls {
			sc.have(weight)
		}
		p.Release()
	}
	return err
}

// giveUp is a waiter that leaves as soon as it is in the queue. (Acquire, with a
// context that ends, would leave it to chance what it sees first.)
func (sc *scene) giveUp(tenant string, weight int) {
	req := Request{Weight: weight, Cost: 1}
	v, err := sc.g.decide(weight)
	if v == taken {
		sc.g.atOnce(tenant, weight).Release()
	}
	if v == taken || err == firq.ErrClosed {
		return
	}
	var h *holder[string]
	if v == heavy {
		h = sc.g.stepAside(tenant, weight)
	} else if h, err = sc.g.enqueue(tenant, &req); err != nil {
		sc.Errorf("%v", err)
		return
	}
	if sc.g.withdraw(h) {
		h.put()
		return
	}
	switch <-h.end {
	case granted:
		Permit[string]{h: h, gen: h.gen}.Release()
	case recalled:
		sc.g.back(tenant)
	}
}

// hold takes a permit before the program begins, and returns what gives it back.
func (sc *scene) hold(tenant string) (release func()) {
	p := must(sc.T(), sc.g, tenant)
	sc.out++
	return func() {
		sc.out--
		p.Release()
	}
}

// have fails if more slots are taken than the limit.
func (sc *scene) have(weight int) {
	if sc.out += weight; sc.out > sc.g.Limit() {
		sc.Errorf("%d slots are taken at a limit of %d", sc.out, sc.g.Limit())
	}
	failpoint.At("have")
	sc.out -= weight
}

// user is a goroutine that uses a permit and has to get one.
func (sc *scene) user(name, tenant string) { sc.heavyUser(name, tenant, 1) }

func (sc *scene) heavyUser(name, tenant string, weight int) {
	sc.Go(name, func() {
		if err := sc.use(tenant, weight); err != nil {
			sc.Errorf("%s: %v", name, err)
		}
	})
}

// guest is a user who may be refused because the gate is closed.
func (sc *scene) guest(name, tenant string, weight int) {
	sc.Go(name, func() {
		if err := sc.use(tenant, weight); err != nil && err != firq.ErrClosed {
			sc.Errorf("%s: %v", name, err)
		}
	})
}

// end fails unless all calls are done and every slot is free.
func (sc *scene) end() {
	sc.Run()
	if sc.g.InUse() != 0 || sc.g.Waiting() != 0 || sc.g.s.Len() != 0 {
		sc.Errorf("in use %d of %d, waiting %d, queued %d; want none", sc.g.InUse(), sc.g.Limit(), sc.g.Waiting(), sc.g.s.Len())
		sc.g.Close() // wakes calls that were forgotten
		sc.Run()
	}
}

var programs = map[string]struct {
	preemptions int
	f           func(sc *scene)
}{
	"a waiter comes while one releases": {3, func(sc *scene) {
		sc.build(1, Config[string]{})
		release := sc.hold("a")
		sc.Go("release", release)
		sc.user("waiter", "b")
		sc.end()
	}},
	"two waiters": {1, func(sc *scene) {
		sc.build(1, Config[string]{})
		release := sc.hold("a")
		sc.Go("release", release)
		sc.user("one", "b")
		sc.user("two", "c")
		sc.end()
	}},
	// A pump finds no waiter, as one gave up; another comes at the same time.
	"one gives up, another comes": {1, func(sc *scene) {
		sc.build(1, Config[string]{})
		release := sc.hold("a")
		sc.Go("gives up", func() { sc.giveUp("b", 1) })
		sc.Go("release", release)
		sc.user("waiter", "c")
		sc.end()
	}},
	"try": {2, func(sc *scene) {
		sc.build(1, Config[string]{MaxInFlightPerTenant: 1})
		release := sc.hold("a")
		sc.Go("try", func() {
			if p, ok := sc.g.TryAcquire("b", Request{}); ok {
				sc.have(1)
				p.Release()
			}
		})
		sc.Go("release", release)
		sc.user("waiter", "a")
		sc.end()
	}},
	// The tenant is at its limit: a pump finds nothing though a call waits.
	"in flight": {1, func(sc *scene) {
		sc.build(2, Config[string]{MaxInFlightPerTenant: 1})
		release := sc.hold("a")
		sc.user("second", "a")
		sc.user("other", "b")
		sc.Go("release", release)
		sc.end()
	}},
	// The slot that is released is taken away; a pump looks at the one that is left
	// before the tenant's permit comes back.
	"in flight, and the limit falls": {2, func(sc *scene) {
		sc.falls = true
		sc.build(2, Config[string]{MaxInFlightPerTenant: 1})
		release := sc.hold("a")
		sc.user("second", "a")
		sc.Go("release", release)
		sc.Go("limit", func() { sc.g.SetLimit(1) })
		sc.end()
	}},
	"the limit rises": {2, func(sc *scene) {
		sc.build(1, Config[string]{})
		release := sc.hold("a")
		sc.Go("limit", func() { sc.g.SetLimit(2) })
		sc.user("one", "a")
		sc.user("two", "b")
		sc.Run()
		if sc.g.Waiting() > 0 {
			sc.Errorf("%d wait while a slot is free", sc.g.Waiting())
		}
		release()
		sc.end()
	}},
	"close": {2, func(sc *scene) {
		sc.build(1, Config[string]{})
		release := sc.hold("a")
		sc.guest("waiter", "b", 1)
		sc.Go("close", func() { sc.g.Close() })
		sc.Go("release", release)
		sc.end()
	}},
	"shutdown": {2, func(sc *scene) {
		sc.build(1, Config[string]{})
		release := sc.hold("a")
		sc.guest("waiter", "b", 1)
		sc.Go("shutdown", func() {
			if err := sc.g.Shutdown(background); err != nil || sc.g.InUse() != 0 || sc.g.Waiting() != 0 {
				sc.Errorf("%v; in use %d, waiting %d", err, sc.g.InUse(), sc.g.Waiting())
			}
		})
		sc.Go("release", release)
		sc.end()
	}},
	"shutdown while one gives up": {2, func(sc *scene) {
		sc.build(1, Config[string]{})
		release := sc.hold("a")
		sc.Go("gives up", func() { sc.giveUp("b", 1) })
		sc.Go("shutdown", func() {
			if err := sc.g.Shutdown(background); err != nil {
				sc.Errorf("%v", err)
			}
		})
		sc.Go("release", release)
		sc.end()
	}},
}

func TestSchedules(t *testing.T) {
	for _, some := range []map[string]struct {
		preemptions int
		f           func(sc *scene)
	}{programs, heavyPrograms} {
		for name, program := range some {
			t.Run(name, func(t *testing.T) {
				interleave.Explore(t, program.preemptions, func(ip *interleave.Schedule) { program.f(&scene{Schedule: ip}) })
			})
		}
	}
}
