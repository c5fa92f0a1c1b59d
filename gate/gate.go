package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/key"
	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree"
)

// ErrEvicted is the error of a waiter that had to make way for another waiter of its
// tenant (Config.Policy). It matches firq.ErrRejected.
var ErrEvicted = fmt.Errorf("%w: another waiter of the tenant took the place (Policy)", firq.ErrRejected)

// ErrOverload is the error of a waiter that is dropped because its tenant's waiters
// have all waited for too long (Config.TargetWait). It matches firq.ErrRejected.
var ErrOverload = fmt.Errorf("%w: the tenant's waiters have waited for too long (TargetWait)", firq.ErrRejected)

// Gate is a fair semaphore for many tenants. Make it with New or Open; it must
// not be copied. All methods are safe for concurrent use.
type Gate[K comparable] struct {
	// Immutable after Open.
	s         scheduler[K]
	queueAll  bool // every permit goes through the queue: there are in-flight limits
	keys      key.Check[K]
	maxAge    time.Duration
	policy    firq.Policy
	policyFor func(K) firq.Policy // nil: policy
	holders   sync.Pool           // *holder[K]
	immediate *xsync.Counter      // permits that were given without waiting
	idle      chan struct{}       // closed once word.idle()
	killed    chan struct{}       // closed by Close
	// How often to look for what may be forgotten.
	forgetEvery time.Duration

	memory atomic.Uint32 // nothing, something or timed; written a few times per TenantIdle

	_    pad.Pad
	word atomic.Uint64 // a word; written by all calls
	_    pad.Pad

	mu    sync.Mutex // held by the goroutine that pumps; no user code runs under it
	next  *holder[K] // the call whose turn it is, while too few slots are free; nil: none. Guarded by mu
	aside aside[K]

	timedOut atomic.Uint64
	forgone  atomic.Uint64
	debts    debts[K]
	idleOnce sync.Once
	killOnce sync.Once
}

// New returns a gate of limit slots: that many permits of weight 1 may be out at a
// time. A limit
// outside 1 to MaxSlots, or a config that makes no sense, panics; see Open.
func New[K comparable](limit int, cfg Config[K]) *Gate[K] {
	g, err := Open(limit, cfg)
	if err != nil {
		panic(err.Error())
	}
	return g
}

// Open is New for limits and configs that come from outside the program: what
// makes no sense is an error that matches firq.ErrInvalidConfig and names each
// such field, one in a line.
func Open[K comparable](limit int, cfg Config[K]) (*Gate[K], error) {
	return open(limit, cfg, func(c firq.Config[K, *holder[K]]) (scheduler[K], error) {
		return lockfree.New(c)
	})
}

// scheduler is the interface of both cores.
type scheduler[K comparable] interface {
	firq.Scheduler[K, *holder[K]]
	SetMaxPerTenant(n int)
	SetMaxInFlightPerTenant(n int)
}

// open is Open over a scheduler that build makes.
func open[K comparable](limit int, cfg Config[K], build func(firq.Config[K, *holder[K]]) (scheduler[K], error)) (*Gate[K], error) {
	var wrong error
	if limit < 1 || limit > MaxSlots {
		wrong = fmt.Errorf("%w: limit: %d, must be 1 to %d", firq.ErrInvalidConfig, limit, MaxSlots)
	}
	g := &Gate[K]{
		queueAll:  cfg.MaxInFlightPerTenant != 0 || cfg.MaxInFlightFor != nil,
		keys:      key.New[K](),
		maxAge:    cfg.MaxQueueAge,
		policy:    cfg.Policy,
		policyFor: cfg.PolicyFor,
		immediate: xsync.NewCounter(),
		idle:      make(chan struct{}),
		killed:    make(chan struct{}),
	}
	c, err := cfg.scheduler(g.dropped)
	if err = errors.Join(wrong, err); err != nil {
		return nil, err
	}
	if g.s, err = build(c); err != nil {
		return nil, err
	}
	g.holders.New = func() any { return &holder[K]{gate: g, end: make(chan end, 1)} }
	g.debts.init(c.TenantIdle)
	g.forgetEvery = max(c.TenantIdle/2, time.Millisecond)
	g.aside.of = map[K]*asideOf{}
	g.aside.most.all.Store(int64(c.MaxGlobal))
	g.aside.most.tenant.Store(int64(noLimit(cfg.MaxPerTenant)))
	g.word.Store(uint64(word(0).withLimit(limit)))
	return g, nil
}

// Limit returns how many slots there are.
func (g *Gate[K]) Limit() int { return g.load().limit() }

// InUse returns how many slots are taken: the weights of the permits that are out.
// At most Limit, unless SetLimit lowered it below what was out.
func (g *Gate[K]) InUse() int { return g.load().inUse() }

// Waiting returns how many calls of Acquire wait, or are about to; those included
// that ask for more than Limit.
func (g *Gate[K]) Waiting() int { return g.load().waiting() + int(g.aside.n.Load()) }

func (g *Gate[K]) load() word { return word(g.word.Load()) }

// SetLimit changes the limit to n slots, 0 to MaxSlots (anything else panics). When
// it rises, the calls that wait are let in; when it falls, permits that are out stay
// valid, and none is given out until enough have come back. With 0 no call is let
// in. Calls that ask for more than n are out of turn from then on: see Acquire.
func (g *Gate[K]) SetLimit(n int) {
	if n < 0 || n > MaxSlots {
		panic(fmt.Sprintf("firq: gate: limit: %d, must be 0 to %d", n, MaxSlots))
	}
	for {
		w := g.load()
		failpoint.At("set limit")
		if g.word.CompareAndSwap(uint64(w), uint64(w.withLimit(n))) { // [L1]
			break
		}
	}
	g.pump() // [L2]
	g.recall()
}

// SetQuantum overrides the tenant's quantum from its next turn on, known tenant or not,
// until ResetQuantum. Below 1 counts as 1. For a tenant that is not equal to itself
// (NaN) it does nothing; for a tenant that cannot be compared it panics.
func (g *Gate[K]) SetQuantum(tenant K, quantum int64) {
	if g.keys.Tenant(tenant) == nil {
		g.s.SetQuantum(tenant, quantum)
	}
}

// ResetQuantum gives the tenant the quantum from Config again, and calls QuantumFor for
// that. Otherwise it is like SetQuantum.
func (g *Gate[K]) ResetQuantum(tenant K) {
	if g.keys.Tenant(tenant) == nil {
		g.s.ResetQuantum(tenant)
	}
}

// Shutdown refuses new calls of Acquire with firq.ErrClosed, and returns nil once every
// waiting call has been served, or has given up, and every permit is back. It does not
// wait for calls that ask for more slots than the limit: they get firq.ErrClosed. If
// ctx is done first, it returns ctx.Err(), and the gate goes on draining; if Close is
// called first, firq.ErrClosed.
func (g *Gate[K]) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	failpoint.At("shutdown")
	g.word.Or(uint64(closedBit))
	g.recall()
	g.ended(g.load())
	select {
	case <-g.idle:
	case <-g.killed:
	case <-ctx.Done():
	}
	select {
	case <-g.killed:
		return firq.ErrClosed
	default:
	}
	select {
	case <-g.idle:
		return nil
	default:
		return ctx.Err()
	}
}

// Close refuses new calls of Acquire with firq.ErrClosed, and so ends those that
// wait. Permits that are out stay valid until they are released. A second call,
// or one after a Shutdown that came to its end, does nothing. It returns nil.
func (g *Gate[K]) Close() error {
	failpoint.At("close")
	if word(g.word.Or(uint64(closedBit))).idle() {
		return nil
	}
	g.killOnce.Do(func() { close(g.killed) })
	g.ended(g.load())
	err := g.s.Close() // ends the queued calls; refuses the announced ones
	g.recall()
	failpoint.Lock(&g.mu, "close next")
	if g.next != nil {
		g.unseat().end <- closed
	}
	g.mu.Unlock()
	return err
}

// ended tells Shutdown if w is the end.
func (g *Gate[K]) ended(w word) {
	if w.idle() {
		g.idleOnce.Do(func() { close(g.idle) })
	}
}

// Stats is a snapshot of a gate.
type Stats[K comparable] struct {
	Limit   int // slots, as set last
	InUse   int // slots taken
	Waiting int // calls that wait, or are about to; those aside included
	Aside   int // calls that ask for more slots than the limit

	// Immediate counts the permits that were given out without queueing. At rest,
	// Immediate + Queue.Dequeued - Forgone is the number of all permits ever given out,
	// including those that came too late (for the context, or the Deadline) and went
	// back.
	Immediate uint64
	// Forgone counts the calls whose turn came and went without a permit: they left
	// while too few slots were free for them, or the limit fell below their weight.
	Forgone uint64
	// TimedOut counts the calls that ended with firq.ErrTimeout.
	TimedOut uint64
	// Queue is about the calls that had to queue. A call that gave up (its context
	// ended, or its Deadline passed) is Cancelled there; Expired counts the calls whose
	// passed Deadline was first noticed by a call of Release.
	Queue firq.Stats[K]
}

// Stats returns a snapshot; while calls are in progress its fields need not be
// from the same instant.
func (g *Gate[K]) Stats() Stats[K] {
	w, aside, q := g.load(), int(g.aside.n.Load()), g.s.Stats()
	all, tenant := g.aside.full.all.Load(), g.aside.full.tenant.Load()
	q.RejectedGlobal += all
	q.RejectedTenant += tenant
	q.Dropped += all + tenant
	return Stats[K]{
		Limit:     w.limit(),
		InUse:     w.inUse(),
		Waiting:   w.waiting() + aside,
		Aside:     aside,
		Immediate: uint64(g.immediate.Value()),
		Forgone:   g.forgone.Load(),
		TimedOut:  g.timedOut.Load(),
		Queue:     q,
	}
}

var errNilContext = fmt.Errorf("%w: ctx is nil", firq.ErrInvalidArgument)
