package lockfree

import (
	"sync/atomic"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/inbox"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// A tenant's word: everything that a producer has to agree on, in one CAS.
//
//	tail (22) | used (9) | room (31) | dead (1) | polled (1)
//
// tail is the next ticket of the inbox, used how many of its slots are in use.
// room is how many tasks the tenant may still hold: the ticket's CAS takes one, so
// that ticket, slot and capacity are one step; the consumer that takes a task out gives them
// back. It is below 0 if the limit was set below what the tenant holds (see
// setLimit), so the field holds room + noRoom, of which the highest bit says that
// there is some. dead: the tenant was forgotten, look it up again; never cleared. polled: a
// producer need not announce its task, because a consumer will come by (see shard);
// set and cleared under the lease.
//
// What the holder of the lease changes, it collects and adds in one step, mostly
// once per visit (shard.owe, flush). A word may stay behind for longer after a task has
// passed by the inbox; see leaveBehind.
const (
	polledBit = 1 << 0
	deadBit   = 1 << 1
	roomUnit  = 1 << 2
	noRoom    = firq.MaxTasks
	roomBit   = (noRoom + 1) * roomUnit
	roomMask  = usedUnit - roomUnit
	usedUnit  = 2 * roomBit
	usedMask  = tailUnit - usedUnit
	tailUnit  = 1 << (64 - ring.TicketBits)
)

// tailOf and usedIn take a word apart.
func tailOf(word uint64) uint32 { return uint32(word / tailUnit) }
func usedIn(word uint64) uint32 { return uint32(word & usedMask / usedUnit) }

// roomIn returns how many tasks the tenant may still hold.
func roomIn(word uint64) int { return int(word&roomMask/roomUnit) - noRoom }

// tenant is one tenant. Producers write the first cache line and the inbox's
// slots; the rest belongs to the lease of its shard. With keys of two words it takes
// four cache lines, and a task that comes and goes touches three of them.
type tenant[K comparable, T any] struct {
	word atomic.Uint64
	// inbox is replaced while no slot is in use; see resize. A producer with a ticket loads
	// it after that.
	inbox atomic.Pointer[inbox.Inbox[T]]
	// quantum is what the tenant will have when it becomes active; the producer
	// that may make it so stores it before it announces.
	quantum atomic.Int64
	// boxDue is before every deadline in the inbox; see deadline.
	boxDue atomic.Int64
	shard  *shard[K, T] // immutable
	// direct is counted up when a call begins to take a place without a ticket,
	// and when that is over; see shard.put. Written under the lease.
	direct atomic.Uint32
	// wants is eagerBit, and to the in-flight limit what quantum is to the quantum.
	wants atomic.Uint32
	// These change when the word does, and belong to the lease.
	polled     bool // the bit in word; then it is in shard.polled, at place at
	emptied    bool // in shard.emptied
	registered bool // in the shard's ring of tenants
	behind     bool // the word is behind; then at says by how many places, and it is not polled
	at         int32
	// limit is how many tasks the tenant may hold; written under the lease.
	limit limit

	taker inbox.Taker
	serve.Tenant[K, T]
}

// ownerOf returns the tenant that dt is a part of.
func ownerOf[K comparable, T any](dt *drr.Tenant[K, T]) *tenant[K, T] {
	var t *tenant[K, T] // only for the offset
	return (*tenant[K, T])(unsafe.Add(unsafe.Pointer(serve.TenantOf(dt)), -int(unsafe.Offsetof(t.Tenant))))
}

// newTenant returns a tenant of whom the config says so much.
func newTenant[K comparable, T any](sh *shard[K, T], k K, conf *serve.TenantConfig) *tenant[K, T] {
	t := &tenant[K, T]{shard: sh}
	t.limit.set(sh.s.shared.Limit(k, conf.PerTenant))
	t.word.Store(uint64(t.limit.get()+noRoom)*roomUnit + uint64(sh.s.firstTicket)*tailUnit) // cut off by the wrap
	t.boxDue.Store(clock.Never)
	t.inbox.Store(inbox.New[T](sh.s.firstBox, sh.s.firstTicket))
	t.taker.Init(sh.s.firstTicket)
	t.quantum.Store(conf.Quantum)
	t.wants.Store(uint32(conf.InFlight))
	t.Init(k, conf.Quantum)
	t.Ticket.Canceler = t
	return t
}

// held returns how many tasks the tenant holds by its word. Under the lease, or the
// limit may be another one by now; else see holds.
func (t *tenant[K, T]) held(word uint64) int { return t.limit.get() - roomIn(word) }

// eagerBit in tenant.wants: some task had another priority, or a flow, so that each
// visit has to look at all of them. Set by producers, never cleared.
const eagerBit = 1 << 31

func (t *tenant[K, T]) eager() bool { return t.wants.Load()&eagerBit != 0 }

// inFlight returns the limit that the tenant will have when it becomes active.
func (t *tenant[K, T]) inFlight() int { return int(t.wants.Load() &^ eagerBit) }

// setInFlight notes what inFlight returns.
func (t *tenant[K, T]) setInFlight(n int) {
	for {
		w := t.wants.Load()
		if t.wants.CompareAndSwap(w, w&eagerBit|uint32(n)) {
			return
		}
	}
}

// setEager notes that the tenant has had a task that does not just go behind those
// before it.
func (t *tenant[K, T]) setEager() {
	if s := t.shard.s; !s.eager.Load() {
		s.eager.Store(true)
	}
	if !t.eager() {
		t.wants.Or(eagerBit)
	}
}

// deadline makes boxDue, the tenant's and the shard's, at most due. The producer
// calls it before it publishes the task, and again after it has announced it: the
// lease holder resets boxDue and then drains, so if it drained without seeing the
// task, or the activation, the second call finds the reset.
func (t *tenant[K, T]) deadline(due int64) {
	lower(&t.boxDue, due)
	lower(&t.shard.boxDue, due)
}

// lower makes v at most due.
func lower(v *atomic.Int64, due int64) {
	for {
		old := v.Load()
		if old <= due {
			return
		}
		failpoint.At("lower")
		if v.CompareAndSwap(old, due) {
			return
		}
	}
}

// SettleDone implements firq.Settler. It takes the lease.
func (t *tenant[K, T]) SettleDone(token uint64) {
	sh := t.shard
	if !sh.s.shared.Flights {
		return
	}
	sh.lock()
	now := sh.s.shared.Clock.Now()
	sh.Done(&t.Tenant, token, now)
	sh.unlock()
	sh.s.sweep(now)
}

// SettleCharge implements firq.Settler.
func (t *tenant[K, T]) SettleCharge(token uint64, delta int64) { t.SettleFlow(token, 0, delta) }

// SettleFlow implements firq.FlowSettler. It takes the lease. If the tenant was
// forgotten in between and is back, it is charged as it is now.
func (t *tenant[K, T]) SettleFlow(token, flow uint64, delta int64) {
	sh := t.shard
	sh.lock()
	if t.word.Load()&deadBit != 0 {
		t, _ = sh.s.tenants.Load(t.Key)
	}
	if t != nil {
		sh.drainFront(t) // to a flow with a task a credit is given, and to one without none
		sh.Charge(&t.Tenant, token, flow, delta)
	}
	sh.unlock()
}
