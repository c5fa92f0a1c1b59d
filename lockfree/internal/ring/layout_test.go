package ring

import (
	"testing"
	"unsafe"

	"github.com/firq-go/firq/internal/pad"
)

// Producers write tail, the consumer writes head and freed: on different lines,
// and tail on a different one from whatever is before the ring.
func TestLayout(t *testing.T) {
	var r MPSC[string]
	tail := unsafe.Offsetof(r.tail)
	if tail < pad.Line {
		t.Errorf("tail is %d bytes behind what comes before the ring, want %d", tail, pad.Line)
	}
	for name, at := range map[string]uintptr{
		"slots": unsafe.Offsetof(r.slots),
		"head":  unsafe.Offsetof(r.head),
		"freed": unsafe.Offsetof(r.freed),
	} {
		if at-tail < pad.Line {
			t.Errorf("%s is %d bytes behind tail, want %d", name, at-tail, pad.Line)
		}
	}
}

// A tenant puts its producers' word right before its Slots, 64 bytes away: what
// the consumer writes must not be at their front, where an offset that a pointer's
// size has moved would bring it too near.
func TestSlotsStartImmutable(t *testing.T) {
	var s Slots[string]
	if unsafe.Offsetof(s.slots) != 0 || unsafe.Offsetof(s.mask) > unsafe.Offsetof(s.head) {
		t.Error("the immutable fields are not first")
	}
}
