package serve

import (
	"slices"
	"testing"
)

// A map finds a key of an interface type again: nil, and what it points to may change.
func TestNewMap(t *testing.T) {
	m := NewMap[any, int]()
	x, c, none := new(int), make(chan int, 1), (*int)(nil)
	keys := []any{nil, none, x, c, "a", [2]any{x, nil}, struct{ p *int }{x}}
	for i, k := range keys {
		m.Store(k, i)
	}
	*x = 1
	c <- 1
	for i, k := range keys {
		if got, ok := m.Load(k); !ok || got != i {
			t.Errorf("%T: %d, %t, want %d", k, got, ok, i)
		}
	}
}

// The hash of integers spreads keys that have a pattern over the buckets and the marks of a map: xsync chooses a
// bucket by the bits from the seventh on, and looks in it for the lowest seven.
func TestMix(t *testing.T) {
	const keys, buckets = 1 << 12, 1 << 10
	for _, seed := range []uint64{0, 1, 1 << 63, 0x243f6a8885a308d3} {
		for shift := range 53 {
			var in [buckets]int
			marks := map[uint64]int{}
			for k := range uint64(keys) {
				h := mix(k<<shift, seed)
				in[h>>7%buckets]++
				marks[h&127]++
			}
			if most := slices.Max(in[:]); most > 8*keys/buckets {
				t.Errorf("multiples of 1<<%d, seed %#x: %d of %d keys in one of %d buckets", shift, seed, most, keys, buckets)
			}
			if len(marks) < 64 {
				t.Errorf("multiples of 1<<%d, seed %#x: %d marks of 128", shift, seed, len(marks))
			}
		}
	}
}
