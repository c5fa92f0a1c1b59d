package lockfree

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/clock"
	"github.com/firq-go/firq/internal/serve"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// A tenant's word: everything that a producer has to agree on, in one CAS.
//
//	tail (27) | used (5) | room (30) | dead (1) | quiet (1)
//
// tail is the next ticket of the inbox, used how many of its slots are in use.
// room is how many tasks the tenant may still hold: the ticket's CAS takes one, so
// that ticket, slot and capacity are one step; who takes a task out gives them
// back. dead: the tenant was forgotten, look it up again; never cleared. quiet: a
// producer need not announce its task, because somebody will come by (see shard);
// set and cleared under the lease.
//
// What the holder of the lease changes, it collects and adds in one step, mostly
// once per visit (shard.owe, flush).
const (
	quietBit = 1 << 0
	deadBit  = 1 << 1
	roomUnit = 1 << 2
	roomMask = 1<<32 - roomUnit
	usedUnit = 1 << 32
	usedMask = tailUnit - usedUnit
	tailUnit = 1 << (64 - ring.TicketBits)
)

// tailOf and usedIn take a word apart.
func tailOf(word uint64) uint32 { return uint32(word / tailUnit) }
func usedIn(word uint64) uint32 { return uint32(word & usedMask / usedUnit) }

// inboxSize is the number of slots of a tenant's inbox, at most what fits into
// used. A producer that finds it full takes the lease and drains it, so the lease
// is taken at most once per so many tasks.
const inboxSize = 8

// ripeAt is how many slots have to be in use for a visit to drain the inbox of a
// tenant whose order does not depend on what is in there.
const ripeAt = inboxSize / 2

// tenant is one tenant. Producers write the first cache line and the inbox's
// slots; everything in serve.Tenant and below belongs to the lease of its shard.
// With keys of two words it takes five lines.
type tenant[K comparable, T any] struct {
	word  atomic.Uint64
	inbox ring.Slots[message[T]] // immutable; its slots are not
	// quantum is what the tenant will have when it becomes active; the producer
	// that may make it so stores it before it announces.
	quantum atomic.Int64
	// boxDue is before every deadline in the inbox; see deadline.
	boxDue atomic.Int64
	shard  *shard[K, T] // immutable
	// direct is counted up when somebody begins to take a place without a ticket,
	// and when that is over; see shard.put. Written under the lease.
	direct atomic.Uint32
	// eager: some task had a priority of its own, so that each visit has to look
	// at all of them. Set by producers, never cleared.
	eager atomic.Bool

	serve.Tenant[K, T]
	taker   ring.Taker // of the inbox
	quietAt int32
	ripe    bool // ripeAt was reached when the word was last seen
	quiet   bool // the bit in word; then it is in shard.quiet, at quietAt
	emptied bool // in shard.emptied
	known   bool // in the shard's ring of tenants
}

func newTenant[K comparable, T any](sh *shard[K, T], k K) *tenant[K, T] {
	cfg := &sh.s.env.Config
	t := &tenant[K, T]{shard: sh}
	t.word.Store(uint64(cfg.MaxPerTenant)*roomUnit + uint64(sh.s.firstTicket)*tailUnit) // cut off by the wrap
	t.boxDue.Store(clock.Never)
	t.inbox.Init(inboxSize, sh.s.firstTicket)
	t.taker.Init(sh.s.firstTicket)
	t.quantum.Store(cfg.Quantum)
	t.Init(k, cfg.Quantum)
	t.Owner = t
	t.Ticket.Canceler = t
	return t
}

// held returns how many tasks the tenant holds by its word.
func (t *tenant[K, T]) held(word uint64) int {
	return t.shard.s.env.Config.MaxPerTenant - int(word&roomMask/roomUnit)
}

// setEager notes that the tenant has had a task of a priority other than normal.
func (t *tenant[K, T]) setEager() {
	if !t.eager.Load() {
		t.eager.Store(true)
	}
}

// deadline makes boxDue, the tenant's and the shard's, at most due. The producer
// calls it before it publishes the task, and again after: the lease holder resets
// boxDue and then drains, so if it drained without seeing the task, the second
// call finds the reset.
func (t *tenant[K, T]) deadline(due int64) {
	lower(&t.boxDue, due)
	lower(&t.shard.boxDue, due)
}

// lower makes v at most due.
func lower(v *atomic.Int64, due int64) {
	for {
		old := v.Load()
		if old <= due || v.CompareAndSwap(old, due) {
			return
		}
	}
}

// SettleDone implements firq.Settler. It takes the lease.
func (t *tenant[K, T]) SettleDone(token uint64) {
	sh := t.shard
	if sh.s.env.Config.MaxInFlightPerTenant == 0 {
		return
	}
	sh.lock()
	sh.Done(&t.Tenant, token, sh.s.env.Clock.Now())
	sh.unlock()
}

// SettleCharge implements firq.Settler. It takes the lease.
func (t *tenant[K, T]) SettleCharge(token uint64, delta int64) {
	sh := t.shard
	sh.lock()
	sh.Charge(&t.Tenant, token, delta)
	sh.unlock()
}
