package gate

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// model is a gate that is plain: a list of tenants that wait in their order, and
// what each has saved up. Deficit round robin as package drr has it.
type model struct {
	limit   int
	next    *ask
	aside   []*ask
	quantum map[string]int64
	out     []*ask
	deficit map[string]int64
	owed    map[string]int64 // by permits that did not queue
	active  []string
	inTurn  bool             // the first of active had its refill
	due     map[string]bool  // of active, those that this round has still to visit
	served  bool             // a tenant, in this round
	away    map[string]int64 // rounds that have begun since a tenant left, or since forgive
	waiting map[string][]*ask
}

// ask is a call of Acquire, in the model and for real.
type ask struct {
	tenant string
	weight int
	cost   int64
	queued bool
	call   *call
	cancel context.CancelFunc
}

// backlog returns how many keep newcomers from overtaking.
func (m *model) backlog() (n int) {
	if m.next != nil {
		n++
	}
	for _, w := range m.waiting {
		n += len(w)
	}
	return n
}

func (m *model) inUse() (n int) {
	for _, a := range m.out {
		n += a.weight
	}
	return n
}

func (m *model) tooHeavy(a *ask) bool { return m.limit > 0 && a.weight > m.limit }

func (m *model) enter(a *ask) {
	switch {
	case m.tooHeavy(a):
		m.aside = append(m.aside, a)
		return
	case m.backlog() == 0 && m.inUse()+a.weight <= m.limit:
		delete(m.owed, a.tenant)
		m.out = append(m.out, a)
		return
	}
	a.queued = true
	if !slices.Contains(m.active, a.tenant) {
		m.join(a.tenant)
	}
	m.waiting[a.tenant] = append(m.waiting[a.tenant], a)
	m.settle()
}

// join puts a tenant into the list. In an empty one it has its turn in this round, unless
// a tenant was served in it.
func (m *model) join(tenant string) {
	var turn int64
	if len(m.active) == 0 {
		if turn = 1; m.served {
			m.pass()
		}
		m.due = map[string]bool{tenant: true}
	}
	m.forgive(tenant, turn)
	m.active = append(m.active, tenant)
}

// pass begins the next round.
func (m *model) pass() {
	m.served = false
	for tenant := range m.quantum {
		if !slices.Contains(m.active, tenant) {
			m.away[tenant]++
		}
	}
}

// visited ends the round if the tenant was the last one that it had to visit.
func (m *model) visited(tenant string) {
	if !m.due[tenant] {
		return
	}
	if delete(m.due, tenant); len(m.due) == 0 && len(m.active) > 0 {
		for _, tenant := range m.active {
			m.due[tenant] = true
		}
		m.pass()
	}
}

// forgive pays off the debt of a tenant that is not in the list: a quantum for each
// round that has begun since, less the rounds in but.
func (m *model) forgive(tenant string, but int64) {
	if m.deficit[tenant] < 0 {
		m.deficit[tenant] = min(m.deficit[tenant]+max(m.away[tenant]-but, 0)*m.quantum[tenant], 0)
	}
	m.away[tenant] = 0
}

// settle lets in the calls that may run.
func (m *model) settle() {
	for m.backlog() > 0 && m.inUse() < m.limit {
		if m.next == nil {
			m.choose()
			continue
		}
		a := m.next
		switch {
		case m.tooHeavy(a):
			m.next = nil
			m.charge(a, -a.cost)
			a.queued = false
			m.aside = append(m.aside, a)
		case m.inUse()+a.weight > m.limit:
			return
		default:
			m.next = nil
			m.charge(a, m.owed[a.tenant])
			delete(m.owed, a.tenant)
			m.out = append(m.out, a)
		}
	}
}

// choose makes a step of deficit round robin.
func (m *model) choose() {
	tenant := m.active[0]
	w := m.waiting[tenant]
	if len(w) == 0 {
		m.active, m.inTurn = m.active[1:], false
		m.deficit[tenant], m.away[tenant] = min(m.deficit[tenant], 0), 0
		m.visited(tenant)
		return
	}
	if !m.inTurn {
		m.deficit[tenant] += m.quantum[tenant]
		m.inTurn = true
	}
	if m.deficit[tenant] < w[0].cost {
		m.active, m.inTurn = append(m.active[1:], tenant), false
		m.visited(tenant)
		return
	}
	m.deficit[tenant] -= w[0].cost
	m.served = true
	m.waiting[tenant] = w[1:]
	m.next = w[0]
}

// setLimit lets back the calls aside that fit; they are all of one tenant.
func (m *model) setLimit(n int) {
	m.limit = n
	m.settle()
	var back []*ask
	for _, a := range m.aside {
		if !m.tooHeavy(a) {
			back = append(back, a)
		}
	}
	m.aside = slices.DeleteFunc(m.aside, func(a *ask) bool { return slices.Contains(back, a) })
	for _, a := range back {
		m.enter(a)
	}
}

// leave takes out a call that gives up.
func (m *model) leave(a *ask) {
	out := func(b *ask) bool { return a == b }
	m.aside = slices.DeleteFunc(m.aside, out)
	m.waiting[a.tenant] = slices.DeleteFunc(m.waiting[a.tenant], out)
	if m.next == a {
		m.next = nil
	}
}

func (m *model) charge(a *ask, delta int64) {
	if !a.queued {
		m.owed[a.tenant] = max(m.owed[a.tenant]+delta, 0)
		return
	}
	away := !slices.Contains(m.active, a.tenant)
	if away {
		m.forgive(a.tenant, 0)
	}
	m.deficit[a.tenant] -= delta
	if away {
		m.deficit[a.tenant] = min(m.deficit[a.tenant], 0)
	}
}

// TestMachine compares a gate with the model, step by step: which calls hold a permit,
// which wait, and in which order they are let in.
func TestMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) { // a T would be asked for its Deadline
			quanta := map[string]int64{"a": 1, "b": 2, "c": 5}
			limit := rapid.IntRange(1, 3).Draw(t, "limit")
			g := New[string](limit, Config[string]{QuantumFor: func(k string) int64 { return quanta[k] }})
			defer g.Close() // if it fails, no waiter is left
			m := &model{limit: limit, quantum: quanta, deficit: map[string]int64{}, owed: map[string]int64{}, away: map[string]int64{}, waiting: map[string][]*ask{}}
			tenants := rapid.SampledFrom([]string{"a", "b", "c"})
			pick := func(t *rapid.T, from []*ask) *ask {
				if len(from) == 0 {
					t.Skip("there is none")
				}
				return from[rapid.IntRange(0, len(from)-1).Draw(t, "which")]
			}
			t.Repeat(map[string]func(*rapid.T){
				"acquire": func(t *rapid.T) {
					for range rapid.IntRange(1, 4).Draw(t, "calls") {
						a := &ask{tenant: tenants.Draw(t, "tenant"), weight: rapid.SampledFrom([]int{1, 1, 1, 2, 3, 4}).Draw(t, "weight")}
						cost := rapid.Int64Range(0, 6).Draw(t, "cost")
						if a.cost = cost; cost == 0 {
							a.cost = int64(a.weight)
						}
						var ctx context.Context
						ctx, a.cancel = context.WithCancel(background)
						a.call = wait(ctx, g, a.tenant, Request{Weight: a.weight, Cost: cost})
						m.enter(a)
					}
				},
				"try": func(t *rapid.T) {
					a := &ask{tenant: tenants.Draw(t, "tenant"), weight: rapid.IntRange(1, 3).Draw(t, "weight"), cancel: func() {}}
					p, ok := g.TryAcquire(a.tenant, Request{Weight: a.weight})
					if want := m.backlog() == 0 && m.inUse()+a.weight <= m.limit; ok != want {
						t.Fatalf("TryAcquire = %t, want %t", ok, want)
					}
					if ok {
						a.call = &call{p: p}
						a.call.done.Store(true)
						m.enter(a)
					}
				},
				"release": func(t *rapid.T) {
					a := pick(t, m.out)
					a.call.p.Release()
					a.cancel()
					m.out = slices.DeleteFunc(m.out, func(b *ask) bool { return a == b })
				},
				"cancel": func(t *rapid.T) {
					from := slices.Concat(m.waiting[tenants.Draw(t, "tenant")], m.aside)
					if m.next != nil {
						from = append(from, m.next)
					}
					m.giveUp(t, pick(t, from))
				},
				"charge": func(t *rapid.T) {
					a := pick(t, m.out)
					delta := rapid.Int64Range(-20, 20).Draw(t, "delta")
					a.call.p.Charge(delta)
					m.charge(a, delta)
				},
				"limit": func(t *rapid.T) {
					n := rapid.IntRange(0, 5).Draw(t, "limit")
					for _, a := range slices.Clone(m.aside) { // several tenants would come back in any order
						if (a.weight <= n || n == 0) && a.tenant != m.aside[0].tenant {
							m.giveUp(t, a)
						}
					}
					g.SetLimit(n)
					m.setLimit(n)
				},
				"": func(t *rapid.T) {
					synctest.Wait()
					m.settle()
					m.compare(t, g)
				},
			})
			m.end(g)
			intact(t, g)
		})
	})
}

// compare fails unless the calls that should hold a permit do, and no others.
func (m *model) compare(t *rapid.T, g *Gate[string]) {
	if waiting := m.backlog() + len(m.aside); g.InUse() != m.inUse() || g.Waiting() != waiting || g.Limit() != m.limit {
		t.Fatalf("in use %d, waiting %d of %d; want %d, %d of %d", g.InUse(), g.Waiting(), g.Limit(), m.inUse(), waiting, m.limit)
	}
	for _, a := range m.out {
		if !a.call.done.Load() || a.call.err != nil {
			t.Fatalf("%s of weight %d and cost %d has no permit: %v; the model has let it in", a.tenant, a.weight, a.cost, a.call.err)
		}
	}
	waiting := slices.Concat(m.aside, m.waiting["a"], m.waiting["b"], m.waiting["c"])
	if m.next != nil {
		waiting = append(waiting, m.next)
	}
	for _, a := range waiting {
		if a.call.done.Load() {
			t.Fatalf("%s of weight %d and cost %d does not wait (%v); in the model it does", a.tenant, a.weight, a.cost, a.call.err)
		}
	}
}

// giveUp ends the context of a call that waits.
func (m *model) giveUp(t *rapid.T, a *ask) {
	a.cancel()
	m.leave(a)
	m.settle()
	synctest.Wait()
	if !a.call.done.Load() || a.call.err != context.Canceled {
		t.Fatalf("cancelled: done %t, %v", a.call.done.Load(), a.call.err)
	}
}

// end lets all waiters go.
func (m *model) end(g *Gate[string]) {
	for _, a := range slices.Clone(m.aside) {
		a.cancel()
		m.leave(a)
	}
	synctest.Wait()
	g.SetLimit(5)
	m.setLimit(5)
	for len(m.out)+m.backlog() > 0 {
		m.settle()
		synctest.Wait()
		for _, a := range m.out {
			a.call.p.Release()
			a.cancel()
		}
		m.out = nil
	}
}
