package inbox

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/firq-go/firq/lockfree/internal/ring"
)

// Any sequence of tickets, late publications, passes, deliveries and copies, against the
// model, on tickets that wrap.
func TestMachine(t *testing.T) {
	for _, size := range []int{1, 2, 4, 16} {
		t.Run(fmt.Sprintf("size=%d", size), rapid.MakeCheck(func(t *rapid.T) {
			wrap := rapid.SampledFrom([]uint32{0, 1 << ring.TicketBits}).Draw(t, "wrap")
			first := wrap - rapid.Uint32Range(0, 2*uint32(size)).Draw(t, "tickets before the wrap")
			w := newTwin(size, ring.Cut(first), func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
			must := func(err error) {
				if err != nil {
					t.Fatal(err)
				}
			}
			actions := map[string]func(*rapid.T){"": func(*rapid.T) { must(w.compare()) }}
			for _, op := range operations {
				actions[op.name] = func(*rapid.T) { must(op.do(w)) }
			}
			actions["draw again"], actions["publish the oldest again"] = actions["draw"], actions["publish the oldest"]
			t.Repeat(actions)
			for len(w.in(open)) > 0 {
				must(w.publish())
			}
			must(w.takeAll())
			must(w.spill())
			if must(w.compare()); w.freed != len(w.tickets) {
				t.Fatalf("%d of %d tickets are over", w.freed, len(w.tickets))
			}
		}))
	}
}

// What TestMachine may take many tries to come to.
func TestHoles(t *testing.T) {
	for _, x := range []struct {
		what string
		ops  []byte
	}{
		{"filled, before what was taken behind it", []byte{0, 0, 28, 3, 20}},
		{"filled, and then all is as it was", []byte{0, 0, 28, 3, 20, 3, 0, 20, 3}},
		{"filled, and another one", []byte{0, 0, 0, 19, 3, 20, 3}},
		{"in a slot that was in use", []byte{0, 20, 3, 5, 0, 20, 3, 5, 0, 20, 3, 5, 0, 20, 3, 5, 0, 3}},
	} {
		t.Run(x.what, func(t *testing.T) { play(t, 0, x.ops) })
	}
}

// FuzzInbox is TestMachine on bytes.
func FuzzInbox(f *testing.F) {
	f.Add(uint32(0), []byte{0, 20, 0, 20, 0, 20, 3, 5, 0, 20, 3, 5, 5, 6})
	f.Add(uint32(1<<ring.TicketBits-2), []byte{0, 0, 0, 0, 28, 3, 28, 3, 2, 3, 5, 8, 0, 7})
	f.Fuzz(func(t *testing.T, first uint32, ops []byte) {
		if len(ops) <= 1000 {
			play(t, first, ops)
		}
	})
}

// play does to an inbox of four slots what each byte says: by its remainder an operation, by its
// quotient what that chooses.
func play(t *testing.T, first uint32, ops []byte) {
	n := len(operations)
	var op int
	w := newTwin(4, ring.Cut(first), func(_ string, choices int) int { return op / n % choices })
	for i := range ops {
		op = int(ops[i])
		err := operations[op%n].do(w)
		if err == nil {
			err = w.compare()
		}
		if err != nil {
			t.Fatalf("at step %d of %v, %s: %v", i, ops, operations[op%n].name, err)
		}
	}
}
