package pad

import (
	"testing"
	"unsafe"
)

// Line is a power of two and whole cache lines of 64 bytes; Pad is one of it.
func TestLine(t *testing.T) {
	if Line%64 != 0 || Line&(Line-1) != 0 {
		t.Errorf("Line is %d", Line)
	}
	if n := unsafe.Sizeof(Pad{}); n != Line {
		t.Errorf("a Pad has %d bytes, want %d", n, Line)
	}
}

// A Pad between two words keeps them on different cache lines, wherever the struct
// starts and however wide a pointer is.
func TestPadKeepsApart(t *testing.T) {
	var x struct {
		a uint32
		_ Pad
		b uint32
	}
	if d := unsafe.Offsetof(x.b) - unsafe.Offsetof(x.a); d < Line {
		t.Errorf("%d bytes from word to word, want %d", d, Line)
	}
}
