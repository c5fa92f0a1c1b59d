package ringlane

import (
	"runtime"
	"sync/atomic"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// lane is where producers write plain tasks of a busy tenant: each is written once, and read there
// when it is delivered. It is open only while the tenant has a queued task, so a consumer comes by,
// and nobody has to be notified.
//
// A ticket is drawn, with a place, by one CAS on the tenant's word, which fails once the lane is
// closed; it is closed by a CAS that fails if a ticket is out. So a closed lane is empty, and no
// producer is at it. While it is open, its tenant's tasks are all plain, and none is drawn for the
// ring.
type lane[T any] struct {
	next  *lane[T] // in shard.lanes
	head  uint32   // of the tenant that had it last: marks of older tickets are in its slots
	slots [laneSize]drr.Slot[T]
}

const (
	laneSize  = 128
	freeEvery = laneSize / 4 // slots that are freed at a time
	laneTries = 64           // how often a producer yields that finds the lane full
)

// lanesFor returns how many tenants of a shard have a lane at most, for payloads of some bytes: a
// lane takes as much memory as 128 tasks.
func lanesFor(payload int) int {
	if payload > 256 {
		return 0
	}
	return min(1024, 1<<24/(laneSize*(payload+16)))
}

func markOf(ticket uint32) uint32 { return ticket | 1<<31 }

func (l *lane[T]) at(ticket uint32) *drr.Slot[T] { return &l.slots[ticket%laneSize] }

// written waits until the producer of a ticket, which is pinned, has written its slot.
func (l *lane[T]) written(ticket uint32) *drr.Slot[T] {
	s := l.at(ticket)
	for i := 0; atomic.LoadUint32(&s.Mark) != markOf(ticket); i++ { // pairs with the Store in put
		spin(i, "lane mark")
	}
	return s
}

// outcome is that of put.
type outcome int

const (
	put      outcome = iota
	laneFull         // the holder has all slots
	notHere          // the lane is closed, or there is no room or no credit: ask under the lock
)

// enterLane writes a plain task into the tenant's lane. While it is full, and another processor is at
// the shard and will soon empty it, the producer yields.
func (t *tenant[K, T]) enterLane(task *firq.Task[T], now int64) bool {
	for tries := 0; ; tries++ {
		switch t.put(task, now) {
		case put:
			t.shard.published()
			return true
		case notHere:
			return false
		}
		if s := t.shard.s; tries == laneTries || !t.shard.affinity.elsewhere(cpu.Hint(), s.shared.Clock.Now()) {
			return false
		}
		runtime.Gosched()
	}
}

// put is enterLane that does not wait. Between the ticket and the mark the goroutine is pinned:
// nothing in there may block or yield.
func (t *tenant[K, T]) put(task *firq.Task[T], now int64) outcome {
	s := t.shard.s
	hint := cpu.Pin()
	if s.credit.OwnEmpty(hint) {
		s.credit.Bring(hint)
	}
	var w word
	for {
		w = t.load()
		if !w.open() || !w.free() || s.credit.OwnEmpty(hint) {
			cpu.Unpin()
			return notHere
		}
		if between(t.seen.Load(), w.tail()) >= laneSize {
			freed := t.freed.Load() // pairs with the Stores of freed: the slots before it are empty
			if between(freed, w.tail()) >= laneSize {
				cpu.Unpin()
				return laneFull
			}
			t.seen.Store(freed)
		}
		failpoint.At("lane ticket")
		if t.cas(w, w.ticket()) { // pairs with the CAS of closeLane; from here on the holder waits for the mark
			break
		}
	}
	slot := t.lane.Load().at(w.tail()) // this producer's until the mark
	failpoint.At("lane credit")
	ok := s.credit.TakeOwn(hint, 1) == 1
	failpoint.At("lane state")
	if ok && s.life.State() != serve.Open { // after the credit: see takeCredit
		s.credit.GiveAt(hint, 1)
		ok = false
	}
	if ok {
		slot.Cost, slot.Enqueued, slot.Payload = uint32(max(task.Cost, 1)), now, task.Payload
	} else {
		slot.Cost = 0 // void
	}
	failpoint.At("lane mark")
	atomic.StoreUint32(&slot.Mark, markOf(w.tail())) // the holder's now
	cpu.Unpin()
	if ok {
		return put
	}
	t.giveBack()
	if s.life.State() == serve.Draining {
		s.drainCheck()
	}
	return notHere
}

// What follows is done under the lock.

// openIfBusy gives a tenant a lane that has two queued tasks, and only plain ones since it was empty.
func (sh *shard[K, T]) openIfBusy(t *tenant[K, T]) {
	if t.Len() < 2 || t.mixed || len(sh.open) >= sh.s.lanes || t.laned || !sh.Queue.Lends(&t.Tenant.Tenant) {
		return
	}
	l := sh.lanes
	if l == nil {
		l = new(lane[T])
	} else {
		sh.lanes, l.next = l.next, nil
	}
	t.head = l.head
	t.freed.Store(t.head)
	t.seen.Store(t.head)
	t.lane.Store(l)
	t.laned = true
	t.place = int32(len(sh.open))
	sh.open = append(sh.open, t)
	for {
		w := t.load()
		failpoint.At("lane open")
		if t.cas(w, w.opened(t.head)) { // producers may use the lane from here on
			return
		}
	}
}

// closeLane closes the lane, unless a ticket is out that the engine does not have.
func (sh *shard[K, T]) closeLane(t *tenant[K, T]) bool {
	for {
		w := t.load()
		if w.tail() != t.head {
			return false
		}
		failpoint.At("lane close")
		if t.cas(w, w&^openBit) { // the lane is the holder's, and so are its slots
			break
		}
	}
	sh.Queue.Spill(&t.Tenant.Tenant)
	l := t.lane.Load()
	t.lane.Store(nil)
	t.laned = false
	l.head, l.next, sh.lanes = t.head, sh.lanes, l
	last := len(sh.open) - 1
	moved := sh.open[last]
	sh.open[t.place], moved.place = moved, t.place
	sh.open[last] = nil
	sh.open = sh.open[:last]
	return true
}

// fetch gives the engine what the lane holds. The order matters: the lane's tail is read before
// the ring is taken in, so that what a goroutine has sent by the ring goes before what it sent by
// the lane after that.
func (sh *shard[K, T]) fetch(t *tenant[K, T]) {
	failpoint.At("fetch")
	end := t.load().tail()
	sh.takeIn()
	l := t.lane.Load()
	if l == nil || end == t.head {
		return // closed by takeIn
	}
	n, void := between(t.head, end), 0
	for at := t.head; at != end; at = after(at) {
		if l.written(at).Cost == 0 {
			void++
		}
	}
	dt := &t.Tenant.Tenant
	if void == 0 && n+t.Lent() <= laneSize/2 {
		sh.Queue.Lend(dt, l.slots[:], int(t.head%laneSize), n) // they are served in place
		t.head = end
	} else { // producers get their slots back
		sh.Queue.Spill(dt)
		for at := t.head; at != end; at = after(at) {
			if slot := l.at(at); slot.Cost > 0 {
				var zero T
				sh.Queue.PushPlain(dt, &slot.Payload, int64(slot.Cost), slot.Enqueued)
				slot.Payload = zero // keep nothing alive
			}
		}
		t.head = end
		t.freed.Store(end)
	}
	sh.Pushed(&t.Tenant, n-void)
}

// fetchLanes fetches what all lanes hold.
func (sh *shard[K, T]) fetchLanes() {
	for i := len(sh.open) - 1; i >= 0; i-- {
		if i < len(sh.open) { // else some were closed
			sh.fetch(sh.open[i])
		}
	}
}

// shut fetches what the lane holds, and closes it.
func (sh *shard[K, T]) shut(t *tenant[K, T]) {
	for t.laned {
		sh.fetch(t)
		if t.laned {
			sh.closeLane(t)
		}
	}
}

// delivered comes after a delivery: the place is free, and if the tenant has a lane, its slots
// may be.
func (sh *shard[K, T]) delivered(t *tenant[K, T]) {
	t.free()
	if !t.laned {
		return
	}
	if lent := t.Lent(); lent%freeEvery == 0 { // few cache lines move
		t.freed.Store((t.head - uint32(lent)) & ticketMask) // pairs with the Load in put
	}
	if t.Len() == 0 {
		sh.ranDry(t)
	}
}

// ranDry fetches what the lane of a tenant without a queued task holds; if that is nothing, it
// closes the lane.
func (sh *shard[K, T]) ranDry(t *tenant[K, T]) {
	for t.Len() == 0 && t.laned {
		if sh.fetch(t); t.Len() == 0 && t.laned {
			sh.closeLane(t)
		}
	}
}
