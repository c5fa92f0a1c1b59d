package credit

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/firq-go/firq/internal/core/cpu"
)

// twin does the same to a pool and to a plain list of stripes. draw chooses a
// number below n.
type twin struct {
	p       *Pool
	stripes []int // credits
	out     int   // taken and not given back
	hands   []int // credits on the move, by mover
	most    int   // the capacity
	debt    int
	words   [maxStripes]uint64
	draw    func(what string, n int) int
}

func newTwin(capacity, processors int, draw func(what string, n int) int) *twin {
	w := &twin{p: newWrapping(capacity, processors), draw: draw, most: capacity}
	for i := range w.p.stripes {
		w.stripes = append(w.stripes, int(w.p.stripes[i].word.Load()&credits))
	}
	w.words = words(w.p)
	return w
}

var operations = []struct {
	name string
	do   func(*twin) error
}{
	{"take", (*twin).take},
	{"take, wherever", (*twin).takeHere},
	{"give", (*twin).give},
	{"give, wherever", (*twin).giveHere},
	{"begin to move", (*twin).beginMove},
	{"end a move", (*twin).endMove},
	{"set the capacity", (*twin).setCap},
}

func (w *twin) stripe() int { return w.draw("stripe", len(w.stripes)) }

// free is below 0 where more is out than the capacity.
func (w *twin) free() int {
	sum := -w.debt
	for _, n := range w.stripes {
		sum += n
	}
	return sum
}

// refused reports whether a caller must be refused now, and whether it would wait
// for a mover instead.
func (w *twin) refused() (none, waits bool) {
	return w.free() <= 0 && len(w.hands) == 0, w.free() <= 0 && len(w.hands) > 0
}

// take is TakeAt by a caller on a certain processor: what its stripe has, else
// some of the first stripe that has any, and half of what that leaves.
func (w *twin) take() error {
	own, n := w.stripe(), 1+w.draw("credits-1", w.p.capacity()+1)
	if _, waits := w.refused(); waits {
		return nil
	}
	if w.debt > 0 && w.free() > 0 { // it opens the pool: takeHere does
		return nil
	}
	want, from := 0, own
	for i := 0; i < len(w.stripes) && w.stripes[from] == 0; i++ {
		from = i
	}
	if want = min(n, w.stripes[from]); w.debt > 0 {
		want, from = 0, own
	}
	w.stripes[from] -= want
	w.out += want
	if from != own {
		half := (w.stripes[from] + 1) / 2
		w.stripes[from] -= half
		w.stripes[own] += half
	}
	got := w.p.stripes[own].take(n)
	for ok := got > 0; !ok; {
		got, ok = w.p.refill(&w.p.stripes[own], n)
	}
	if got != want {
		return fmt.Errorf("took %d of %d asked for, want %d", got, n, want)
	}
	return nil
}

// takeHere is TakeAt itself, on whatever processor this is.
func (w *twin) takeHere() error {
	n := 1 + w.draw("credits-1", w.p.capacity()+1)
	none, waits := w.refused()
	if waits {
		return nil
	}
	got := w.p.TakeAt(cpu.Hint(), n)
	if got > n || (got < 1) != none {
		return fmt.Errorf("TakeAt(%d) = %d with %d free", n, got, w.free())
	}
	w.out += got
	return w.resume(-got)
}

// setCap changes the capacity. What is in the hands of movers is out of its reach.
func (w *twin) setCap() error {
	n, before, old := 1+w.draw("capacity-1", 12), w.free(), w.most
	if risen := w.p.SetCap(n); risen != n-old {
		return fmt.Errorf("SetCap(%d) of %d = %d", n, old, risen)
	}
	w.most, w.debt = n, max(0, -(before+n-old))
	sum := 0
	for i := range w.stripes {
		word := w.p.stripes[i].word.Load()
		w.stripes[i] = int(word & credits)
		sum += w.stripes[i]
		if (word&shut != 0) != (w.p.debt.Load() > 0) {
			return fmt.Errorf("stripe %d: shut %t, debt %d", i, word&shut != 0, w.p.debt.Load())
		}
	}
	w.debt = int(w.p.debt.Load())
	if got := w.free(); got != before+n-old || w.debt > 0 && sum >= w.debt {
		return fmt.Errorf("after SetCap(%d) of %d: %d free, want %d; debt %d", n, old, got, before+n-old, w.debt)
	}
	return nil
}

func (w *twin) give() error {
	if own := w.stripe(); w.out > 0 {
		w.p.giveAt(own)
		w.stripes[own]++
		w.out--
	}
	return nil
}

func (w *twin) giveHere() error {
	n := w.draw("credits", w.out+1)
	w.p.Give(n)
	w.out -= n
	return w.resume(n)
}

// resume reads the stripes anew after a call from an unknown processor, which
// has changed their sum by n.
func (w *twin) resume(n int) error {
	want := w.free() + n
	for i := range w.stripes {
		w.stripes[i] = int(w.p.stripes[i].word.Load() & credits)
	}
	w.debt = int(w.p.debt.Load()) // a call that takes from a pool that is shut opens it first
	if got := w.free(); got != want {
		return fmt.Errorf("%d credits are left, want %d", got, want)
	}
	return nil
}

// beginMove is a refill that stops after the credits have left their stripe.
func (w *twin) beginMove() error {
	from, n := w.stripe(), 1+w.draw("credits-1", 3)
	if len(w.hands) < 3 {
		w.p.moving.Add(1)
		got := w.p.stripes[from].take(n)
		want := min(n, w.stripes[from])
		if w.debt > 0 {
			want = 0
		}
		if got != want {
			return fmt.Errorf("a mover takes %d, want %d", got, want)
		}
		w.stripes[from] -= got
		w.hands = append(w.hands, got)
	}
	return nil
}

// endMove lets one of the movers go on.
func (w *twin) endMove() error {
	to := w.stripe()
	if n := len(w.hands); n > 0 {
		i := w.draw("mover", n)
		got := w.hands[i]
		w.hands = append(w.hands[:i], w.hands[i+1:]...)
		w.p.stripes[to].word.Add(version + uint64(got))
		w.p.moving.Add(-1)
		w.stripes[to] += got
	}
	return nil
}

func (w *twin) compare() error {
	all := w.out
	for _, n := range w.hands {
		all += n
	}
	now := words(w.p)
	for i, want := range w.stripes {
		got := int(now[i] & credits)
		if all += got; got != want {
			return fmt.Errorf("stripe %d has %d credits, want %d", i, got, want)
		}
		if before := w.words[i]; now[i] != before && now[i]>>32 == before>>32 {
			return fmt.Errorf("stripe %d went from %d to %d credits at one version", i, before&credits, got)
		}
	}
	w.words = now
	if all != w.most+w.debt || w.most != w.p.Cap() || w.debt != int(w.p.debt.Load()) {
		return fmt.Errorf("%d credits in stripes, hands and out; capacity %d (%d), debt %d (%d)",
			all, w.p.Cap(), w.most, w.p.debt.Load(), w.debt)
	}
	if m := int(w.p.moving.Load()); m != len(w.hands) {
		return fmt.Errorf("moving is %d with %d movers", m, len(w.hands))
	}
	free, sure := w.p.Free()
	if free != min(max(w.free(), 0), w.most) || sure != (len(w.hands) == 0) {
		return fmt.Errorf("Free = %d, %t; want %d with %d movers", free, sure, w.free(), len(w.hands))
	}
	if got := w.p.Out(); got != w.most-w.free() {
		return fmt.Errorf("Out = %d with %d of %d free", got, free, w.p.capacity())
	}
	none, waits := w.refused()
	if !waits && w.p.None() != none {
		return fmt.Errorf("None = %t with %d free", !none, free)
	}
	return nil
}

// Any sequence of takes and gives on any stripes, with credits that are on the
// move for long, against the plain stripes; the versions wrap on the way.
func TestMachine(t *testing.T) {
	for _, s := range shapes {
		t.Run(fmt.Sprintf("capacity=%d/processors=%d", s.capacity, s.processors), rapid.MakeCheck(func(t *rapid.T) {
			w := newTwin(s.capacity, s.processors, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
			must := func(err error) {
				if err != nil {
					t.Fatal(err)
				}
			}
			actions := map[string]func(*rapid.T){"": func(*rapid.T) { must(w.compare()) }}
			for _, op := range operations {
				actions[op.name] = func(*rapid.T) { must(op.do(w)) }
			}
			t.Repeat(actions)
			for len(w.hands) > 0 {
				must(w.endMove())
			}
			w.p.Give(w.out)
			if w.p.Take() { // opens it, if it was shut
				w.p.Give(1)
			}
			w.p.wantFree(t, w.most)
		}))
	}
}

// FuzzPool is TestMachine on bytes: the shape of the pool, then what draw gives.
func FuzzPool(f *testing.F) {
	for i := range shapes {
		f.Add(byte(i), []byte{0, 0, 0, 4, 1, 0, 1, 1, 5, 0, 0, 2, 0, 0, 1, 3, 3, 1})
	}
	f.Fuzz(func(t *testing.T, shape byte, ops []byte) {
		if len(ops) > 1000 {
			return
		}
		done := 0
		next := func(_ string, n int) int {
			if done++; done > len(ops) {
				return 0
			}
			return int(ops[done-1]) % n
		}
		s := shapes[int(shape)%len(shapes)]
		w := newTwin(s.capacity, s.processors, next)
		for done < len(ops) {
			at, op := done, operations[next("operation", len(operations))]
			err := op.do(w)
			if err == nil {
				err = w.compare()
			}
			if err != nil {
				t.Fatalf("byte %d, %s: %v", at, op.name, err)
			}
		}
	})
}
