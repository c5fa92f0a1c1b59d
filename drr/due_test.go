package drr

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// dueTwin drives a deadline index and a plain slice with the same operations.
type dueTwin struct {
	d     dues[int, int]
	held  []*entry[int, int]
	moves map[*entry[int, int]]int // to a lower bucket
	now   int64
}

func (w *dueTwin) insert(due int64) {
	e := &entry[int, int]{Task: Task[int]{Due: due}, bucket: noBucket}
	w.d.insert(e)
	w.held = append(w.held, e)
}

func (w *dueTwin) remove(i int) {
	e := w.held[i]
	w.d.remove(e)
	w.held = slices.Delete(w.held, i, i+1)
	delete(w.moves, e)
}

func (w *dueTwin) tick(d int64) {
	if w.now < math.MaxInt64/2 {
		w.now += d
	}
}

// earliest returns the earliest due.
func (w *dueTwin) earliest() int64 {
	earliest := int64(NoDeadline)
	for _, e := range w.held {
		earliest = min(earliest, e.Due)
	}
	return earliest
}

// countMoves does what expired does to the buckets, one spread after the other,
// and counts how often each entry moves.
func (w *dueTwin) countMoves() error {
	for w.now > 0 && w.d.buckets[0] == nil && w.d.mask != 0 {
		b := bits.TrailingZeros64(w.d.mask) + 1
		if w.d.floor(b) >= uint64(w.now) {
			return nil
		}
		var moved []*entry[int, int]
		for e := w.d.buckets[b]; e != nil; e = e.dueNext {
			moved = append(moved, e)
		}
		w.d.spread(b, uint64(w.now)-1)
		for _, e := range moved {
			if w.moves[e]++; int(e.bucket) >= b || w.moves[e] > 64 {
				return fmt.Errorf("due %d: from bucket %d to %d, in %d moves", e.Due, b, e.bucket, w.moves[e])
			}
		}
	}
	return nil
}

// expire takes out at most n expired entries.
func (w *dueTwin) expire(n int) error {
	for range n {
		if err := w.countMoves(); err != nil {
			return err
		}
		e := w.d.expired(w.now)
		if e == nil {
			if earliest := w.earliest(); earliest < w.now {
				return fmt.Errorf("nothing expired at %d, want %d", w.now, earliest)
			}
			if w.now > 0 && w.d.buckets[0] != nil {
				return fmt.Errorf("at %d: %d is in the bucket of the expired", w.now, w.d.buckets[0].Due)
			}
			return nil
		}
		i := slices.Index(w.held, e)
		if i < 0 || e.Due >= w.now {
			return fmt.Errorf("due %d expired at %d, index %d", e.Due, w.now, i)
		}
		w.remove(i)
	}
	return nil
}

func (w *dueTwin) check() error {
	if bound, earliest := w.d.bound(), w.earliest(); bound > earliest {
		return fmt.Errorf("bound %d, but one is due at %d", bound, earliest)
	} else if len(w.held) == 0 && bound != NoDeadline {
		return fmt.Errorf("bound %d of nothing", bound)
	}
	return dueInvariants(&w.d, func(e *entry[int, int]) bool { return slices.Contains(w.held, e) }, len(w.held))
}

// run reads operations from bytes, two each.
func (w *dueTwin) run(ops []byte) error {
	w.moves = map[*entry[int, int]]int{}
	for ; len(ops) >= 2; ops = ops[2:] {
		x := int64(ops[1])
		var err error
		switch ops[0] % 16 {
		case 0, 1, 2, 3: // clustered, many of them equal
			w.insert(w.now + x%8)
		case 4, 5: // anywhere ahead
			w.insert(w.now + 1<<(x%61) + x)
		case 6: // passed already, or negative
			w.insert(w.now - x*x)
		case 7: // from a fixed grid
			w.insert(x << 16)
		case 8, 9:
			if len(w.held) > 0 {
				w.remove(int(x) % len(w.held))
			}
		case 10, 11:
			w.tick(x % 10)
		case 12:
			w.tick(1 << (x % 40))
		default:
			err = w.expire(int(x))
		}
		if err == nil {
			err = w.check()
		}
		if err != nil {
			return fmt.Errorf("%d bytes before the end, op %d: %w", len(ops), ops[0]%16, err)
		}
	}
	return w.expire(len(w.held) + 1)
}

func TestDues(t *testing.T) {
	for seed := range uint64(120) {
		w := dueTwin{now: []int64{0, 1, -50, 1 << 40, math.MaxInt64 / 2}[seed%5]}
		if err := w.run(randomOps(seed, 600)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func FuzzDues(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(int64(seed)<<(seed*15), randomOps(seed, 40))
	}
	f.Fuzz(func(t *testing.T, now int64, ops []byte) {
		if len(ops) > 2000 {
			return
		}
		w := dueTwin{now: min(max(now, math.MinInt64/2), math.MaxInt64/2)}
		if err := w.run(ops); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDuesExpireInOrder lets the clock tick in small steps: what expires then
// comes out sorted, and all of it as soon as it may.
func TestDuesExpireInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	w := dueTwin{moves: map[*entry[int, int]]int{}}
	sorted := make([]int64, 3000)
	for i := range sorted {
		sorted[i] = r.Int64N(1 << 20)
		w.insert(sorted[i])
	}
	slices.Sort(sorted)
	for w.now = 0; len(w.held) > 0; w.now += 1 + r.Int64N(300) {
		n, _ := slices.BinarySearch(sorted, w.now)
		if err := w.expire(n); err != nil {
			t.Fatal(err)
		}
		sorted = sorted[n:]
		if len(w.held) != len(sorted) {
			t.Fatalf("at %d: %d held, want %d", w.now, len(w.held), len(sorted))
		}
		if e := w.d.expired(w.now); e != nil {
			t.Fatalf("at %d: %d expired once more", w.now, e.Due)
		}
	}
}

// TestDuesClockBack: a caller whose clock is behind gets only what expired by
// its own clock.
func TestDuesClockBack(t *testing.T) {
	w := dueTwin{now: 1000, moves: map[*entry[int, int]]int{}}
	for _, due := range []int64{500, 100, 900, -5, 2000} {
		w.insert(due)
	}
	if w.d.expired(1000) == nil {
		t.Fatal("nothing expired")
	}
	for _, step := range []struct{ now, due int64 }{{-5, 0}, {-4, -5}, {0, 0}, {101, 100}, {500, 0}, {501, 500}, {1000, 900}, {1001, 0}} {
		e := w.d.expired(step.now)
		switch {
		case step.due == 0 && e != nil:
			t.Fatalf("at %d: due %d expired", step.now, e.Due)
		case step.due != 0 && (e == nil || e.Due != step.due):
			t.Fatalf("at %d: expired %v, want due %d", step.now, e, step.due)
		case e != nil:
			w.remove(slices.Index(w.held, e))
		}
	}
}
