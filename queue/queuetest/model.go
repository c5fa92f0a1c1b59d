package queuetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// modelTask is a task that is known, or kept.
type modelTask struct {
	job
	state     queue.State
	failed    int // deliveries
	place     int // among those of its tenant and priority; of a dead letter: among all of them
	cancelled bool
	charge    int64 // what its delivery's Charge has been given
	item      *queue.Item[string]
	reason    string
	result    string
}

func (x *modelTask) late() bool { return !x.Deadline.IsZero() }

// modelTenant is a tenant.
type modelTenant struct {
	paused              bool
	set                 queue.TenantSettings
	charged             bool  // it has, or had, a rate, and what it uses is known
	used                int64 // of its burst; its rate brings nothing back while a test lasts
	enqueued, delivered uint64
}

// modelKey is a unique key of a tenant.
type modelKey struct{ tenant, key string }

// model is the contract, as far as it says what one client's calls answer. A queue may choose whose turn it is: all the rest is exact.
type model struct {
	*testing.T
	q   *queue.Queue[string]
	rnd *rand.Rand

	tasks   map[string]*modelTask
	kept    map[string]*modelTask // completed
	keys    map[modelKey]*modelTask
	tenants map[string]*modelTenant
	c       queue.Settings
	st      queue.Stats // what is counted
	clock   int
	token   uint64
	ended   []*queue.Item[string] // deliveries that are not the client's any more
	fires   int
	calls   []string
}

var modelTenants = []string{"a", "b", "c", "d"}

// testModel compares a queue with the model, call by call. FIRQ_MODEL is how many seeds it takes, FIRQ_MODEL_SEED the first one.
func testModel(t *testing.T, s *suite) {
	number := func(name string, def int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return def
	}
	first, n, steps := number("FIRQ_MODEL_SEED", 1), number("FIRQ_MODEL", 2), 100
	if n > 2 {
		steps = 400
	}
	for seed := first; seed < first+n; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newModel(t, s, uint64(seed))
			defer func() {
				if t.Failed() {
					t.Log("calls:\n" + strings.Join(m.calls, "\n"))
				}
			}()
			for range steps {
				m.step()
				m.count()
				if m.rnd.IntN(10) == 0 {
					m.look()
				}
			}
			m.look()
			m.drain()
		})
	}
}

func newModel(t *testing.T, s *suite, seed uint64) *model {
	m := &model{
		T: t, rnd: rand.New(rand.NewPCG(seed, 0)), tasks: map[string]*modelTask{}, kept: map[string]*modelTask{}, keys: map[modelKey]*modelTask{},
		tenants: map[string]*modelTenant{},
	}
	for _, name := range modelTenants {
		m.tenants[name] = &modelTenant{}
	}
	c := queue.Config[string]{Lease: time.Hour, MaxAttempts: 3, Backoff: queue.Backoff{First: time.Hour, NoJitter: true}}
	if m.one(2) {
		c.MaxQueued, c.MaxQueuedPerTenant = 8+m.rnd.IntN(20), 3+m.rnd.IntN(9)
	}
	if m.one(2) {
		c.MaxInFlight, c.MaxInFlightPerTenant = 4+m.rnd.IntN(9), 1+m.rnd.IntN(5)
	}
	if m.one(2) {
		c.RatePerTenant = never(5 + m.rnd.Int64N(30))
	}
	if m.one(2) {
		c.DeadLetters.PerTenant = 2 + m.rnd.IntN(3)
	}
	m.q = open(t, s, c)
	m.c = m.q.Settings()
	m.calls = append(m.calls, fmt.Sprintf("New(%+v)", m.c))
	return m
}

// one is true once in n times.
func (m *model) one(n int) bool { return m.rnd.IntN(n) == 0 }

func oneOf[V any](m *model, all ...V) V { return all[m.rnd.IntN(len(all))] }

func (m *model) did(format string, args ...any) {
	m.calls = append(m.calls, fmt.Sprintf(format, args...))
}

func (m *model) fail(format string, args ...any) {
	m.Helper()
	m.Fatalf(fmt.Sprintf("call %d: ", len(m.calls))+format, args...)
}

// answers checks a call's error.
func (m *model) answers(err, want error) {
	m.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		m.fail("%s: %v, want %v", m.calls[len(m.calls)-1], err, want)
	}
}

// when returns an error if something is so.
func when(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

// all returns tasks that match, by ID, so that a seed does the same again.
func (m *model) all(match func(x *modelTask) bool) (some []*modelTask) {
	for _, id := range slices.Sorted(maps.Keys(m.tasks)) {
		if match(m.tasks[id]) {
			some = append(some, m.tasks[id])
		}
	}
	return some
}

func (m *model) in(state queue.State, tenant string) []*modelTask {
	return m.all(func(x *modelTask) bool { return x.state == state && (tenant == "" || x.Tenant == tenant) })
}

// line returns the queued tasks of a tenant in their order: critical ones, then by priority.
func (m *model) line(tenant string) []*modelTask {
	some := m.in(queue.StateQueued, tenant)
	slices.SortFunc(some, func(x, y *modelTask) int {
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(x.place, y.place))
	})
	return some
}

// head returns the tenant's next task: the first one that is not past its deadline.
func (m *model) head(tenant string) *modelTask {
	for _, x := range m.line(tenant) {
		if !x.late() {
			return x
		}
	}
	return nil
}

// rate returns the one in force; PerSecond 0: none.
func (m *model) rate(tenant string) rate.Limit {
	switch l := m.tenants[tenant].set.Rate; {
	case l.PerSecond < 0:
		return rate.Limit{}
	case l.PerSecond > 0:
		return l
	}
	return m.c.RatePerTenant
}

// limit returns a tenant's own limit, or the queue's; 0: none.
func limit(own, queues int) int {
	if own != 0 {
		return max(own, 0)
	}
	return queues
}

// open reports whether a tenant may be served, but for its rate.
func (m *model) open(tenant string) bool {
	most := limit(m.tenants[tenant].set.MaxInFlight, m.c.MaxInFlightPerTenant)
	return !m.st.Paused && !m.tenants[tenant].paused && (most == 0 || len(m.in(queue.StateInFlight, tenant)) < most) &&
		(m.c.MaxInFlight == 0 || len(m.in(queue.StateInFlight, "")) < m.c.MaxInFlight)
}

// ready returns the task that a tenant may have now.
func (m *model) ready(tenant string) *modelTask {
	x := m.head(tenant)
	if x == nil || !m.open(tenant) {
		return nil
	}
	switch l, used := m.rate(tenant), m.tenants[tenant].used; {
	case l.PerSecond == 0, x.Cost > l.Burst && used == 0, used+x.Cost <= l.Burst: // the second leaves a debt
		return x
	}
	return nil
}

// queues puts a task into its line: at the end, or where it was.
func (m *model) queues(x *modelTask, again bool) {
	x.state, x.item = queue.StateQueued, nil
	if !again {
		m.clock++
		x.place = m.clock
	}
}

// ends lets a task go, with its key. It is not known any more unless it is a dead letter.
func (m *model) ends(x *modelTask) {
	if k := (modelKey{x.Tenant, x.UniqueKey}); x.UniqueFor == 0 && m.keys[k] == x {
		delete(m.keys, k)
	}
	x.item = nil
	delete(m.tasks, x.ID)
}

// dies makes a dead letter, of which some are kept.
func (m *model) dies(x *modelTask, why string) {
	m.ends(x)
	m.tasks[x.ID] = x
	m.clock++
	x.state, x.reason, x.place = queue.StateDead, why, m.clock
	m.st.Dead++
	for m.c.DeadLetters.PerTenant > 0 {
		dead := m.dead(x.Tenant)
		if len(dead) <= m.c.DeadLetters.PerTenant {
			return
		}
		delete(m.tasks, dead[0].ID)
		m.st.Purged++
	}
}

// dead returns dead letters, the oldest first.
func (m *model) dead(tenant string) []*modelTask {
	some := m.in(queue.StateDead, tenant)
	slices.SortFunc(some, func(x, y *modelTask) int { return cmp.Compare(x.place, y.place) })
	return some
}
