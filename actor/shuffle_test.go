package actor

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The order by a seed depends on names and handler numbers, not on the order in which goroutines
// happened to become ready.
func TestBag(t *testing.T) {
	var entries []entry
	for _, name := range []string{"a", "b", "c"} {
		a := &actor{name: name}
		entries = append(entries, entry{a: a})
		for nth := range uint64(3) {
			entries = append(entries, entry{a: a, w: &worker{nth: nth + 1}})
		}
	}
	order := func() (out []*entry) {
		b := bag{h: &shuffle{rng: rand.New(rand.NewPCG(7, 7))}}
		for _, i := range rand.Perm(len(entries)) {
			b.put(entries[i])
		}
		for {
			e, ok := b.get()
			if !ok {
				return out
			}
			out = append(out, &entries[slices.Index(entries, e)])
		}
	}
	first := order()
	for range 100 {
		if again := order(); !slices.Equal(again, first) {
			t.Fatal("another order with the same seed")
		}
	}
	if slices.IsSortedFunc(first, func(e, f *entry) int { return e.compare(f) }) {
		t.Error("the seed has shuffled nothing")
	}
}
