//go:build firq_failpoints

package credit

import (
	"testing"

	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/internal/interleave"
)

// scene is a pool of four stripes; the first goroutine uses stripe 0, and so on.
// All credits are in stripe 0 to begin with, if there are fewer than four.
type scene struct {
	*interleave.Play
	p   *Pool
	out int // credits that were taken and not given back
}

func (sc *scene) take() bool {
	if !sc.p.Take() {
		return false
	}
	if sc.out++; sc.out > sc.p.capacity() {
		sc.Errorf("%d credits are out, of %d", sc.out, sc.p.capacity())
	}
	return true
}

func (sc *scene) must(who string) {
	if !sc.take() {
		sc.Errorf("%s was refused although there was a credit all the time", who)
	}
}

func (sc *scene) give() {
	failpoint.At("give")
	sc.out--
	sc.p.Give(1)
}

func TestPlays(t *testing.T) {
	for name, c := range map[string]struct {
		preemptions, capacity int
		f                     func(sc *scene)
	}{
		"the last credit": {4, 1, func(sc *scene) {
			got := 0
			for _, name := range []string{"first", "second"} {
				sc.Go(name, func() {
					if sc.take() {
						got++
					}
				})
			}
			sc.Run()
			if got != 1 {
				sc.Errorf("%d have taken the only credit", got)
			}
		}},
		// The one who takes moves a credit to its own stripe as well.
		"none, while a credit moves": {4, 2, func(sc *scene) {
			none := false
			sc.Go("idle", func() {})
			sc.Go("taker", func() { sc.must("taker") })
			sc.Go("asker", func() { none = sc.p.None() })
			sc.Run()
			if none {
				sc.Errorf("none left, with one out of two")
			}
		}},
		"two take, while a credit moves": {4, 2, func(sc *scene) {
			sc.Go("idle", func() {})
			sc.Go("first", func() { sc.must("first") })
			sc.Go("second", func() { sc.must("second") })
			sc.Run()
		}},
		"three take, and there are two": {3, 2, func(sc *scene) {
			sc.Go("first", func() { sc.take() })
			sc.Go("second", func() {
				if sc.take() {
					sc.give()
				}
			})
			sc.Go("third", func() { sc.take() })
			sc.Run()
		}},
		"to and fro": {3, 2, func(sc *scene) {
			sc.Go("first", func() { sc.must("first"); sc.give() })
			sc.Go("second", func() { sc.must("second"); sc.give() })
			sc.Run()
		}},
		// What one goroutine holds at most leaves one for the other.
		"never none": {3, 3, func(sc *scene) {
			none := false
			sc.Go("first", func() { sc.must("first"); sc.give() })
			sc.Go("second", func() { sc.must("second"); sc.give() })
			sc.Go("asker", func() { none = sc.p.None() })
			sc.Run()
			if none {
				sc.Errorf("none left, with two out of three at most")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Explore(t, c.preemptions, func(ip *interleave.Play) {
				sc := &scene{Play: ip, p: newStriped(c.capacity, 4)}
				c.f(sc)
				if free, sure := sc.p.Free(); !sure || free != c.capacity-sc.out {
					sc.Errorf("%d free in the end (sure: %t), and %d out of %d", free, sure, sc.out, c.capacity)
				}
			})
		})
	}
}

// hopper moves the two credits of a pool of two stripes away from where a look is
// about to look, for a number of times.
type hopper struct {
	failpoint.Hook
	p         *Pool
	processor int
	busy      bool
	looks     int
}

func (h *hopper) At(point string) {
	if h.busy || h.looks == 0 || point != "credit look" && point != "credit look again" {
		return
	}
	h.looks--
	h.busy = true
	was := h.processor
	h.processor = h.looks % 2 // 1 before stripe 0 is looked at, and 0 before 1
	if h.p.Take() {           // from the other stripe, and the second credit comes along
		h.p.Give(1)
	}
	h.processor = was
	h.busy = false
}

func (h *hopper) Stuck(string) {} // the next look is not disturbed

func (h *hopper) Processor() (int, bool) { return h.processor, true }

// TestPlayCreditsHop: both looks see no credits, of two, because they are
// always where the look was before.
func TestPlayCreditsHop(t *testing.T) {
	p := newStriped(2, 2)
	p.stripes[0].word.Store(0)
	p.stripes[1].word.Store(2)
	h := &hopper{p: p, looks: 4} // two looks at two stripes
	defer failpoint.Set(h)()
	if p.None() {
		t.Error("none left, with two out of two")
	}
	if h.looks != 0 {
		t.Errorf("%d looks were not disturbed", h.looks)
	}
}
