package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
)

// buildSmall is build with inboxes as they are at first.
func buildSmall(t *testing.T, cfg config, first uint32) *scheduler {
	t.Helper()
	s := buildAt(t, cfg, first)
	s.firstBox = firstBox
	return s
}

// A tenant whose tasks come one by one keeps its small inbox; one that has several
// at a time gets a large one, and its tasks stay in order.
func TestInboxGrows(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildSmall(t, config{}, first)
		for i := range 3 * inboxSize {
			admit(t, s, "single", task{Payload: i})
			take(t, s, i)
		}
		one, _ := s.tenants.Load("single")
		if n := one.inbox.Load().Size(); n != firstBox {
			t.Errorf("%d slots, one task at a time", n)
		}
		for round := range 3 {
			for i := range 3 * inboxSize {
				admit(t, s, "many", task{Payload: i + round})
			}
			for i := range 3 * inboxSize {
				take(t, s, i+round)
			}
		}
		many, _ := s.tenants.Load("many")
		if n := many.inbox.Load().Size(); n != lendSize {
			t.Errorf("%d slots after many at a time", n)
		}
		for i := range 3 * inboxSize { // tasks that are not plain do not stay in their slots
			admit(t, s, "urgent", task{Payload: i, Priority: firq.PriorityHigh})
		}
		urgent, _ := s.tenants.Load("urgent")
		if n := urgent.inbox.Load().Size(); n != inboxSize {
			t.Errorf("%d slots after many at a time that are not plain", n)
		}
		take(t, s, count(0, 3*inboxSize)...)
		nothing(t, s)
	})
}

// While a ticket is out the inbox stays as it is: its owner writes into that one.
func TestInboxStaysWhileATicketIsOut(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildSmall(t, config{}, first)
		p := stopped(t, s, "a", task{Payload: 1})
		if err := p.charge(); err != nil {
			t.Fatal(err)
		}
		admit(t, s, "a", task{Payload: 2}, task{Payload: 3}) // under the lease
		if n := p.t.inbox.Load().Size(); n != firstBox {
			t.Fatalf("%d slots, with a ticket out", n)
		}
		take(t, s, 2)
		p.publish()
		take(t, s, 3, 1)
		admit(t, s, "a", task{Payload: 4}, task{Payload: 5})
		if n := p.t.inbox.Load().Size(); n != inboxSize {
			t.Errorf("%d slots, want %d", n, inboxSize)
		}
		take(t, s, 4, 5)
	})
}

// While an inbox is replaced no ticket is drawn: a producer finds it full.
func TestNoTicketWhileItGrows(t *testing.T) {
	s := buildSmall(t, config{}, 0)
	admit(t, s, "a", task{Payload: 1})
	take(t, s, 1)
	tn, _ := s.tenants.Load("a")
	tn.word.Add(usedMask)
	if _, _, took := tn.reserve(1); took != inboxFull {
		t.Errorf("take: %d", took)
	}
	tn.word.Add(^uint64(usedMask - 1))
	if w := tn.word.Load(); usedIn(w) != 0 || tn.held(w) != 0 {
		t.Errorf("%d used, %d held", usedIn(w), tn.held(w))
	}
}
