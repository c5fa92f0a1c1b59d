package lockfree

import (
	"math"
	"testing"

	"github.com/firq-go/firq"
)

// The slots of a ring come in the order of tickets, and each belongs to one side at a time, also
// where tickets begin again at 0.
func TestRing(t *testing.T) {
	for _, first := range []uint32{0, math.MaxUint32 - 1} {
		r := ring[int]{slots: make([]slot[int], 4)}
		r.tail.Store(first)
		r.seen.Store(first)
		r.freed.Store(first)
		r.head = first
		draw := func(value int) uint32 {
			t.Helper()
			before := r.version()
			at, ok := r.draw()
			if !ok {
				t.Fatalf("full at %d", value)
			}
			r.at(at).value = value
			if !r.ready() || r.version() == before {
				t.Errorf("%d is not seen", value)
			}
			return at
		}
		full := func() {
			t.Helper()
			if at, ok := r.draw(); ok {
				t.Fatalf("ticket %d was drawn", at)
			}
		}
		next := func(want int) {
			t.Helper()
			if v := r.next(); *v != want {
				t.Fatalf("next is %d, want %d", *v, want)
			}
		}
		var at [4]uint32
		for i := range at {
			at[i] = draw(i)
		}
		full()
		for _, i := range []int{2, 0, 3, 1} {
			r.publish(at[i])
		}
		next(0)
		next(1)
		full() // not freed
		before := r.version()
		if r.freeSlots(); r.version() == before {
			t.Error("freed, with the same version")
		}
		a, b := draw(4), draw(5)
		full()
		r.publish(b)
		next(2)
		next(3)
		r.freeSlots()
		done := start(func() int { return *r.next() })
		waits(t, "next", done) // b is published, a is not
		r.publish(a)
		if v := result(t, "next", done); v != 4 {
			t.Fatalf("next is %d, want 4", v)
		}
		next(5)
		if !r.ready() {
			t.Error("not ready, with tasks that were not freed")
		}
		if r.freeSlots(); r.ready() {
			t.Error("ready, with all freed")
		}
	}
}

// Where the ring is full a producer takes in what is there, and its task comes behind.
func TestRingFull(t *testing.T) {
	s := build(t, config{})
	known(t, s, "a")
	known(t, s, "b")
	s.crowd()
	sh := s.shards[0]
	n := len(sh.ring.slots)
	var want []int
	for i := range n + 10 {
		admit(t, s, string(rune('a'+i%2)), task{Payload: i})
		if i < n && sh.Queue.Len() > 0 {
			t.Fatalf("%d was not sent by the ring", i)
		}
		want = append(want, i)
	}
	if sh.Queue.Len() <= n {
		t.Errorf("%d of %d were taken in", sh.Queue.Len(), n+10)
	}
	take(t, s, want...)
	nothing(t, s)
	for i := range sh.ring.slots {
		if m := &sh.ring.slots[i].value; m.t != nil || m.task.Payload != 0 {
			t.Fatalf("slot %d keeps %+v", i, m)
		}
	}
}

// A task on its way by the ring that is refused for want of a credit leaves its ticket and its place.
func TestTicketOfRefused(t *testing.T) {
	s := build(t, config{MaxGlobal: 8, MaxPerTenant: 4})
	tn := known(t, s, "a")
	s.crowd()
	sh := tn.shard
	for range 3 {
		admit(t, s, "a", task{})
	}
	admit(t, s, "b", task{})
	tn.shard.lock()
	sh.shut(tn)
	sh.unlock()
	var ticket firq.Ticket
	s.life.Close() // the credit is given back: the state is looked at last
	if sh.send(tn, &task{Ticket: &ticket}, false, 1) {
		t.Error("sent by a closed scheduler")
	}
	if !ticket.Acquire(&tn.Ticket) {
		t.Error("the ticket is in use")
	}
	sh.discard()
	if tn.held() != 0 || s.Len() != 0 {
		t.Errorf("%d places, %d credits", tn.held(), s.Len())
	}
}

// A task that went by the ring expires as any, and a producer at the limit replaces it.
func TestDeadlineByRing(t *testing.T) {
	s := build(t, config{MaxGlobal: 2})
	known(t, s, "a")
	s.crowd()
	admit(t, s, "a", task{Payload: 1, Deadline: past()}, task{Payload: 2})
	admit(t, s, "a", task{Payload: 3})
	take(t, s, 2, 3)
	nothing(t, s)
}
