//go:build firq_failpoints

package credit

import (
	"testing"

	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/internal/proof/interleave"
)

// scene is a pool of four stripes; the first goroutine uses stripe 0, and so on.
// All credits are in stripe 0 to begin with, if there are fewer than four.
type scene struct {
	*interleave.Schedule
	p   *Pool
	out int // credits that were taken and not given back; at most the truth

	// most is the capacity that calls go by which begin now: the largest of those that
	// are just being set.
	most int
}

func (sc *scene) take() bool {
	most := sc.most
	if !sc.p.Take() {
		return false
	}
	if sc.out++; sc.out > most {
		sc.Errorf("%d credits are out, of %d", sc.out, most)
	}
	return true
}

// set lowers the capacity: a call that comes later goes by it.
func (sc *scene) set(n int) {
	sc.p.SetCap(n)
	sc.most = n
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

func TestSchedules(t *testing.T) {
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
		// The call that takes moves a credit to its own stripe as well.
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
		"none, while a credit is brought": {3, 1, func(sc *scene) {
			none := false
			sc.Go("idle", func() {})
			sc.Go("bringer", func() { sc.p.Bring(cpu.Hint()) })
			sc.Go("asker", func() { none = sc.p.None() })
			sc.Run()
			if none {
				sc.Errorf("none left, with one out of one")
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
			interleave.Explore(t, c.preemptions, func(ip *interleave.Schedule) {
				sc := &scene{Schedule: ip, p: newStriped(c.capacity, 4), most: c.capacity}
				c.f(sc)
				if free, sure := sc.p.Free(); !sure || free != c.capacity-sc.out {
					sc.Errorf("%d free in the end (sure: %t), and %d out of %d", free, sure, sc.out, c.capacity)
				}
			})
		})
	}
}

// TestSchedulesCap: the capacity changes, of a pool of two stripes.
func TestSchedulesCap(t *testing.T) {
	for name, c := range map[string]struct {
		preemptions, capacity int
		f                     func(sc *scene)
	}{
		"lower, while one comes back": {3, 2, func(sc *scene) {
			sc.must("first")
			sc.must("second")
			sc.Go("giver", func() { sc.give(); sc.take() })
			sc.Go("setter", func() { sc.set(1); sc.take() })
			sc.Run()
		}},
		"lower, while two take": {2, 3, func(sc *scene) {
			sc.Go("first", func() { sc.take() })
			sc.Go("second", func() { sc.take() })
			sc.Go("setter", func() { sc.set(1); sc.take() })
			sc.Run()
		}},
		"a debt is paid, and two come": {2, 2, func(sc *scene) {
			sc.must("first")
			sc.must("second")
			sc.set(1)
			sc.Go("giver", func() { sc.give(); sc.give() })
			sc.Go("first", func() { sc.take() })
			sc.Go("second", func() { sc.take() })
			sc.Run()
		}},
		"lower and higher at a time": {2, 2, func(sc *scene) {
			sc.must("first")
			sc.most = 3
			sc.Go("lower", func() { sc.p.SetCap(1) })
			sc.Go("higher", func() { sc.p.SetCap(3) })
			sc.Go("taker", func() { sc.take() })
			sc.Run()
		}},
		// The capacity is always more than what is out: no call may find that there is none.
		"none, while the capacity changes": {3, 3, func(sc *scene) {
			sc.must("first")
			none := false
			sc.Go("setter", func() { sc.p.SetCap(2); sc.p.SetCap(3) })
			sc.Go("asker", func() { none = sc.p.none() })
			sc.Run()
			if none {
				sc.Errorf("none left, with one out of two or three")
			}
		}},
		// The pool is shut when a credit too many comes back: there is one from then on.
		"a credit comes back to a pool that is shut": {3, 2, func(sc *scene) {
			sc.must("first")
			sc.must("second")
			sc.set(1)
			sc.give()
			sc.give()
			sc.Go("first", func() { sc.must("first"); sc.give() })
			sc.Go("asker", func() { sc.p.None() })
			sc.Run()
		}},
		// What is out and what is free always add up to the capacity.
		"the sum, while the capacity changes": {3, 3, func(sc *scene) {
			sc.must("first")
			sc.must("second")
			sc.Go("setter", func() { sc.p.SetCap(1); sc.p.SetCap(4) })
			sc.Go("asker", func() {
				if _, out, sure := sc.p.look(); sure && out != 2 {
					sc.Errorf("%d are out, of two", out)
				}
			})
			sc.Run()
		}},
		// The new credits are there before the capacity is.
		"home, while the capacity rises": {2, 1, func(sc *scene) {
			sc.must("first")
			sc.Go("setter", func() { sc.p.SetCap(3) })
			sc.Go("asker", func() {
				if sc.p.Home() {
					sc.Errorf("home, with one out")
				}
			})
			sc.Run()
		}},
		"the sum, while a debt changes": {3, 3, func(sc *scene) {
			for range 3 {
				sc.must("everybody")
			}
			sc.set(1)
			sc.Go("setter", func() { sc.p.SetCap(2); sc.p.SetCap(1) })
			sc.Go("asker", func() {
				if free, out, sure := sc.p.look(); sure && (out != 3 || free != -2 && free != -1) {
					sc.Errorf("%d are out, of three; %d free", out, free)
				}
			})
			sc.Run()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Explore(t, c.preemptions, func(ip *interleave.Schedule) {
				sc := &scene{Schedule: ip, p: newStriped(c.capacity, 2), most: c.capacity}
				c.f(sc)
				if free, sure := sc.p.Free(); !sure || free != max(sc.p.capacity()-sc.out, 0) || sc.p.Out() != sc.out {
					sc.Errorf("%d free in the end (sure: %t), and %d (%d) out of %d", free, sure, sc.out, sc.p.Out(), sc.p.capacity())
				}
				for sc.most = sc.p.capacity(); sc.out > 0; {
					sc.give()
				}
				for range sc.p.capacity() {
					sc.must("who comes last")
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

// TestScheduleCreditsHop: both looks see no credits, of two, because they are
// always where the look was before.
func TestScheduleCreditsHop(t *testing.T) {
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
