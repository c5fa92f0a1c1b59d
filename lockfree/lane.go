package lockfree

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
// when it is delivered. It is open only while the tenant has a queued task, so a consumer, or Close,
// comes by, and no consumer has to be woken.
//
// A ticket is drawn, with a place, by one CAS on the tenant's word, which fails once the lane is
// closed; it is closed by a CAS that fails if a ticket is out. So a closed lane is empty, and no
// producer is at it. While it is open, its tenant's tasks are all plain, and none is drawn for the
// ring.
type lane[T any] struct {
	next  *lane[T] // in shard.freeLanes
	slots [laneSize]drr.Slot[T]
}

const (
	laneSize  = 128
	inPlace   = laneSize / 2 // slots of which tasks are served without being copied; the others are for producers
	freeEvery = laneSize / 4 // slots that are freed at a time
	busy      = 2            // queued tasks of a tenant that gets a lane
	lookEvery = 16           // deliveries after which the holder looks whether the lane is half full
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

func (l *lane[T]) at(ticket uint32) *drr.Slot[T] { return &l.slots[ticket%laneSize] }

// written waits until the producer that has drawn tickets from one on, and is pinned, has written their
// slots, and returns how many they are.
func (l *lane[T]) written(ticket uint32) (n int) {
	s := l.at(ticket)
	for i := 0; ; i++ {
		// Before: the producer may be writing the slots. After: they are the holder's. Pairs with the Store in put.
		if n = int(atomic.LoadUint32(&s.Mark)); n > 0 {
			return n
		}
		spin(i, "lane mark")
	}
}

// enterLane writes plain tasks into the tenant's lane, as many as there is room for, and returns how
// many; or none, and firq.ErrGlobalFull, or nil: ask under the lock, as the lane is closed or there is
// no place. While the lane is full, and another processor is at the shard and will soon empty it, the
// producer yields.
func (t *tenant[K, T]) enterLane(ts []firq.Task[T], now int64) (n int, full error) {
	for tries := 0; ; tries++ {
		n, lack := t.put(ts, now)
		if lack == noLack || tries == laneTries {
			return n, nil
		}
		s, hint := t.shard.s, cpu.Hint()
		switch {
		case lack == ofCredits && (s.life.State() != serve.Open || !s.nothingExpired(now)):
			return 0, nil // the lock's holder says that it is closed, or makes room
		case lack == ofCredits && s.credit.NoneAt(hint): // after what expired: see surelyFull
			return 0, firq.ErrGlobalFull
		case lack == ofCredits:
			// A credit has come back in between: once more. The lock would not help, and at the scheduler's limit, where
			// every producer comes here, they would keep it from the consumers that make room.
		case t.shard.affinity.elsewhere(hint, s.shared.Clock.Now()):
			runtime.Gosched()
		default:
			return 0, nil
		}
	}
}

// lack says what an open lane's producer has to wait for.
type lack uint8

const (
	noLack    lack = iota
	ofSlots        // the holder has all of them
	ofCredits      // the own stripe has none
)

// put is enterLane that does not wait. Between the tickets and the mark the goroutine is pinned:
// nothing in there may block or yield.
func (t *tenant[K, T]) put(ts []firq.Task[T], now int64) (got int, lacks lack) {
	s := t.shard.s
	hint := cpu.Pin()
	// Credits come from the own stripe alone, as to look for one elsewhere may yield. Those that are
	// brought are the stripe's, not this call's: another one may take them first.
	if s.credit.Own(hint) == 0 {
		s.credit.Bring(hint)
	}
	w, n, lacks := t.drawTickets(len(ts), hint)
	if n == 0 {
		cpu.Unpin()
		return 0, lacks
	}
	lane := t.lane.Load() // the one that is open: it stays so while a ticket of this call has no mark
	failpoint.At("lane credit")
	got = s.credit.TakeOwn(hint, n)
	failpoint.At("lane state")
	if got > 0 && s.life.State() != serve.Open { // after the credit: see takeCredits
		s.credit.GiveAt(hint, got)
		got = 0
	}
	at := w.tail()
	for i := range n {
		slot := lane.at(at)
		if slot.Cost = 0; i < got { // else void
			slot.Cost, slot.Enqueued, slot.Payload = uint32(max(ts[i].Cost, 1)), now, ts[i].Payload
		}
		at = after(at)
	}
	failpoint.At("lane mark")
	// Before: the slots are this producer's, and the holder, if it has seen the tickets, waits. After: they
	// are the holder's, each with its task, place and credit; if it is void, with nothing. One mark for all,
	// as they were drawn in one step.
	atomic.StoreUint32(&lane.at(w.tail()).Mark, uint32(n))
	cpu.Unpin()
	if got < n {
		if got == 0 {
			lacks = ofCredits // another producer was first
		}
		t.giveBack(n - got)
		// The tenant has a queued task until its lane is closed, which waits for the marks: a Shutdown that had looked before
		// these credits went home looks again when that task leaves.
	}
	return got, lacks
}

// drawTickets draws up to n tickets, each with a place. It returns the word that it drew them from, and
// how many they are; or what an open lane with room in its word lacks.
func (t *tenant[K, T]) drawTickets(n, hint int) (word, int, lack) {
	for {
		w := t.load()
		credits := t.shard.s.credit.Own(hint)
		if !w.open() || !w.hasRoom() || n == 0 {
			return w, 0, noLack
		}
		if credits == 0 {
			return w, 0, ofCredits
		}
		failpoint.At("lane freed?")
		// Pairs with the Stores of freed: the slots before it are empty. It is on the word's cache line.
		room := laneSize - between(t.freed.Load(), w.tail())
		if room <= 0 {
			if t.load() != w {
				continue // freed is newer than the tail, and may be beyond it
			}
			return w, 0, ofSlots
		}
		n := min(n, room, w.room(), credits)
		failpoint.At("lane ticket")
		// Before: the lane is open, the slots are free, any call may take the places. After: slots and places are
		// this producer's, and a holder that reads the tail waits for the marks. One step for all three:
		// it fails if the lane was closed (closeLane), or another producer was first. If it was closed and
		// opened again in between, with the same word, all its slots are free: no fewer than were seen.
		if t.cas(w, w.tickets(n)) {
			return w, n, noLack
		}
	}
}

// What follows is done under the lock.

// openIfBusy gives a tenant a lane that has two queued tasks, and only plain ones since it was empty,
// while goroutines meet.
func (sh *shard[K, T]) openIfBusy(t *tenant[K, T], now int64) {
	if t.Len() < busy || t.mixed || t.laned != noLane || sh.contention.none(now) ||
		len(sh.withLane) >= sh.s.maxLanes || !sh.Queue.Lends(&t.Tenant.Tenant) {
		return
	}
	l := sh.freeLanes
	if l == nil {
		l = new(lane[T])
	} else {
		sh.freeLanes, l.next = l.next, nil
	}
	t.freed.Store(t.head) // tickets go on where the tenant's last lane stopped; a free lane has no marks
	t.lane.Store(l)
	t.laned = hasLane
	t.laneIndex = int32(len(sh.withLane))
	sh.withLane = append(sh.withLane, t)
	for {
		w := t.load()
		failpoint.At("lane open")
		// Before: the lane and its slots are the holder's. After: free slots are producers', from this tail
		// on; lane and freed, which they read next, are there already.
		if t.cas(w, w.opened(t.head)) {
			failpoint.At("lane opened")
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
		// Before: a producer may draw a ticket. After: none can, and none is out, as the tail that the word
		// has is the head; else it would have failed (drawTickets). So the lane is the holder's, empty.
		if t.cas(w, w&^openBit) {
			break
		}
	}
	sh.Queue.Spill(&t.Tenant.Tenant) // the engine copies what it was lent: the lane goes to another tenant
	l := t.lane.Load()
	t.lane.Store(nil)
	t.laned = noLane
	l.next, sh.freeLanes = sh.freeLanes, l
	last := len(sh.withLane) - 1
	moved := sh.withLane[last]
	sh.withLane[t.laneIndex], moved.laneIndex = moved, t.laneIndex
	sh.withLane[last] = nil
	sh.withLane = sh.withLane[:last]
	return true
}

// fetch gives the engine what the lane holds. The order matters: the lane's tail is read before
// the ring is taken in, so that what a goroutine has sent by the ring goes before what it sent by
// the lane after that.
func (sh *shard[K, T]) fetch(t *tenant[K, T]) { sh.fetchSome(t, laneSize) }

// fetchSome fetches the tasks of the first call, and of those after it as long as they are at most most
// together.
func (sh *shard[K, T]) fetchSome(t *tenant[K, T], most int) {
	tail := t.load().tail()
	failpoint.At("fetch")
	sh.takeIn()
	failpoint.At("fetch lane")
	l := t.lane.Load()
	if l == nil || tail == t.head {
		return // closed by takeIn
	}
	// Before: the slots from head to tail are their producers', which are writing them, or the holder's.
	// After the loop: all to end are the holder's.
	n, void, end := 0, 0, t.head
	for end != tail {
		of := l.written(end)
		if n > 0 && n+of > most {
			break
		}
		l.at(end).Mark = 0 // the next producer's to set
		n += of
		for ; of > 0; of-- {
			if l.at(end).Cost == 0 {
				void++
			}
			end = after(end)
		}
	}
	dt := &t.Tenant.Tenant
	// While shut closes the lane of a tenant that has flows by now, nothing of it may be lent.
	if void == 0 && sh.Queue.Lends(dt) {
		sh.Queue.Lend(dt, l.slots[:], int(t.head%laneSize), n) // they are served in place
		if t.Lent() > inPlace {
			sh.Queue.Spill(dt) // or copied, and producers get their slots back
		}
	} else {
		sh.Queue.Spill(dt)
		for at := t.head; at != end; at = after(at) {
			if slot := l.at(at); slot.Cost > 0 {
				var zero T
				sh.Queue.PushPlain(dt, &slot.Payload, int64(slot.Cost), slot.Enqueued)
				slot.Payload = zero // keep nothing alive
			}
		}
	}
	t.head = end
	sh.freeSlots(t, t.Lent())
	sh.Pushed(&t.Tenant, n-void)
}

// fetchLanes fetches what all lanes hold.
func (sh *shard[K, T]) fetchLanes() {
	for i := len(sh.withLane) - 1; i >= 0; i-- {
		if i < len(sh.withLane) { // else some were closed, and the last ones moved to their places
			sh.fetch(sh.withLane[i])
		}
	}
}

// shut fetches what the lane holds, and closes it.
func (sh *shard[K, T]) shut(t *tenant[K, T]) {
	for t.laned != noLane {
		sh.fetch(t)
		if t.laned != noLane {
			sh.closeLane(t)
		}
	}
}

// lookAtLane comes after a delivery of a tenant that has a lane: slots of it may be free, or it may
// be time to fetch what it holds.
func (sh *shard[K, T]) lookAtLane(t *tenant[K, T]) {
	if t.laned == lends {
		if lent := t.Lent(); lent%freeEvery == 0 { // few cache lines move
			sh.freeSlots(t, lent)
		}
	}
	switch n := t.Len(); {
	case n == 0: // an open lane's tenant has a queued task, or no consumer would come by
		sh.ranDry(t)
	case n%lookEvery == 0 && between(t.head, t.load().tail()) > inPlace:
		sh.fetch(t) // before producers find it full
	}
}

// freeSlots gives the lane's slots back to producers, but those that are lent to the engine.
func (sh *shard[K, T]) freeSlots(t *tenant[K, T], lent int) {
	// Before: the slots up to there are the holder's, which has emptied or copied them. After: producers',
	// once they have drawn their tickets. Pairs with the Load in drawTickets.
	t.freed.Store((t.head - uint32(lent)) & ticketMask)
	if t.laned = lends; lent == 0 {
		t.laned = hasLane
	}
}

// ranDry fetches what the lane of a tenant without a queued task holds; if that is nothing, it
// closes the lane.
func (sh *shard[K, T]) ranDry(t *tenant[K, T]) {
	for t.Len() == 0 && t.laned != noLane {
		if sh.fetchSome(t, inPlace); t.Len() == 0 && t.laned != noLane { // the others wait until these are served
			sh.closeLane(t)
		}
	}
}
