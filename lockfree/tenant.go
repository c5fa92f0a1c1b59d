package lockfree

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// tenant is one tenant. Producers write the word; the rest belongs to the holder of the shard's
// lock.
//
// Where its places are:
//
//	room in the word + owed + of calls in progress + of queued tasks = limit
//
// Queued are tasks in the ring, the lane and the engine. What comes free is owed first, which takes
// no atomic step: the word never says more room than there is. A producer that finds no room takes
// the lock, under which the truth is known.
type tenant[K comparable, T any] struct {
	// Producers write this cache line, or wait for it: the holder looks at it only when it takes
	// something from producers, or has something for them.
	word      atomic.Uint64           // see type word
	lane      atomic.Pointer[lane[T]] // nil unless open
	shard     *shard[K, T]            // immutable
	freed     atomic.Uint32           // slots of the lane before this ticket belong to producers; written by the holder
	head      uint32                  // tickets of the lane before this one are the engine's
	limit     int32                   // tasks queued
	laneIndex int32                   // in shard.withLane
	_         [24]byte

	// The holder alone.
	owed     int32  // places that came free, and that the word does not say
	payAbove uint16 // the word says them when they are more than these
	laned    laned  // whether the tenant has a lane
	mixed    bool   // it has had a task that is not plain since it was empty
	serve.Tenant[K, T]
}

// laned says whether a tenant has a lane. The pointer to it would say so, too, but is on the
// producers' cache line.
type laned uint8

const (
	noLane  laned = iota
	hasLane       // open, and all slots that the engine has served are freed
	lends         // open, and the engine has some of its slots
)

// ownerOf returns the tenant that dt is a part of.
func ownerOf[K comparable, T any](dt *drr.Tenant[K, T]) *tenant[K, T] {
	var t *tenant[K, T] // only for the offset
	return (*tenant[K, T])(unsafe.Add(unsafe.Pointer(serve.TenantOf(dt)), -int(unsafe.Offsetof(t.Tenant))))
}

func (s *Scheduler[K, T]) newTenant(sh *shard[K, T], k K, conf *serve.TenantConfig) *tenant[K, T] {
	t := &tenant[K, T]{shard: sh, limit: int32(s.shared.Limit(k, conf.PerTenant))}
	t.word.Store(uint64(word(0).put(int(t.limit))))
	t.payAbove = t.mayOwe()
	t.Init(k, s.shared.Override(k, conf.Quantum))
	t.Ticket.Canceler = t
	return t
}

func (t *tenant[K, T]) load() word { return word(t.word.Load()) }
func (t *tenant[K, T]) cas(from, to word) bool {
	return t.word.CompareAndSwap(uint64(from), uint64(to))
}

// takePlaces takes up to n places under the lock, and returns how many: those that are owed, and of the word.
func (t *tenant[K, T]) takePlaces(n int) int {
	// Those that are owed first: they are the holder's, so to take them needs no atomic step. Where tasks come
	// and go one at a time the word is not touched at all.
	if n <= int(t.owed) {
		t.owed -= int32(n)
		return n
	}
	return t.takeOfWord(n)
}

// takeOfWord takes up to n places, of which fewer are owed.
func (t *tenant[K, T]) takeOfWord(n int) (got int) {
	got, t.owed = int(t.owed), 0
	for got < n {
		w := t.load()
		failpoint.At("place locked")
		if !w.hasRoom() {
			break
		}
		// Before: any call may take the places. After: they are this call's, until it queues tasks for them or
		// frees them. It fails if a producer has taken some in between (takeClosed, drawTickets).
		if take := min(n-got, w.room()); t.cas(w, w.take(take)) {
			got += take
		}
	}
	return got
}

// takeLocked takes a place under the lock. If it says firq.ErrTenantFull, tasks have all places at that
// moment, and the word says so from now on until one comes free: producers are refused without the lock.
// If it says errUnsure, calls in progress have some.
func (t *tenant[K, T]) takeLocked() error {
	for t.takePlaces(1) == 0 {
		w := t.load()
		failpoint.At("full")
		switch {
		case w.hasRoom(): // a place was given back in between: once more
		case int(t.limit)-w.room() > t.Len():
			return errUnsure
		case w.full():
			return firq.ErrTenantFull
		default:
			t.shard.publishDue() // first: see surelyFull
			// Before: a producer that finds no room asks here. After: it is refused without the lock
			// (surelyFull), until pay clears the bit. It fails if a producer has given a place back since
			// the word was looked at: then there may be room. payAbove is 0 from here on, so that the first
			// place that comes free is paid, and clears it.
			if t.cas(w, w|fullBit) {
				t.payAbove = 0
				return firq.ErrTenantFull
			}
		}
	}
	return nil
}

// freePlaces frees the places of n tasks that have left. Under the lock. The word says it as soon as a
// quarter of the limit is owed; and immediately if a producer was refused, or it has less than no
// room, after SetLimit down: then nothing is owed.
func (t *tenant[K, T]) freePlaces(n int) {
	if t.owed += int32(n); t.owed > int32(t.payAbove) {
		t.pay()
	}
}

// mayOwe is what payAbove is, unless nothing may be owed.
func (t *tenant[K, T]) mayOwe() uint16 { return uint16(min(t.limit/4, math.MaxUint16)) }

// pay lets the word say what is owed.
func (t *tenant[K, T]) pay() {
	for {
		w := t.load()
		failpoint.At("pay")
		// Before: the places are owed, and the holder's alone. After: any call may take them, and producers
		// are not refused for the full bit any more. Pairs with the Loads of takeClosed, drawTickets and
		// surelyFull. It fails, and is tried again, if a producer has changed the word.
		if next := w.put(int(t.owed)) &^ fullBit; t.cas(w, next) {
			t.owed, t.payAbove = 0, 0
			if next.room() >= 0 {
				t.payAbove = t.mayOwe()
			}
			return
		}
	}
}

// giveBack gives back places that no task has got. Any goroutine may call it.
func (t *tenant[K, T]) giveBack(n int) {
	failpoint.At("give back")
	// Before: the places are this call's. After: any call may take them. The Add needs no loop: it changes
	// only the room, which has its sign at the top, so no carry reaches bits that another call's CAS changes. No producer
	// waits for them: one that finds places in the hands of calls is not sure (takeLocked), and looks again.
	t.word.Add(uint64(n) * uint64(oneRoom))
}

// setLimit changes how many tasks the tenant may have, and returns by how much that has risen.
func (t *tenant[K, T]) setLimit(n int) (risen int) {
	risen = n - int(t.limit)
	t.limit = int32(n)
	// Lowered, the word's room is below 0 until enough tasks have left: no call gets a place, and the tasks that
	// have one keep it.
	t.owed += int32(risen) // may be below 0 for this moment
	t.pay()
	return risen
}

// forget is SweepSome's callback for idle tenants. A producer that holds a dead tenant, or is about to
// take a place, looks it up again.
func (sh *shard[K, T]) forget(st *serve.Tenant[K, T]) bool {
	t := ownerOf(&st.Tenant)
	w := t.load()
	failpoint.At("forget")
	// Before: producers that have found it in the map, or in a handle, may take places. After: none can,
	// as hasRoom says no, for good. It fails if one has taken a place since the word was looked at. All
	// places are home here: no call in progress has one.
	if t.Len() > 0 || t.laned != noLane || w.room()+int(t.owed) != int(t.limit) || !t.cas(w, w|deadBit) {
		return false
	}
	sh.s.tenants.Delete(t.Key) // after the bit: a producer finds it dead, or finds none
	if sh.s.shared.Config.MaxTenants > 0 {
		sh.s.known.Add(-1)
	}
	return true
}

// sweep goes on with forgetting tenants that have been idle for long, if that is due.
// The caller holds no lock.
func (s *Scheduler[K, T]) sweep(now int64) {
	if !s.shared.SweepDue(now) {
		return
	}
	s.shared.Sweep(now, func(i int, start bool) (looked, more bool) {
		sh := s.shards[i]
		if !sh.try() { // a call on its way does not wait for that: a later one sweeps
			return false, false
		}
		sh.begin()
		more = sh.SweepSome(now, start, serve.SweepStep, sh.forget)
		sh.unlock()
		return true, more
	})
}

// sweepAll forgets idle tenants everywhere, if that is due, and reports whether it found any.
func (s *Scheduler[K, T]) sweepAll() bool {
	if !s.shared.SweepAllDue() {
		return false
	}
	before := s.known.Load()
	for _, sh := range s.shards {
		sh.sweepAll()
	}
	return s.known.Load() < before
}

// sweepAll forgets the shard's idle tenants, a thousand at each hold of the lock.
func (sh *shard[K, T]) sweepAll() {
	now := sh.s.shared.Clock.Now()
	for start, more := true, true; more; start = false {
		sh.lock()
		more = sh.SweepSome(now, start, 1024, sh.forget)
		sh.unlock()
	}
}

// roomForTenant forgets the longest idle tenant of some shard, so that a new one can
// have its place, and reports whether it is worth trying again.
func (s *Scheduler[K, T]) roomForTenant() bool {
	return s.shared.MakeRoomForTenant(&s.known, func(i int) bool {
		sh := s.shards[i]
		sh.lock()
		defer sh.unlock()
		return sh.ForgetLongest(sh.forget)
	})
}

// SettleDone implements firq.Settler.
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

// SettleFlow implements firq.FlowSettler. If the tenant was forgotten in between and is
// back, it is charged as it is now.
func (t *tenant[K, T]) SettleFlow(token, flow uint64, delta int64) {
	sh := t.shard
	sh.lock()
	// Under the lock: the tenant that the map has now stays in it until unlock (forget).
	if t, _ = sh.s.tenants.Load(t.Key); t != nil {
		sh.Charge(&t.Tenant, token, flow, delta)
	}
	sh.unlock()
}

// CancelTicket takes a task of this tenant out of the queue.
func (t *tenant[K, T]) CancelTicket(tk *firq.Ticket) bool {
	sh := t.shard
	sh.lock()
	failpoint.At("cancel")
	ok := sh.Cancel(&t.Tenant, tk)
	if ok {
		sh.giveUp(t)
	}
	sh.unlock()
	sh.s.sweep(sh.s.shared.Clock.Now())
	return ok
}
