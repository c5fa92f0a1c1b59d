package ring

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Any sequence of pushes, draws, late publications and passes, interrupted
// anywhere, against the model, on tickets that wrap.
func TestMachine(t *testing.T) {
	for _, size := range []int{1, 2, 4, 16} {
		t.Run(fmt.Sprintf("size=%d", size), rapid.MakeCheck(func(t *rapid.T) {
			wrap := rapid.SampledFrom([]uint32{0, 1 << TicketBits, 1 << 31}).Draw(t, "wrap")
			first := wrap - rapid.Uint32Range(0, 2*uint32(size)).Draw(t, "tickets before the wrap")
			w := newTwin(size, first, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
			must := func(err error) {
				if err != nil {
					t.Fatal(err)
				}
			}
			actions := map[string]func(*rapid.T){"": func(*rapid.T) { must(w.compare()) }}
			for _, op := range operations {
				actions[op.name] = func(*rapid.T) { must(op.do(w)) }
			}
			actions["push again"] = actions["push"]
			t.Repeat(actions)
			t.Repeat(actions)
			for len(w.m.in(open, 0, len(w.m.tickets))) > 0 {
				must(w.publish())
			}
			must(w.free())
			must(w.finish())
			if must(w.compare()); w.m.room(len(w.m.tickets)) != size {
				t.Fatal("the model is not empty")
			}
		}))
	}
}

// FuzzRing is TestMachine on bytes: each is an operation, and which hole.
func FuzzRing(f *testing.F) {
	f.Add(uint32(0), []byte{0, 1, 0, 0, 4, 2, 4})
	f.Add(uint32(1<<TicketBits-2), []byte{1, 0, 1, 0, 0, 3, 3, 5, 2, 3, 4, 0, 0, 0, 4})
	f.Add(uint32(1<<31-1), []byte{1, 1, 1, 1, 1, 26, 2, 14, 2, 4, 0, 0, 0, 0, 0, 3, 5})
	f.Fuzz(func(t *testing.T, first uint32, ops []byte) {
		if len(ops) > 1000 {
			return
		}
		n := len(operations)
		var op int
		w := newTwin(4, first, func(_ string, holes int) int { return op / n % holes })
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
	})
}
