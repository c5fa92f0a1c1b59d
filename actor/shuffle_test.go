package actor

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/firq-go/firq/actor/internal/runq"
)

// The order by a seed depends on names and handler numbers, not on the order in which goroutines
// happened to become ready.
func TestDraw(t *testing.T) {
	var entries []entry
	for _, name := range []string{"a", "b", "c"} {
		a := &actor{name: name}
		entries = append(entries, turnOf(a))
		for nth := range uint64(3) {
			entries = append(entries, entry{Of: claim{a, &worker{nth: nth + 1}}})
		}
	}
	order := func() (out []*entry) {
		q := runq.NewDrawn((&shuffle{rng: rand.New(rand.NewPCG(7, 7))}).draw)
		for _, i := range rand.Perm(len(entries)) {
			q.Put(entries[i])
		}
		for {
			e, ok := q.Get(0)
			if !ok {
				return out
			}
			out = append(out, &entries[slices.IndexFunc(entries, func(f entry) bool { return f.Of == e.Of })])
		}
	}
	first := order()
	for range 100 {
		if again := order(); !slices.Equal(again, first) {
			t.Fatal("another order with the same seed")
		}
	}
	if slices.IsSortedFunc(first, func(e, f *entry) int { return compare(*e, *f) }) {
		t.Error("the seed has shuffled nothing")
	}
}
