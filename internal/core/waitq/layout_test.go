package waitq

import (
	"testing"
	"unsafe"

	"github.com/firq-go/firq/internal/core/pad"
)

// Every release reads waiting, which changes only when a producer waits: nothing
// else may be on its line.
func TestLayout(t *testing.T) {
	var r Queue[string]
	hot := unsafe.Offsetof(r.waiting)
	if hot < pad.Line {
		t.Errorf("waiting is %d bytes behind what comes before the Queue, want %d", hot, pad.Line)
	}
	if d := unsafe.Offsetof(r.mu) - hot; d < pad.Line {
		t.Errorf("mu is %d bytes behind waiting, want %d", d, pad.Line)
	}
}
