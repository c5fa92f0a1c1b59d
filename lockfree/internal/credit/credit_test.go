package credit

import (
	"fmt"
	"testing"

	"github.com/firq-go/firq/internal/core/cpu"
)

// The shapes of pools that the tests go through. 3 processors make 4 stripes.
var shapes = []struct{ capacity, processors int }{
	{0, 1}, {1, 1}, {7, 1}, {1, 8}, {3, 3}, {7, 4}, {100, 16}, {64, 1000},
}

func eachShape(t *testing.T, f func(t *testing.T, p *Pool)) {
	for _, s := range shapes {
		t.Run(fmt.Sprintf("capacity=%d/processors=%d", s.capacity, s.processors), func(t *testing.T) {
			f(t, newWrapping(s.capacity, s.processors))
		})
	}
}

// Take takes one credit; false: there is none.
func (p *Pool) Take() bool { return p.TakeAt(cpu.Hint(), 1) == 1 }

// newWrapping returns a pool whose versions are about to wrap.
func newWrapping(capacity, processors int) *Pool {
	p := newStriped(capacity, processors)
	for i := range p.stripes {
		p.stripes[i].word.Add((1<<32 - 2) * version)
	}
	return p
}

// takeAt is Take for a caller on the processor of stripe i.
func (p *Pool) takeAt(i int) bool {
	own := &p.stripes[i]
	for {
		if own.take(1) > 0 {
			return true
		}
		if got, ok := p.refill(own, 1); ok {
			return got > 0
		}
	}
}

// giveAt is Give(1) on stripe i.
func (p *Pool) giveAt(i int) { p.stripes[i].word.Add(version + 1) }

// put moves all credits to stripe i.
func (p *Pool) put(i int) {
	for j := range p.stripes {
		w := p.stripes[j].word.Load()
		p.stripes[j].word.Store(w &^ credits)
	}
	p.stripes[i].word.Add(uint64(p.capacity()))
}

// wanter is a *testing.T or a *rapid.T.
type wanter interface {
	Helper()
	Errorf(format string, args ...any)
}

func (p *Pool) wantFree(t wanter, want int) {
	t.Helper()
	if free, sure := p.Free(); free != want || !sure {
		t.Errorf("Free = %d, %t; want %d and sure", free, sure, want)
	}
	if got := p.Out(); got != p.capacity()-want {
		t.Errorf("Out = %d, want %d", got, p.capacity()-want)
	}
	if got := p.None(); got != (want == 0) {
		t.Errorf("None = %t with %d free", got, want)
	}
}

// Exactly the capacity can be taken, and without concurrent calls Free is exact
// and sure at each step.
func TestTakeGive(t *testing.T) {
	eachShape(t, func(t *testing.T, p *Pool) {
		for range 3 {
			for i := range p.capacity() {
				p.wantFree(t, p.capacity()-i)
				if !p.Take() {
					t.Fatalf("Take %d of %d failed", i+1, p.capacity())
				}
			}
			p.wantFree(t, 0)
			if p.Take() {
				t.Fatal("one credit too many")
			}
			for i := range p.capacity() {
				p.Give(1)
				p.wantFree(t, i+1)
			}
		}
	})
}

// TakeAt gives as many credits as are asked for, or fewer if no stripe has that many, and at least one while
// any is left.
func TestTakeAt(t *testing.T) {
	eachShape(t, func(t *testing.T, p *Pool) {
		for n := 1; n <= p.capacity()+1; n += 3 {
			out := 0
			for out < p.capacity() {
				got := p.TakeAt(cpu.Hint(), n)
				if got < 1 || got > n {
					t.Fatalf("TakeAt(%d) = %d with %d free", n, got, p.capacity()-out)
				}
				out += got
				p.wantFree(t, p.capacity()-out)
			}
			if got := p.TakeAt(cpu.Hint(), n); got != 0 {
				t.Fatalf("TakeAt(%d) = %d of an empty pool", n, got)
			}
			p.Give(0)
			p.Give(-1)
			p.Give(out)
			p.wantFree(t, p.capacity())
		}
	})
}

// A caller on any stripe finds the credits of any other, and filling a stripe from another loses none.
func TestFoundInAnyStripe(t *testing.T) {
	eachShape(t, func(t *testing.T, p *Pool) {
		ends := []int{0, p.mask / 2, p.mask} // all pairs of 64 stripes take long
		for _, from := range ends {
			for _, own := range ends {
				p.put(from)
				for i := range p.capacity() {
					if !p.takeAt(own) {
						t.Fatalf("credits in %d, caller on %d: Take %d of %d failed", from, own, i+1, p.capacity())
					}
					p.wantFree(t, p.capacity()-i-1)
				}
				if p.takeAt(own) {
					t.Fatalf("credits in %d, caller on %d: one too many", from, own)
				}
				p.put(own)
			}
		}
	})
}

// An empty stripe is filled by half of what is left where it finds some, so that
// the next ones need not look elsewhere.
func TestRefillTakesHalf(t *testing.T) {
	p := newWrapping(21, 4)
	p.put(2)
	if !p.takeAt(0) {
		t.Fatal("Take failed")
	}
	for i, want := range []uint64{10, 0, 10, 0} {
		if got := p.stripes[i].word.Load() & credits; got != want {
			t.Errorf("stripe %d has %d credits, want %d", i, got, want)
		}
	}
	if m := int32(p.moving.Load()); m != 0 {
		t.Errorf("moving is %d at rest", m)
	}
}

// Every change leaves another word behind, so that look can tell that something
// was taken and given back between its two looks.
func TestVersions(t *testing.T) {
	changes := map[string]func(p *Pool){
		"take and give":        func(p *Pool) { p.Take(); p.Give(1) },
		"give and take":        func(p *Pool) { p.Give(1); p.Take() },
		"take and give two":    func(p *Pool) { p.Give(p.TakeAt(cpu.Hint(), 2)) },
		"moved there and back": func(p *Pool) { p.takeAt(p.mask); p.giveAt(0); p.takeAt(0); p.giveAt(0) },
	}
	for name, change := range changes {
		for _, processors := range []int{1, 2} {
			p := newWrapping(4, processors)
			p.put(0)
			before := words(p)
			change(p)
			if words(p) == before {
				t.Errorf("%d stripes, %s: the words are as before", len(p.stripes), name)
			}
		}
	}
}

func words(p *Pool) (w [maxStripes]uint64) {
	for i := range p.stripes {
		w[i] = p.stripes[i].word.Load()
	}
	return w
}

// Filling a stripe changes the versions of both stripes, so a call that looks while credits move from one to
// the other sees that its sum is not of one instant.
func TestRefillChangesBothVersions(t *testing.T) {
	p := newWrapping(4, 2)
	p.put(1)
	before := words(p)
	p.takeAt(0)
	after := words(p)
	for i := range p.stripes {
		if before[i]&^credits == after[i]&^credits {
			t.Errorf("the version of stripe %d is as before", i)
		}
	}
}

// look is not sure while credits are on their way between stripes.
func TestLookUnsureWhileMoving(t *testing.T) {
	p := newWrapping(4, 2)
	p.moving.Store(1)
	if free, sure := p.Free(); sure || free != 4 {
		t.Errorf("Free = %d, %t while a call moves credits", free, sure)
	}
	p.moving.Store(0)
	p.wantFree(t, 4)
}

// A sum of several instants may be too large, as a credit that moves is counted twice:
// the result stays within the capacity, so that Len is never below 0.
func TestFreeStaysWithinTheCapacity(t *testing.T) {
	p := newStriped(4, 2)
	p.moving.Store(1) // no look is sure
	p.stripes[0].word.Add(3)
	if free, sure := p.Free(); free != 4 || sure {
		t.Errorf("Free: %d, %t, want 4, false", free, sure)
	}
	if out := p.Out(); out != 0 {
		t.Errorf("Out: %d, want 0", out)
	}
}

func TestStripes(t *testing.T) {
	for _, x := range []struct{ processors, want int }{{0, 1}, {1, 1}, {2, 2}, {3, 4}, {64, 64}, {65, 64}, {1000, 64}} {
		p := newStriped(1, x.processors)
		if len(p.stripes) != x.want || p.mask != x.want-1 {
			t.Errorf("%d processors: %d stripes, mask %d; want %d", x.processors, len(p.stripes), p.mask, x.want)
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	p := newWrapping(2, 4)
	if n := testing.AllocsPerRun(200, func() {
		p.TakeAt(cpu.Hint(), 2)
		p.Take()
		p.Give(1)
		p.Give(1)
		p.Free()
		p.None()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func (p *Pool) capacity() int { return int(p.cap.Load()) }
