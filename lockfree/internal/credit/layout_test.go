package credit

import (
	"testing"
	"unsafe"

	"github.com/firq-go/firq/internal/core/pad"
)

// Stripes are one line each, and moving is on none that Take reads in passing.
func TestLayout(t *testing.T) {
	if n := unsafe.Sizeof(stripe{}); n != pad.Line {
		t.Errorf("a stripe has %d bytes, want %d", n, pad.Line)
	}
	for _, processors := range []int{1, 2, 4, 16, 64} { // the allocator has to play along
		p := newStriped(1, processors)
		if at := uintptr(unsafe.Pointer(&p.stripes[0])) % pad.Line; at != 0 {
			t.Errorf("%d stripes start %d bytes behind a line", processors, at)
		}
	}
	var p Pool
	if d := unsafe.Offsetof(p.moving) - unsafe.Offsetof(p.cap); d < pad.Line {
		t.Errorf("moving is %d bytes behind cap, want %d", d, pad.Line)
	}
	if d := unsafe.Sizeof(p) - unsafe.Offsetof(p.moving); d < pad.Line {
		t.Errorf("the Pool ends %d bytes behind moving, want %d", d, pad.Line)
	}
}
