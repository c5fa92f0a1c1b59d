package schedtest_test

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/firq-go/firq"
)

// reference is a Scheduler as simple as it can be: one mutex, slices, and every
// change wakes everybody. It proves that the suite can be satisfied.
type reference[K comparable, T any] struct {
	cfg   firq.Config[K, T]
	mu    sync.Mutex
	owner firq.TicketOwner

	tenants   map[K]*refTenant[K, T]
	overrides map[K]int64
	limits    map[K]int        // SetLimit
	most      int              // MaxGlobal
	perTenant int              // MaxPerTenant, not cut to MaxGlobal
	lists     [7]refList[K, T] // by priority; only lists[0] within tenants
	queued    int
	draining  bool
	closed    bool
	changed   chan struct{} // closed at each change that somebody waits for
	waiting   bool          // somebody has taken changed
	swept     time.Time
	uses      int
	token     uint64
	inFlight  map[uint64]*refTenant[K, T]
	stats     firq.Stats[K]
	served    map[K]uint64
	buckets   [64]uint64
	waits     []time.Duration
	thrown    []any // what OnDrop panicked with, for the next calls that dequeue
}

type refTask[K comparable, T any] struct {
	firq.Task[T]
	due, at time.Time
	line    *refLine // nil: its tenant has had no flow but 0
}

type refTenant[K comparable, T any] struct {
	r        *reference[K, T]
	key      K
	tasks    [7][]refTask[K, T] // by priority, in order of enqueue
	n        int
	room     [7][]refTask[K, T] // what tasks is the end of, emptied
	codel    [7]refCoDel
	says     refSays
	newest   bool
	flights  int
	flows    [7]refFlow[K, T]
	lines    [7][]*refLine // of Task.Flow, by priority; the first one is in turn
	flowed   bool
	lastUsed time.Time
	left     int // lastUsed, as a number that no two tenants share
}

// refSays is what Config says of a tenant when it becomes active.
type refSays struct {
	quantum             int64
	perTenant, inFlight int
}

// refFlow takes turns. It is what items are bound to.
type refFlow[K comparable, T any] struct {
	t              *refTenant[K, T]
	level          int
	listed, inTurn bool
	fresh, freed   bool
	parked         bool
	deficit        int64
	since          uint64 // the round of its list up to which it has had what rounds bring
}

type refList[K comparable, T any] struct {
	fresh, freed, active []*refFlow[K, T]
	due                  map[*refFlow[K, T]]bool // of active, those that this round has still to visit
	round                uint64
	served               bool // in this round
}

type refDrop[K comparable, T any] struct {
	tenant  K
	payload T
	why     firq.DropReason
}

func newReference[K comparable, T any](cfg firq.Config[K, T]) (*reference[K, T], error) {
	perTenant := cmp.Or(cfg.MaxPerTenant, firq.MaxTasks)
	cfg, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	r := &reference[K, T]{
		cfg: cfg, tenants: map[K]*refTenant[K, T]{}, overrides: map[K]int64{},
		limits: map[K]int{}, most: cfg.MaxGlobal, perTenant: perTenant,
		inFlight: map[uint64]*refTenant[K, T]{}, served: map[K]uint64{}, changed: make(chan struct{}),
	}
	r.owner.Canceler = r
	return r, nil
}

// wake wakes whoever waits for anything.
func (r *reference[K, T]) wake() {
	if r.waiting {
		close(r.changed)
		r.changed, r.waiting = make(chan struct{}), false
	}
}

func (r *reference[K, T]) change() <-chan struct{} {
	r.waiting = true
	return r.changed
}

// report calls OnDrop for each, without the lock, and then does what OnDrop did
// first, if it has not returned: at the next dequeue, if there are items to return.
func (r *reference[K, T]) report(drops []refDrop[K, T], served ...firq.Item[K, T]) {
	if r.cfg.OnDrop == nil {
		return
	}
	var first *refEnd
	for _, d := range drops {
		if end := aside(func() { r.cfg.OnDrop(d.tenant, d.payload, d.why) }); first == nil && !end.returned {
			first = &end
		}
	}
	switch {
	case first == nil:
	case first.panicked == nil:
		for i := range served {
			served[i].Done()
		}
		runtime.Goexit()
	case len(served) > 0:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.thrown = append(r.thrown, first.panicked)
	default:
		panic(first.panicked)
	}
}

// rethrow panics with what report has kept.
func (r *reference[K, T]) rethrow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.thrown) > 0 {
		v := r.thrown[0]
		r.thrown = r.thrown[1:]
		panic(v)
	}
}

// refEnd is how user code ended.
type refEnd struct {
	returned bool
	panicked any
}

// aside runs user code in a goroutine of its own.
func aside(f func()) (end refEnd) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			if !end.returned {
				end.panicked = recover()
			}
		}()
		f()
		end.returned = true
	}()
	<-over
	return end
}

func (r *reference[K, T]) flow(t *refTenant[K, T], p firq.Priority) *refFlow[K, T] {
	if r.cfg.PriorityScope == firq.PriorityAcrossTenants {
		return &t.flows[p]
	}
	return &t.flows[0]
}

func (r *reference[K, T]) tenant(k K) *refTenant[K, T] {
	t := r.tenants[k]
	if t == nil {
		t = &refTenant[K, T]{r: r, key: k}
		for i := range t.flows {
			t.flows[i].t, t.flows[i].level = t, i
		}
		r.tenants[k] = t
	}
	return t
}

// sweep forgets idle tenants.
func (r *reference[K, T]) sweep(now time.Time) {
	if now.Sub(r.swept) < r.cfg.TenantIdle/2 {
		return
	}
	r.swept = now
	for _, t := range r.tenants {
		if t.n == 0 && t.flights == 0 && now.Sub(t.lastUsed) >= r.cfg.TenantIdle {
			r.forget(t)
		}
	}
}

func (r *reference[K, T]) forget(t *refTenant[K, T]) {
	for i := range t.flows {
		r.leave(&t.flows[i])
	}
	delete(r.tenants, t.key)
}

func (r *reference[K, T]) crowded() bool {
	return r.cfg.MaxTenants > 0 && len(r.tenants) >= r.cfg.MaxTenants
}

// longestIdle returns the tenant that makes room for a new one, nil for none.
func (r *reference[K, T]) longestIdle() (longest *refTenant[K, T]) {
	for _, t := range r.tenants {
		owes := slices.ContainsFunc(t.flows[:], func(f refFlow[K, T]) bool { return f.deficit < 0 })
		if t.n == 0 && t.flights == 0 && !owes && (longest == nil || t.left < longest.left) {
			longest = t
		}
	}
	return longest
}

// touch notes that the tenant was in use until now.
func (r *reference[K, T]) touch(t *refTenant[K, T]) {
	r.uses++
	t.left, t.lastUsed = r.uses, time.Now()
}

func (r *reference[K, T]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queued
}

func (r *reference[K, T]) SetQuantum(tenant K, quantum int64) {
	if tenant != tenant { // NaN
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookAll(tenant)
	r.overrides[tenant] = max(quantum, 1)
}

// lookAll comes before a change of the quantum.
func (r *reference[K, T]) lookAll(tenant K) {
	if t := r.tenants[tenant]; t != nil {
		for i := range t.flows {
			r.look(&t.flows[i])
		}
	}
}

func (r *reference[K, T]) ResetQuantum(tenant K) {
	if tenant != tenant { // NaN
		return
	}
	planned := r.cfg.Quantum
	if r.cfg.QuantumFor != nil {
		planned = r.cfg.QuantumFor(tenant)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookAll(tenant)
	delete(r.overrides, tenant)
	if t := r.tenants[tenant]; t != nil {
		t.says.quantum = planned
	}
}

// SettleDone and SettleCharge make a flow a firq.Settler.
func (f *refFlow[K, T]) SettleDone(token uint64) {
	r := f.t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.inFlight[token]
	if t == nil {
		return
	}
	delete(r.inFlight, token)
	wasBlocked := r.blocked(t)
	t.flights--
	r.stats.InFlight--
	r.touch(t)
	if wasBlocked && !r.blocked(t) {
		for i := range t.flows {
			switch f := &t.flows[i]; {
			case f.parked && !r.none(f):
				f.parked, f.listed, f.freed = false, true, true
				r.lists[f.level].freed = append(r.lists[f.level].freed, f)
			case !f.listed:
				f.parked, f.deficit = false, min(f.deficit, 0)
			}
		}
	}
	r.wake()
}

func (f *refFlow[K, T]) SettleCharge(token uint64, delta int64) { f.SettleFlow(token, 0, delta) }

func (f *refFlow[K, T]) SettleFlow(token, flow uint64, delta int64) {
	f.t.r.mu.Lock()
	defer f.t.r.mu.Unlock()
	if t := f.t.r.tenants[f.t.key]; t == nil {
		return // forgotten
	} else {
		f = &t.flows[f.level]
		t.chargeLine(token&7, flow, delta)
	}
	const most = 1 << 60
	f.t.r.look(f)
	owed := f.deficit < 0
	f.deficit = max(min(f.deficit-min(max(delta, -most), most), most), -most)
	if owed && f.deficit >= 0 {
		f.t.r.touch(f.t)
	}
}

func (r *reference[K, T]) CancelTicket(tk *firq.Ticket) bool {
	r.mu.Lock()
	t, _ := tk.Place(&r.owner).(*refTenant[K, T])
	if t == nil {
		r.mu.Unlock()
		return false
	}
	var payload T
	for p := range t.tasks {
		for i := range t.tasks[p] {
			if t.tasks[p][i].Ticket == tk {
				payload = t.tasks[p][i].Payload
				r.remove(t, p, i)
				break
			}
		}
	}
	r.stats.Cancelled++
	r.wake()
	r.mu.Unlock()
	r.report([]refDrop[K, T]{{t.key, payload, firq.DropCancelled}})
	return true
}
