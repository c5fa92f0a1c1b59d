//go:build firq_failpoints

package ring

import (
	"slices"
	"testing"

	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/internal/proof/interleave"
)

// scene is a ring, and a place that its consumer moves the values to.
type scene struct {
	*interleave.Schedule
	r     MPSC[int]
	moved []int
}

// push adds a value; full reports that there was no room.
func (sc *scene) push(values ...int) (full bool) {
	for _, v := range values {
		full = !sc.r.Push(v) || full
	}
	return full
}

// move takes what is there. The values are seen in the ring until they are seen
// where they went.
func (sc *scene) move() {
	at, tail := sc.r.Head(), sc.r.Tail()
	for {
		failpoint.At("pop")
		v, ok := sc.r.Pop(&at, tail)
		if !ok {
			break
		}
		sc.moved = append(sc.moved, v)
	}
	failpoint.At("free")
	sc.r.Free()
}

// ask looks for a value that is there all the time, first where they go.
func (sc *scene) ask() {
	for {
		before := sc.r.Version()
		failpoint.At("moved?")
		if len(sc.moved) > 0 {
			return
		}
		failpoint.At("ready?")
		if sc.r.Ready() {
			return
		}
		failpoint.At("same?")
		if sc.r.Version() == before {
			sc.Errorf("nothing to be seen, and the version has not changed")
			return
		}
	}
}

func TestSchedules(t *testing.T) {
	for name, c := range map[string]struct {
		preemptions int
		f           func(sc *scene)
	}{
		"two push": {4, func(sc *scene) {
			full := false
			sc.Go("first", func() { full = sc.push(1, 2) || full })
			sc.Go("second", func() { full = sc.push(11, 12) || full })
			sc.Run()
			sc.move()
			if !full {
				sc.order(1, 2)
				sc.order(11, 12)
			}
			if got := len(sc.moved); full || got != 4 {
				sc.Errorf("%v of four values in a ring of four, full: %t", sc.moved, full)
			}
		}},
		"push and take": {3, func(sc *scene) {
			sc.Go("first", func() { sc.push(1, 2) })
			sc.Go("second", func() { sc.push(11) })
			sc.Go("consumer", sc.move)
			sc.Run()
			sc.move()
			sc.order(1, 2)
			if len(sc.moved) != 3 {
				sc.Errorf("%v of three values", sc.moved)
			}
		}},
		// The ring has four slots.
		"too many": {2, func(sc *scene) {
			sc.push(1, 2, 3)
			full := 0
			for i, name := range []string{"first", "second"} {
				sc.Go(name, func() {
					if sc.push(11 + i) {
						full++
					}
				})
			}
			sc.Go("consumer", sc.move)
			sc.Run()
			sc.move()
			sc.order(1, 2, 3)
			if len(sc.moved) != 5-full || full > 1 {
				sc.Errorf("%v of five values, %d refused", sc.moved, full)
			}
		}},
		// All have seen too little when it begins, and one of them says so late.
		"seen late": {3, func(sc *scene) {
			sc.push(1, 2, 3, 4)
			sc.move()
			full := 0
			for i, name := range []string{"first", "second"} {
				sc.Go(name, func() {
					for n := range 2 {
						if sc.push(10*i + 10 + n) {
							full++
						}
					}
				})
			}
			sc.Go("consumer", sc.move)
			sc.Run()
			sc.move()
			for _, v := range []int{5, 6, 7, 8} {
				if sc.push(v) {
					sc.Errorf("full, with all taken")
				}
			}
			if !sc.push(9) {
				sc.Errorf("five values in a ring of four")
			}
			sc.move()
			sc.order(5, 6, 7, 8)
			if len(sc.moved) != 12-full || full > 0 {
				sc.Errorf("%v of twelve values, %d refused", sc.moved, full)
			}
		}},
		"taken": {3, func(sc *scene) {
			sc.push(1)
			sc.Go("consumer", sc.move)
			sc.Go("asker", sc.ask)
			sc.Run()
		}},
		"taken behind a hole": {3, func(sc *scene) {
			sc.r.tail.Add(1) // a producer that was stopped
			sc.push(1)
			sc.Go("consumer", sc.move)
			sc.Go("asker", sc.ask)
			sc.Run()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Explore(t, c.preemptions, func(ip *interleave.Schedule) {
				sc := &scene{Schedule: ip}
				sc.r.InitAt(4, 1<<TicketBits-2)
				c.f(sc)
			})
		})
	}
}

// order fails unless the values were taken, in this order.
func (sc *scene) order(values ...int) {
	last := -1
	for _, v := range values {
		at := slices.Index(sc.moved, v)
		if at < 0 || at < last {
			sc.Errorf("%v came as %v", values, sc.moved)
			return
		}
		last = at
	}
}
