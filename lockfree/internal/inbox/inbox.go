// Package inbox holds the inboxes of tenants: bounded multi-producer single-consumer rings
// whose slots are those of a queue of plain tasks, so that the queue can deliver a task from
// where its producer has written it (drr.Queue.Lend).
package inbox

import (
	"sync/atomic"
	"unsafe"

	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// Inbox is the storage of a ring. A ticket, which the producer got elsewhere and no other one
// has, is the right to one slot. After Vyukov's bounded queue, with two differences. The
// consumer takes what is published even behind a slot whose producer is still at work (a
// hole), so that a producer that was stopped in between hides only its own task. And a
// plain task that it comes to in turn may stay in its slot until it is delivered.
//
// The states of the slot of ticket t, by its mark:
//
//	t+1        published; the consumer takes it, or lends it to the queue
//	t+2        taken behind a hole
//	any other  free, or being written by the owner of ticket t
//
// The caller that draws tickets knows how many slots are free, and which ticket is the
// oldest whose slot is not; the inbox does not. Nor does it know which slots are lent.
//
// Tickets are ring.TicketBits wide, and wrap. Marks are of 32 bits, of which no more than
// those count; a mark must not become as old as the wrap.
//
// Order: a task whose Publish returned before another task's ticket was drawn is taken
// before it. The consumer looks at the tail first, and at the slots below it afterwards; a
// slot that it finds unpublished belongs to a Publish that had not returned when the tail
// was read, so that everything below that tail overlaps with it. The tasks of a batch have
// tickets one after the other, and are published in that order; one that is found behind a
// hole is taken after those before it, if they are there by then.
//
// Progress: Publish is wait-free. What takes a Taker belongs to one goroutine at a time.
type Inbox[T any] struct {
	first *drr.Slot[T] // of size slots, a power of two; a slice would be a word more, of each tenant
	size  uint32
	// more holds the tasks that a slot is not enough for, in the places of their slots. The
	// first producer of one allocates it.
	more atomic.Pointer[[]drr.Task[T]]
}

// Taker is how far the consumer has come; it belongs to the consumer, which keeps
// it apart from what producers read.
type Taker struct {
	head uint32 // all tickets before it were taken
	// freed is the oldest ticket whose slot is in use, as far as Free was told; and above
	// TicketBits, how many tickets were taken behind the hole at head.
	freed uint32
}

const (
	behindUnit = 1 << ring.TicketBits
	freedMask  = behindUnit - 1
)

// What Slot.Enqueued says where Cost is 0: the task was refused; it is in more.
const (
	void = iota
	elsewhere
)

// New returns an inbox of size slots, a power of two, for tickets from first on.
func New[T any](size int, first uint32) *Inbox[T] {
	b := &Inbox[T]{first: unsafe.SliceData(make([]drr.Slot[T], size)), size: uint32(size)}
	b.Reset(first)
	return b
}

// Reset makes an inbox without tasks one for tickets from first on.
func (b *Inbox[T]) Reset(first uint32) {
	for i := range b.size {
		t := ring.Cut(first + i)
		atomic.StoreUint32(&b.at(t).Mark, t)
	}
}

// Size returns the number of slots.
func (b *Inbox[T]) Size() int { return int(b.size) }

// Mixed reports whether there was ever a task that was not plain.
func (b *Inbox[T]) Mixed() bool { return b.more.Load() != nil }

// Slots returns all slots, for Lend.
func (b *Inbox[T]) Slots() []drr.Slot[T] { return unsafe.Slice(b.first, b.size) }

// Index returns the place of a ticket among Slots.
func (b *Inbox[T]) Index(ticket uint32) int { return int(ticket & (b.size - 1)) }

func (b *Inbox[T]) at(ticket uint32) *drr.Slot[T] {
	return (*drr.Slot[T])(unsafe.Add(unsafe.Pointer(b.first), uintptr(b.Index(ticket))*unsafe.Sizeof(*b.first)))
}

// Init starts at the ticket first.
func (k *Taker) Init(first uint32) { k.head, k.freed = ring.Cut(first), ring.Cut(first) }

// Head returns the ticket before which all were taken.
func (k *Taker) Head() uint32 { return k.head }

// Free notes that of the tickets before head, the slots of all but the last lent ones are
// free. It returns how many have become so since it was called last.
func (k *Taker) Free(lent int) (freed int) {
	oldest := ring.Cut(k.head - uint32(lent))
	freed = ring.Distance(oldest, k.freed&freedMask)
	k.freed = k.freed&^freedMask | oldest
	return freed
}

// Pass passes the ticket at the head, when all slots are free: its task does not go through
// the inbox. Free is not to count it.
func (k *Taker) Pass() {
	k.head = ring.After(k.head)
	k.freed = k.head
}

// Skip passes the ticket at the head: its task has come another way, and will not be put
// in its slot. What was taken behind it is passed as well.
func (b *Inbox[T]) Skip(k *Taker) {
	k.head = ring.After(k.head)
	for k.freed >= behindUnit && atomic.LoadUint32(&b.at(k.head).Mark) == k.head+2 {
		k.head = ring.After(k.head)
		k.freed -= behindUnit
	}
}

// PutPlain writes a plain task, of a cost of at most drr.MostPlain, for the owner of the
// ticket, which then calls Publish.
func (b *Inbox[T]) PutPlain(ticket uint32, payload *T, cost, enqueued int64) {
	s := b.at(ticket)
	s.Cost, s.Enqueued, s.Payload = uint32(cost), enqueued, *payload
}

// Put is PutPlain of any task.
func (b *Inbox[T]) Put(ticket uint32, task *drr.Task[T]) {
	if task.IsPlain() {
		b.PutPlain(ticket, &task.Payload, task.Cost, task.Enqueued)
		return
	}
	more := b.more.Load()
	if more == nil {
		made := make([]drr.Task[T], b.size)
		if more = &made; !b.more.CompareAndSwap(nil, more) {
			more = b.more.Load()
		}
	}
	(*more)[b.Index(ticket)] = *task
	s := b.at(ticket)
	s.Cost, s.Enqueued = 0, elsewhere
}

// PutVoid is Put for a task that was refused.
func (b *Inbox[T]) PutVoid(ticket uint32) {
	s := b.at(ticket)
	s.Cost, s.Enqueued = 0, void
}

// Publish hands what was put there for a ticket to the consumer.
func (b *Inbox[T]) Publish(ticket uint32) {
	atomic.StoreUint32(&b.at(ticket).Mark, ticket+1) // publishes what was put; pairs with the Load in published
}

func (b *Inbox[T]) published(ticket uint32) bool {
	return atomic.LoadUint32(&b.at(ticket).Mark) == ticket+1 // pairs with the Store in Publish
}

// Run takes what comes next in turn as far as those are plain tasks: it passes them, and
// returns how many they are. They stay in their slots.
func (b *Inbox[T]) Run(k *Taker, end uint32) (n int) {
	if k.freed >= behindUnit {
		return 0 // what it would pass is not all that comes before head
	}
	for k.head != end && b.published(k.head) && b.at(k.head).Cost != 0 {
		k.head = ring.After(k.head)
		n++
	}
	return n
}

// Next takes the next published task of the tickets from *at up to tail, and moves *at past
// it. A plain task is in the slot plain, whose payload the caller takes and zeroes before the
// slot is free; any other is in more, and the caller zeroes all of it; with neither, it was
// refused. Next reports false at the end of the pass. The slots that head has passed are free
// at the end of the pass, but for those that Run has passed.
func (b *Inbox[T]) Next(k *Taker, at *uint32, tail uint32) (plain *drr.Slot[T], more *drr.Task[T], ok bool) {
	for t := *at; t != tail; t = ring.After(t) {
		s := b.at(t)
		switch mark := atomic.LoadUint32(&s.Mark); {
		case mark == t+2 && t == k.head:
			k.head = ring.After(t)
			k.freed -= behindUnit
			continue
		case mark != t+1:
			failpoint.At("inbox hole")
			continue // taken, or a hole: its producer is still at work
		}
		// A batch is published in its order: by now the tasks before this one may be there.
		for t != k.head && b.published(ring.Cut(t-1)) {
			t = ring.Cut(t - 1)
		}
		s = b.at(t)
		if *at = ring.After(t); t == k.head {
			k.head = *at
		} else {
			atomic.StoreUint32(&s.Mark, t+2)
			k.freed += behindUnit
		}
		switch {
		case s.Cost != 0:
			return s, nil, true
		case s.Enqueued == void:
			return nil, nil, true
		}
		return nil, &(*b.more.Load())[b.Index(t)], true
	}
	*at = tail
	return nil, nil, false
}

// Prefix returns the first ticket before tail that is not published, or tail.
func (b *Inbox[T]) Prefix(k *Taker, tail uint32) uint32 {
	t := k.head
	for ring.Distance(tail, t) > 0 && !b.hole(t) {
		t = ring.After(t)
	}
	return t
}

func (b *Inbox[T]) hole(ticket uint32) bool {
	mark := atomic.LoadUint32(&b.at(ticket).Mark)
	return mark != ticket+1 && mark != ticket+2
}

// Holes reports whether one of the tickets from from on and before tail, the next
// ticket, may be without its task yet. Any goroutine may ask; from has not been drawn
// again (from+Size) since.
func (b *Inbox[T]) Holes(from, tail uint32) bool {
	for t := ring.Cut(from); ring.Distance(tail, t) > 0; t = ring.After(t) {
		if b.hole(t) {
			return true
		}
	}
	return false
}
