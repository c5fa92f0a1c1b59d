package ring

import (
	"testing"
	"unsafe"

	"github.com/firq-go/firq/internal/core/pad"
)

// Producers write tail and seen, the consumer writes head and freed: on different
// lines, and tail on a different one from whatever is before the ring.
func TestLayout(t *testing.T) {
	var r MPSC[string]
	tail := unsafe.Offsetof(r.tail)
	if tail < pad.Line {
		t.Errorf("tail is %d bytes behind what comes before the ring, want %d", tail, pad.Line)
	}
	if at := unsafe.Offsetof(r.seen); at != tail+4 {
		t.Errorf("seen is at %d, want it next to tail, at %d", at, tail)
	}
	for name, at := range map[string]uintptr{
		"taker": unsafe.Offsetof(r.taker),
		"freed": unsafe.Offsetof(r.freed),
	} {
		if at-unsafe.Offsetof(r.seen) < pad.Line {
			t.Errorf("%s is %d bytes behind seen, want %d", name, at-unsafe.Offsetof(r.seen), pad.Line)
		}
	}
}
