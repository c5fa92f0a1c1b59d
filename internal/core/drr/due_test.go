package drr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// dueTwin drives a deadline index and a plain slice with the same operations.
type dueTwin struct {
	d     dues[int, int]
	held  []*entry[int, int]
	moves map[*entry[int, int]]int // to a lower bucket
	now   int64
}

func (w *dueTwin) insert(due int64) {
	e := &entry[int, int]{head: head{due: due}, bucket: noBucket}
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
		earliest = min(earliest, e.due)
	}
	return earliest
}

// stingy is the budget of each look.
const stingy = 3

// look is expired, as often as it takes. It counts how often each entry moves: only to
// lower buckets, a bounded number of times, and a few at each look.
func (w *dueTwin) look() (*entry[int, int], error) {
	for {
		before := make([]int8, len(w.held))
		for i, e := range w.held {
			before[i] = e.bucket
		}
		budget, moved := stingy, 0
		found, more := w.d.expired(w.now, &budget)
		for i, e := range w.held {
			if e.bucket == before[i] {
				continue
			}
			moved++
			if w.moves[e]++; e.bucket > before[i] || w.moves[e] > 64 {
				return nil, fmt.Errorf("due %d: from bucket %d to %d, in %d moves", e.due, before[i], e.bucket, w.moves[e])
			}
		}
		switch {
		case moved > stingy-budget || budget < 0: // one may move twice
			return nil, fmt.Errorf("%d moved in one look, %d of %d left", moved, budget, stingy)
		case more && (found != nil || budget > 0 || w.d.bound() >= w.now):
			return nil, fmt.Errorf("there may be more, with %d moves left, found %v, bound %d at %d", budget, found, w.d.bound(), w.now)
		case !more:
			return found, nil
		}
		if err := w.check(); err != nil {
			return nil, err
		}
	}
}

// expire takes out at most n expired entries.
func (w *dueTwin) expire(n int) error {
	for range n {
		e, err := w.look()
		if err != nil {
			return err
		}
		if e == nil {
			if earliest := w.earliest(); earliest < w.now {
				return fmt.Errorf("nothing expired at %d, want %d", w.now, earliest)
			}
			if w.now > 0 && w.d.bound() < w.now {
				return fmt.Errorf("at %d, with nothing expired, one may be due at %d", w.now, w.d.bound())
			}
			return nil
		}
		i := slices.Index(w.held, e)
		if i < 0 || e.due >= w.now {
			return fmt.Errorf("due %d expired at %d, index %d", e.due, w.now, i)
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
		case 13: // and is not asked again until later
			budget := int(x % 8)
			_, _ = w.d.expired(w.now, &budget)
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
	race.OneGoroutine(t)
	r := rand.New(rand.NewPCG(7, 7))
	w := dueTwin{moves: map[*entry[int, int]]int{}}
	n, span := 3000, int64(1<<20)
	if testing.Short() {
		n, span = 1000, 1<<18
	}
	sorted := make([]int64, n)
	for i := range sorted {
		sorted[i] = r.Int64N(span)
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
		if e, err := w.look(); e != nil || err != nil {
			t.Fatalf("at %d: %v expired once more, %v", w.now, e, err)
		}
	}
}

// TestDuesClockBack: a caller whose clock is behind gets what has expired by its own
// clock, and what others have found to have expired by theirs.
func TestDuesClockBack(t *testing.T) {
	w := dueTwin{now: 1000, moves: map[*entry[int, int]]int{}}
	for _, due := range []int64{500, 999, -5, 1000, 2000} {
		w.insert(due)
	}
	for _, step := range []struct {
		now int64
		n   int
	}{{-5, 0}, {-4, 1}, {0, 0}, {700, 1}, {800, 1}, {1000, 0}, {1001, 1}} {
		if step.now == 800 {
			w.now = 1000
			if e, err := w.look(); e == nil || err != nil {
				t.Fatalf("nothing expired: %v", err)
			}
		}
		n := 0
		for w.now = step.now; ; n++ {
			budget := stingy
			e, more := w.d.expired(w.now, &budget)
			if e == nil && !more {
				break
			}
			if e.due > 1000 {
				t.Fatalf("at %d: due %d expired", step.now, e.due)
			}
			w.remove(slices.Index(w.held, e))
		}
		if n != step.n {
			t.Fatalf("at %d: %d expired, want %d", step.now, n, step.n)
		}
	}
}

// idleStrings is a host that does nothing.
type idleStrings struct{}

func (idleStrings) Expired(*Tenant[string, int], *Task[int]) {}

// TestReclaimIsBounded: all tasks are in one bucket, and none has expired, when its time
// comes. No call moves more than a few hundred; what has expired among them is found
// by calling again, and NextDue says that it is worth while.
func TestReclaimIsBounded(t *testing.T) {
	const n, base = 5000, int64(1 << 40)
	q := New[string, int](Config{}, idleStrings{})
	var a Tenant[string, int]
	a.Init("a", 1)
	for i := range n {
		q.Push(&a, &Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: base + 1000 + int64(i)})
	}
	q.Push(&a, &Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: base + 1})
	bucketOf := map[*entry[string, int]]int8{}
	for e := a.line.tasks.head; e != nil; e = e.next {
		bucketOf[e] = e.bucket
	}
	calls := 0
	for more := true; more; calls++ {
		if due := q.NextDue(); due > base+1 {
			t.Fatalf("call %d: NextDue %d, and one was due at %d", calls, due, base+1)
		}
		more = q.Reclaim(base+500, 10)
		moved := 0
		for e := a.line.tasks.head; e != nil; e = e.next {
			if e.bucket != bucketOf[e] {
				moved++
				bucketOf[e] = e.bucket
			}
		}
		if moved > moveBudget {
			t.Fatalf("call %d moved %d tasks", calls, moved)
		}
		if calls > n {
			t.Fatal("it does not come to an end")
		}
	}
	if q.Len() != n || q.NextDue() < base+500 {
		t.Errorf("%d tasks left, the next one due at %d, want %d, %d", q.Len(), q.NextDue(), n, base+1000)
	}
	if calls < n/moveBudget {
		t.Errorf("%d calls: the tasks were not in one bucket, and this test shows nothing", calls)
	}
}
