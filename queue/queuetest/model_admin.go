package queuetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

func (m *model) cancel() {
	id := m.anyID("")
	m.did("Cancel(%s)", id)
	err, x := m.q.Cancel(bounded(m), id), m.tasks[id]
	if x == nil || x.state == queue.StateDead {
		m.answers(err, queue.ErrNotFound)
		return
	}
	m.answers(err, nil)
	if x.state == queue.StateInFlight {
		x.cancelled = true
		return
	}
	m.st.Cancelled++
	m.ends(x)
}

func (m *model) pause() {
	ctx, name := bounded(m), oneOf(m, append(modelTenants, "")...)
	paused := &m.st.Paused
	if name != "" {
		paused = &m.tenants[name].paused
	}
	if *paused = !*paused; *paused {
		m.did("Pause(%q)", name)
		ok(m, m.q.Pause(ctx, name))
		return
	}
	m.did("Resume(%q)", name)
	ok(m, m.q.Resume(ctx, name))
}

func (m *model) setTenant() {
	name := oneOf(m, modelTenants...)
	s := queue.TenantSettings{
		Weight: oneOf(m, 0, 0, 0.5, 3), MaxQueued: oneOf(m, 0, -1, 3, 6), MaxInFlight: oneOf(m, 0, -1, 1, 3),
		Rate: oneOf(m, rate.Limit{}, rate.Limit{PerSecond: -1}, never(3), never(20), never(1000)),
	}
	m.did("SetTenant(%s, %+v)", name, s)
	ok(m, m.q.SetTenant(bounded(m), name, s))
	m.tenants[name].set = s
}

func (m *model) setQueue() {
	var c queue.SettingsChange
	n, l := m.rnd.IntN(8), oneOf(m, rate.Limit{}, never(4), never(40))
	switch m.rnd.IntN(3) {
	case 0:
		c.MaxInFlight = &n
	case 1:
		c.MaxInFlightPerTenant = &n
	case 2:
		c.RatePerTenant = &l
	}
	ok(m, m.q.ChangeSettings(bounded(m), c))
	m.c = m.q.Settings()
	m.did("ChangeSettings: %+v", m.c)
}

func (m *model) requeue() {
	var ids []string
	for range 1 + m.rnd.IntN(3) {
		if dead := m.dead(""); len(dead) > 0 && !m.one(3) {
			ids = append(ids, oneOf(m, dead...).ID)
		} else {
			ids = append(ids, m.anyID(""))
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var want error
	m.did("Requeue(%q)", ids)
	err := m.q.Requeue(bounded(m), ids...)
	for _, id := range ids {
		x := m.tasks[id]
		if x == nil || x.state != queue.StateDead {
			want = queue.ErrNotFound
			continue
		}
		m.st.Requeued++
		x.failed, x.reason = 0, ""
		m.queues(x, false)
		if k := (modelKey{x.Tenant, x.UniqueKey}); x.UniqueKey != "" && x.UniqueFor == 0 && m.keys[k] == nil {
			m.keys[k] = x
		}
	}
	m.answers(err, want)
}

func (m *model) purge() {
	f := queue.Filter{Tenant: oneOf(m, modelTenants...), Limit: m.rnd.IntN(3)}
	m.did("Purge(%+v)", f)
	n := must(m.q.Purge(bounded(m), f))
	dead := m.dead(f.Tenant)
	if f.Limit > 0 {
		dead = dead[:min(f.Limit, len(dead))]
	}
	for _, x := range dead {
		delete(m.tasks, x.ID)
		m.st.Purged++
	}
	same(m, "Purge", n, len(dead))
}

func (m *model) forget() {
	id := m.anyID(oneOf(m, modelTenants...))
	if ids := slices.Sorted(maps.Keys(m.kept)); len(ids) > 0 && m.one(2) {
		id = oneOf(m, ids...)
	}
	m.did("Forget(%s)", id)
	m.answers(m.q.Forget(bounded(m), id), when(m.kept[id] == nil, queue.ErrNotFound))
	delete(m.kept, id)
}

// fire fires a schedule, as Schedules.Run does when it is due.
func (m *model) fire() {
	ctx := bounded(m)
	x := m.task()
	x.ID, x.Delay, x.Deadline = "", 0, time.Time{}
	ok(m, m.q.Schedules().Put(ctx, queue.Schedule[string]{ID: "s", Cron: "@yearly", Task: x}))
	due := must(m.q.Schedules().List(ctx))[0].NextDue
	raw, err := queue.RawOf(m.q, x)
	ok(m, err)
	x.ID = fmt.Sprint(x.Tenant, "@", m.fires)
	raw.ID = x.ID
	m.did("Fire(%s key %s)", x.ID, x.UniqueKey)
	f := queue.Firing{ID: "s", Due: due, Next: due.Add(time.Hour), Last: due, Tasks: []queue.Raw{raw}}
	lane := m.q.Engine().Lane(x.Tenant)
	same(m, "Fire", must(m.q.Engine().Fire(ctx, lane, f)), true)
	same(m, "Fire again", must(m.q.Engine().Fire(ctx, lane, f)), false)
	m.accept(x, false)
	ok(m, m.q.Schedules().Delete(ctx, "s"))
}
