package park

import (
	"testing"
	"unsafe"

	"github.com/firq-go/firq/internal/core/pad"
)

// Every Notify reads parked and waking, which change only when a consumer sleeps or
// wakes: nothing else may be on their line.
func TestLayout(t *testing.T) {
	var p Parker
	hot := unsafe.Offsetof(p.parked)
	if hot%8 != 0 || unsafe.Offsetof(p.waking) != hot+4 {
		t.Errorf("parked at %d, waking at %d: want them in one word", hot, unsafe.Offsetof(p.waking))
	}
	if hot < pad.Line {
		t.Errorf("parked is %d bytes behind what the allocator puts before the Parker, want %d", hot, pad.Line)
	}
	if d := unsafe.Offsetof(p.work) - hot; d < pad.Line {
		t.Errorf("work is %d bytes behind parked, want %d", d, pad.Line)
	}
}
