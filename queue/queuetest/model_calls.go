package queuetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// soon is what the model waits for.
const soon = time.Millisecond

// step makes a random call.
func (m *model) step() {
	switch n := m.rnd.IntN(100); {
	case n < 30:
		m.enqueue()
	case n < 50:
		m.dequeue()
	case n < 75:
		m.settle()
	case n < 78:
		m.stale()
	case n < 82:
		m.cancel()
	case n < 85:
		m.pause()
	case n < 89:
		m.setTenant()
	case n < 91:
		m.setQueue()
	case n < 95:
		m.requeue()
	case n < 97:
		m.purge()
	case n < 98:
		m.forget()
	default:
		m.fire()
	}
}

// anyID returns an ID that may be of a task.
func (m *model) anyID(tenant string) string {
	if ids := slices.Sorted(maps.Keys(m.tasks)); tenant == "" && len(ids) > 0 && !m.one(4) {
		return oneOf(m, ids...)
	} else if tenant == "" {
		tenant = oneOf(m, modelTenants...)
	}
	return fmt.Sprint(tenant, m.rnd.IntN(5))
}

func (m *model) task() job {
	m.fires++
	x := job{Tenant: oneOf(m, modelTenants...), Payload: fmt.Sprint(m.fires), Cost: m.rnd.Int64N(7), Priority: firq.Priority(m.rnd.IntN(7)), MaxAttempts: m.rnd.IntN(4)}
	x.ID = fmt.Sprint(x.Tenant, "-", m.fires)
	if m.one(3) {
		x.ID = m.anyID(x.Tenant)
	}
	if m.one(5) {
		x.UniqueKey, x.UniqueFor = fmt.Sprint("k", m.rnd.IntN(3)), oneOf(m, 0, time.Hour)
	}
	if m.one(6) {
		x.Delay = time.Hour
	}
	if m.one(10) {
		x.Deadline = time.Now().Add(-time.Hour)
	}
	if m.one(3) {
		x.KeepResult = time.Hour
	}
	return x
}

// accept answers as Enqueue does.
func (m *model) accept(x job, limits bool) (res queue.Result) {
	x.Cost, x.Priority, x.MaxAttempts = cmp.Or(x.Cost, 1), cmp.Or(x.Priority, firq.PriorityNormal), cmp.Or(x.MaxAttempts, 3)
	if m.tasks[x.ID] != nil {
		return queue.Result{ID: x.ID}
	}
	k := modelKey{x.Tenant, x.UniqueKey}
	if owner := m.keys[k]; x.UniqueKey != "" && owner != nil {
		m.st.Duplicates++
		return queue.Result{ID: owner.ID, Err: queue.ErrDuplicate}
	}
	waits := func(tenant string) int {
		return len(m.in(queue.StateQueued, tenant)) + len(m.in(queue.StateDelayed, tenant))
	}
	if most := limit(m.tenants[x.Tenant].set.MaxQueued, m.c.MaxQueuedPerTenant); limits && most > 0 && waits(x.Tenant) >= most {
		m.st.Rejected++
		return queue.Result{ID: x.ID, Err: queue.ErrTenantFull}
	}
	if limits && m.c.MaxQueued > 0 && waits("") >= m.c.MaxQueued {
		m.st.Rejected++
		return queue.Result{ID: x.ID, Err: queue.ErrFull}
	}
	m.st.Enqueued++
	m.tenants[x.Tenant].enqueued++
	y := &modelTask{job: x}
	m.tasks[x.ID] = y
	if x.UniqueKey != "" {
		m.keys[k] = y
	}
	m.queues(y, false)
	if x.Delay == time.Hour {
		y.state = queue.StateDelayed
	}
	return queue.Result{ID: x.ID}
}

func (m *model) enqueue() {
	tasks := []job{m.task()}
	if m.one(2) {
		for range m.rnd.IntN(6) {
			tasks = append(tasks, m.task())
			if m.one(4) { // the same again
				again := oneOf(m, tasks...)
				again.Payload += "'"
				tasks = append(tasks, again)
			}
		}
	} else if m.one(4) {
		tasks[0].Delay = soon
	}
	for _, x := range tasks {
		m.did("Enqueue(%+v)", x)
	}
	rs, _ := m.q.EnqueueBatch(bounded(m), tasks)
	refused, again := map[string]bool{}, map[string]bool{}
	for i, x := range tasks {
		want := m.accept(x, true)
		if rs[i].ID != want.ID || !errors.Is(rs[i].Err, want.Err) || want.Err == nil && rs[i].Err != nil {
			m.fail("%d of %d: Enqueue(%s): %v, want %v", i, len(tasks), x.ID, rs[i], want)
		}
		refused[x.ID] = refused[x.ID] || want.Err != nil
		again[x.ID] = refused[x.ID] && want.Err == nil
	}
	for _, id := range slices.Sorted(maps.Keys(again)) {
		if again[id] { // it may have taken another round trip, and be behind later ones
			ok(m, m.q.Cancel(bounded(m), id))
			m.st.Cancelled++
			m.ends(m.tasks[id])
		}
	}
	if tasks[0].Delay == soon {
		m.passes()
	}
}

// passes lets what is due soon be due.
func (m *model) passes() {
	time.Sleep(3 * soon)
	ok(m, m.q.Maintain(bounded(m)))
}

func (m *model) dequeue() {
	n := 1 + m.rnd.IntN(6)
	if !m.one(4) {
		m.did("Dequeue(%d)", n)
		m.take(n, nil, nil)
		return
	}
	names, steal := oneOf(m, nil, []string{"a"}, []string{"b", "c"}), oneOf(m, nil, []string{"d"}, []string{"?"})
	m.did("Dequeue(%d) from %q, then %q", n, names, steal)
	m.take(n, names, steal)
}

// take takes n tasks, and checks that these are the ones that there are.
func (m *model) take(n int, names, steal []string) {
	m.Helper()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	source := m.q.Engine().From(names, steal)
	got := 0
	for got < n {
		looks := 0
		ds, err := source.Pop(over, func() int {
			if looks++; looks > 3 {
				return 0
			}
			return n - got
		})
		ok(m, err)
		if len(ds) == 0 {
			break
		}
		for i := range ds {
			m.got(read(m, &ds[i]), names)
			got++
		}
	}
	for _, name := range modelTenants {
		mine := names == nil && steal == nil || slices.Contains(names, name) || slices.Contains(steal, name) || slices.Contains(steal, "?")
		if x := m.ready(name); x != nil && mine && got < n {
			m.fail("%s: %d of %d, and %s is not among them", m.calls[len(m.calls)-1], got, n, x.ID)
		}
		m.expire(name, mine && got < n)
	}
}

// expire notes which of the tasks whose deadline has passed are gone. all: their turn has come.
func (m *model) expire(tenant string, all bool) {
	m.Helper()
	first := true
	for _, x := range m.line(tenant) {
		if !x.late() {
			first = false
			continue
		}
		i, err := m.q.Get(bounded(m), x.ID)
		switch {
		case first && (errors.Is(err, queue.ErrNotFound) || i.State == queue.StateCompleted): // what is kept is another's with this ID
			m.did("(%s is expired)", x.ID)
			m.ends(x)
			m.st.Expired++
		case err == nil && all && first && m.open(tenant) && m.head(tenant) == nil:
			m.fail("%s is not expired", x.ID)
		default:
			ok(m, err)
		}
	}
}

// got checks a delivery.
func (m *model) got(it *queue.Item[string], names []string) {
	m.Helper()
	m.did("  %s: attempt %d", it.ID, it.Attempt)
	x := m.ready(it.Tenant)
	if x == nil || x.ID != it.ID {
		m.fail("delivered: %+v, want %+v; of it is known %+v", it, x, m.tasks[it.ID])
	}
	if names != nil && !slices.Contains(names, it.Tenant) {
		for _, name := range names {
			if m.ready(name) != nil {
				m.fail("delivered: %s, before %s", it.ID, name)
			}
		}
	}
	if it.Attempt != x.failed+1 || it.Payload != x.Payload || it.Cost != x.Cost || it.Priority != x.Priority || it.MaxAttempts != x.MaxAttempts || it.UniqueKey != x.UniqueKey ||
		it.KeepResult != x.KeepResult || it.Token <= m.token {
		m.fail("delivered: %+v, want %+v", it, x)
	}
	x.state, x.item, x.charge, m.token = queue.StateInFlight, it, 0, it.Token
	m.st.Delivered++
	m.tenants[x.Tenant].delivered++
	if m.rate(x.Tenant).PerSecond > 0 {
		m.tenants[x.Tenant].charged = true
		m.tenants[x.Tenant].used += x.Cost
	}
}
