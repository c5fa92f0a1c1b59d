package gate

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/internal/pad"
	"github.com/firq-go/firq/lockfree"
)

// ErrEvicted is what a waiter gets that made way for another one of its tenant
// (Config.Policy). It matches firq.ErrRejected.
var ErrEvicted = fmt.Errorf("%w: another waiter of the tenant took the place (Policy)", firq.ErrRejected)

// Gate is a fair semaphore for many tenants. Make it with New or Open; it must
// not be copied. All methods are safe for concurrent use.
//
// A call of Acquire is in one of these states:
//
//	decide ──┬─> holds a permit ──> released
//	         ├─> refused (closed)
//	         └─> announced ──┬─> queued ──┬─> granted ──> holds a permit
//	                         └─> refused  └─> gave up, expired, evicted, closed
//
// waiting, in word, counts those who are announced or queued. A free slot and a
// waiter who may have it always find each other:
//
//	who makes a waiter deliverable      who finds none (pump)
//	[W1] Enqueue, or Item.Done          [P1] take a free slot; leave if there is none
//	[W2] arrivals++                     [P2] seen = arrivals
//	[W3] pump                           [P3] TryDequeue: nothing
//	                                    [P4] give the slot back
//	                                    [P5] arrivals != seen? then again
//
// While a pump holds the slot between P1 and P4, somebody who arrives sees no free
// slot at W3 and goes to sleep. Then W3 comes before P4, so W2 before P5, and the
// pump sees the arrival, unless P2 came after W2; but then P3 comes after W1 and
// sees the waiter. A slot that comes free otherwise is seen the same way: who
// releases, or raises the limit, changes word and then looks at waiting in the
// very word that the change returned; who comes to wait announces itself in a
// step that saw that word without a free slot.
type Gate[K comparable] struct {
	// Immutable after Open.
	s         firq.Scheduler[K, *holder[K]]
	queueAll  bool // every permit goes through the queue: MaxInFlightPerTenant
	maxAge    time.Duration
	holders   sync.Pool      // *holder[K]
	immediate *xsync.Counter // permits that were given without waiting
	idle      chan struct{}  // closed once word.idle()
	killed    chan struct{}  // closed by Close

	_        pad.Pad
	word     atomic.Uint64 // a word; written by everybody
	arrivals atomic.Uint64 // [W2]
	_        pad.Pad

	timedOut atomic.Uint64
	debts    debts[K]
	idleOnce sync.Once
	killOnce sync.Once
}

// New returns a gate that gives out at most limit permits at a time. A limit
// outside 1 to MaxSlots, or a config that makes no sense, panics; see Open.
func New[K comparable](limit int, cfg Config[K]) *Gate[K] {
	g, err := Open(limit, cfg)
	if err != nil {
		panic(err.Error())
	}
	return g
}

// Open is New for limits and configs that come from outside the program: what
// makes no sense is an error that matches firq.ErrInvalidConfig and names the
// field.
func Open[K comparable](limit int, cfg Config[K]) (*Gate[K], error) {
	return open(limit, cfg, func(c firq.Config[K, *holder[K]]) (firq.Scheduler[K, *holder[K]], error) {
		return lockfree.New(c)
	})
}

// open is Open over a scheduler that build makes.
func open[K comparable](limit int, cfg Config[K], build func(firq.Config[K, *holder[K]]) (firq.Scheduler[K, *holder[K]], error)) (*Gate[K], error) {
	if limit < 1 || limit > MaxSlots {
		return nil, fmt.Errorf("%w: limit: %d, must be 1 to %d", firq.ErrInvalidConfig, limit, MaxSlots)
	}
	g := &Gate[K]{
		queueAll:  cfg.MaxInFlightPerTenant != 0,
		maxAge:    cfg.MaxQueueAge,
		immediate: xsync.NewCounter(),
		idle:      make(chan struct{}),
		killed:    make(chan struct{}),
	}
	c, err := cfg.scheduler(g.dropped)
	if err != nil {
		return nil, err
	}
	if g.s, err = build(c); err != nil {
		return nil, err
	}
	g.holders.New = func() any { return &holder[K]{gate: g, end: make(chan end, 1)} }
	g.debts.init(c.TenantIdle)
	g.word.Store(uint64(word(0).withLimit(limit)))
	return g, nil
}

// Limit returns how many permits may be out.
func (g *Gate[K]) Limit() int { return g.load().limit() }

// InUse returns how many permits are out, a slot that is just being handed over
// included. At most Limit, unless SetLimit lowered it below what was out.
func (g *Gate[K]) InUse() int { return g.load().inUse() }

// Waiting returns how many calls of Acquire wait, or are about to.
func (g *Gate[K]) Waiting() int { return g.load().waiting() }

func (g *Gate[K]) load() word { return word(g.word.Load()) }

// SetLimit changes the limit to n, 0 to MaxSlots (anything else panics). When it
// rises, those who wait are let in; when it falls, permits that are out stay
// valid, and none is given out until fewer than n are. With 0 nobody is let in.
func (g *Gate[K]) SetLimit(n int) {
	if n < 0 || n > MaxSlots {
		panic(fmt.Sprintf("firq: gate: limit: %d, must be 0 to %d", n, MaxSlots))
	}
	for {
		w := g.load()
		failpoint.At("set limit")
		if g.word.CompareAndSwap(uint64(w), uint64(w.withLimit(n))) {
			break
		}
	}
	g.pump()
}

// SetQuantum overrides the tenant's quantum from its next turn on, known tenant
// or not, until ResetQuantum. Below 1 counts as 1.
func (g *Gate[K]) SetQuantum(tenant K, quantum int64) { g.s.SetQuantum(tenant, quantum) }

// ResetQuantum gives the tenant back the quantum that Config says.
func (g *Gate[K]) ResetQuantum(tenant K) { g.s.ResetQuantum(tenant) }

// Shutdown refuses new calls of Acquire with firq.ErrClosed, and returns nil once
// everybody who waited has been served, or has given up, and every permit is
// back. When ctx is done first it returns ctx.Err(), and the gate goes on
// draining; when Close comes first, firq.ErrClosed.
func (g *Gate[K]) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	failpoint.At("shutdown")
	g.word.Or(uint64(closedBit))
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
	return g.s.Close() // ends those who are queued; refuses those who are announced
}

// ended tells Shutdown if w is the end.
func (g *Gate[K]) ended(w word) {
	if w.idle() {
		g.idleOnce.Do(func() { close(g.idle) })
	}
}

// Stats is a snapshot of a gate.
type Stats[K comparable] struct {
	Limit   int // as set last
	InUse   int // permits out
	Waiting int // calls that wait, or are about to

	// Immediate counts the permits that were given out without queueing. At rest,
	// Immediate + Queue.Dequeued is the number of all permits ever given out, those
	// included that came too late (for the context, or the Deadline) and went back.
	Immediate uint64
	// TimedOut counts the calls that ended with firq.ErrTimeout.
	TimedOut uint64
	// Queue is about the calls that had to queue. Who gave up (its context ended,
	// or its Deadline passed) is Cancelled there; Expired are those whose Deadline a
	// releaser was the first to notice.
	Queue firq.Stats[K]
}

// Stats returns a snapshot; while calls are in progress its fields need not be
// from the same instant.
func (g *Gate[K]) Stats() Stats[K] {
	w := g.load()
	return Stats[K]{
		Limit:     w.limit(),
		InUse:     w.inUse(),
		Waiting:   w.waiting(),
		Immediate: uint64(g.immediate.Value()),
		TimedOut:  g.timedOut.Load(),
		Queue:     g.s.Stats(),
	}
}

var errNilContext = fmt.Errorf("%w: ctx is nil", firq.ErrInvalidArgument)
