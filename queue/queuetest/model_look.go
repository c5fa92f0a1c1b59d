package queuetest

import (
	"cmp"
	"slices"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// count compares what is counted.
func (m *model) count() {
	m.Helper()
	st := must(m.q.Stats(bounded(m)))
	want := m.st
	want.Queued, want.Delayed = len(m.in(queue.StateQueued, "")), len(m.in(queue.StateDelayed, ""))
	want.InFlight, want.DeadLetters = len(m.in(queue.StateInFlight, "")), len(m.in(queue.StateDead, ""))
	for _, name := range modelTenants {
		if len(m.all(func(x *modelTask) bool { return x.Tenant == name && x.state != queue.StateDead })) > 0 {
			want.Tenants++
		}
	}
	st.Oldest, st.Held = 0, 0
	if st != want {
		m.fail("%s:\nis   %+v\nwant %+v", m.calls[len(m.calls)-1], st, want)
	}
}

// look compares all that can be seen.
func (m *model) look() {
	m.Helper()
	ctx := bounded(m)
	seen := map[queue.State][]string{}
	for s := queue.StateQueued; s <= queue.StateCompleted; s++ {
		for cursor, first := "", true; first || cursor != ""; first = false {
			page, next, err := m.q.List(ctx, queue.Listing{State: s, Cursor: cursor, Limit: 1 + m.rnd.IntN(20)})
			ok(m, err)
			for i := range page {
				m.info(&page[i], s)
				seen[s] = append(seen[s], page[i].ID)
			}
			cursor = next
		}
	}
	var line []string
	held := 0
	for _, name := range modelTenants {
		for _, x := range m.line(name) {
			line = append(line, x.ID)
		}
		held += m.tenant(name)
	}
	same(m, "Held", must(m.q.Stats(ctx)).Held, held)
	slices.SortStableFunc(seen[queue.StateQueued], func(x, y string) int { return cmp.Compare(m.tasks[x].Tenant, m.tasks[y].Tenant) })
	equal(m, "List of queued tasks", seen[queue.StateQueued], line)
	var dead []string
	for _, x := range m.dead("") {
		dead = append(dead, x.ID)
	}
	equal(m, "DeadLetters", letters(m, m.q, queue.Filter{}), dead)
	for s, want := range map[queue.State]int{
		queue.StateDelayed: len(m.in(queue.StateDelayed, "")), queue.StateInFlight: len(m.in(queue.StateInFlight, "")), queue.StateDead: len(dead), queue.StateCompleted: len(m.kept),
	} {
		same(m, "List of "+s.String(), len(seen[s]), want)
	}
}

// info compares a task that is listed.
func (m *model) info(i *queue.Info[string], s queue.State) {
	m.Helper()
	x := m.tasks[i.ID]
	if s == queue.StateCompleted {
		x = m.kept[i.ID]
	}
	if x == nil || x.state != s || i.State != s {
		m.fail("listed as %v: %+v, want %+v", s, i, x)
	}
	if i.Payload != x.Payload || i.Tenant != x.Tenant || i.Cost != x.Cost || i.Priority != x.Priority || i.Attempts != x.failed || i.Reason != x.reason ||
		string(i.Result) != x.result || i.MaxAttempts != x.MaxAttempts || i.KeepResult != x.KeepResult || i.UniqueKey != x.UniqueKey {
		m.fail("listed: %+v, want %+v", i, x)
	}
}

// tenant compares what is known of a tenant. It returns 1 if its rate holds it back.
func (m *model) tenant(name string) int {
	m.Helper()
	t, x := must(m.q.TenantStats(bounded(m), name)), m.tenants[name]
	w := x.set.Weight
	if w == 0 {
		w = 1
	}
	if t.Weight == 0 && x.enqueued == 0 { // nothing is known of it
		w = 0
	}
	want := queue.TenantStats{
		Tenant: name, Queued: len(m.in(queue.StateQueued, name)), Delayed: len(m.in(queue.StateDelayed, name)), InFlight: len(m.in(queue.StateInFlight, name)),
		DeadLetters: len(m.in(queue.StateDead, name)), Enqueued: x.enqueued, Delivered: x.delivered, Weight: w, Paused: x.paused, Settings: x.set,
	}
	held := t.Held
	t.Held, t.Oldest = 0, 0
	if t != want {
		m.fail("TenantStats:\nis   %+v\nwant %+v", t, want)
	}
	if held > 0 && m.ready(name) != nil {
		m.fail("%s is held back for %v, and could have %q", name, held, m.ready(name).ID)
	}
	return map[bool]int{true: 1}[held > 0]
}

// drain takes away what holds tasks back, and takes them all.
func (m *model) drain() {
	ctx := bounded(m)
	zero, none := 0, rate.Limit{}
	ok(m, m.q.ChangeSettings(ctx, queue.SettingsChange{MaxInFlight: &zero, MaxInFlightPerTenant: &zero, RatePerTenant: &none}))
	m.c = m.q.Settings()
	ok(m, m.q.Resume(ctx, ""))
	m.st.Paused = false
	for _, name := range modelTenants {
		ok(m, m.q.Resume(ctx, name))
		ok(m, m.q.SetTenant(ctx, name, queue.TenantSettings{}))
		m.tenants[name].paused, m.tenants[name].set = false, queue.TenantSettings{}
	}
	m.did("drain")
	m.take(1000, nil, nil)
	m.count()
	m.look()
}
