package lockfree

import (
	"fmt"
	"testing"

	"github.com/firq-go/firq/lockfree/internal/ring"
)

// The tickets of inbox and activation ring wrap: each distance to the wrap at
// which something may go wrong, for a tenant that is unpolled all the time, for one
// that becomes polled, and with a hole across the wrap.
func TestTicketsWrap(t *testing.T) {
	for before := range uint32(inboxSize + 2) {
		first := uint32(1<<ring.TicketBits) - before
		t.Run(fmt.Sprintf("before=%d", before), func(t *testing.T) {
			s := buildAt(t, config{MaxPerTenant: 3 * inboxSize}, first)
			for i := range 2 * inboxSize { // unpolled: one at a time
				admit(t, s, "unpolled", task{Payload: i})
				take(t, s, i)
			}
			for n := range 3 * inboxSize { // backlogs of all sizes, the largest beyond the inbox
				for i := range n {
					admit(t, s, "backlog", task{Payload: i})
				}
				for i := range n {
					take(t, s, i)
				}
				nothing(t, s)
			}
			p := stopped(t, s, "hole", task{Payload: -1})
			for i := range inboxSize + 2 {
				admit(t, s, "hole", task{Payload: i})
				take(t, s, i)
			}
			if err := p.charge(); err != nil {
				t.Fatal(err)
			}
			p.publish()
			take(t, s, -1)
			nothing(t, s)
		})
	}
}

// The activation ring, all the way across the wrap, with many tenants together.
func TestActivationsWrap(t *testing.T) {
	for _, before := range []uint32{1, announceSize / 2, announceSize, announceSize + 1} {
		s := buildAt(t, config{}, -before)
		for round := range 3 {
			for i := range announceSize + 10 { // more than the ring holds
				admit(t, s, fmt.Sprint("tenant ", i), task{Payload: i + round})
			}
			for i := range announceSize + 10 {
				take(t, s, i+round)
			}
			nothing(t, s)
		}
	}
}

// A word's fields do not spill into each other: the tail wraps within its own
// bits, and room, with the largest limit there is, keeps clear of dead and polled.
func TestWordFields(t *testing.T) {
	s := buildAt(t, config{MaxGlobal: 1<<30 - 1}, 1<<ring.TicketBits-1)
	tn, err := s.lookUp("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if held := tn.held(tn.word.Load()); held != 0 {
		t.Fatalf("a new tenant holds %d", held)
	}
	admit(t, s, "a", task{Payload: 1})
	if w := tn.word.Load(); tailOf(w) != 0 || usedIn(w) != 1 || tn.held(w) != 1 || w&(deadBit|polledBit) != 0 {
		t.Errorf("after one ticket: tail %#x, %d used, held %d, bits %b", tailOf(w), usedIn(w), tn.held(w), w&3)
	}
	take(t, s, 1)
	if w := tn.word.Load(); w/tailUnit != 0 || tn.held(w) != 0 || w&(deadBit|polledBit) != 0 {
		t.Errorf("after its return: tail %#x, held %d, bits %b", w/tailUnit, tn.held(w), w&3)
	}
}
