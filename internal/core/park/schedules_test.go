//go:build firq_failpoints

package park

import (
	"context"
	"testing"

	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/internal/proof/interleave"
)

// scene is a Parker over a number of tasks. Only one goroutine runs at a time.
type scene struct {
	*interleave.Schedule
	p       *Parker
	tasks   int
	waiters []*Waiter
}

// produce adds a task.
func (sc *scene) produce() {
	failpoint.At("publish")
	sc.tasks++
	failpoint.At("published")
	sc.p.Notify()
}

// consume takes as many tasks, one after the other.
func (sc *scene) consume(n int) {
	for range n {
		sc.one(context.Background())
	}
}

// one takes a task, as a core does; false: ctx was done.
func (sc *scene) one(ctx context.Context) bool {
	var w Waiter
	sc.waiters = append(sc.waiters, &w)
	defer sc.p.Found(&w)
	for {
		failpoint.At("look")
		sc.oneOnTheWay()
		if sc.tasks > 0 {
			sc.tasks--
			return true
		}
		if sc.p.Sleep(ctx, &w) != nil {
			return false
		}
	}
}

// oneOnTheWay fails if several consumers are on their way.
func (sc *scene) oneOnTheWay() {
	n := 0
	for _, w := range sc.waiters {
		if w.onTheWay {
			n++
		}
	}
	if n > 1 {
		sc.Errorf("%d are on their way", n)
	}
}

// end fails if a consumer sleeps while there is a task, or none will be woken any more.
func (sc *scene) end(sleepers ...string) {
	sc.Run()
	asleep := 0
	for _, name := range sleepers {
		if sc.Asleep(name) {
			asleep++
		}
	}
	if asleep > 0 && sc.tasks > 0 {
		sc.Errorf("%d sleep while there are %d tasks", asleep, sc.tasks)
	}
	if n := sc.p.Parked(); n != asleep {
		sc.Errorf("%d sleep, and the parker counts %d", asleep, n)
	}
	if sc.p.waking.Load() != 0 {
		sc.Errorf("a consumer is on its way for ever")
	}
	// All consumers wake up, to find something. It is not the rule that is tested.
	sc.waiters = nil
	sc.tasks += 10
	sc.p.WakeAll()
	sc.Run()
}

func TestSchedules(t *testing.T) {
	for name, c := range map[string]struct {
		preemptions int
		f           func(sc *scene)
	}{
		"a task, a sleeper": {4, func(sc *scene) {
			sc.Go("consumer", func() { sc.consume(1) })
			sc.Go("producer", sc.produce)
			sc.end("consumer")
		}},
		"two tasks, two sleepers": {3, func(sc *scene) {
			sc.Go("first", func() { sc.consume(1) })
			sc.Go("second", func() { sc.consume(1) })
			sc.Go("producer", func() { sc.produce(); sc.produce() })
			sc.end("first", "second")
		}},
		"two wake": {2, func(sc *scene) {
			sc.Go("first", func() { sc.consume(1) })
			sc.Go("second", func() { sc.consume(1) })
			sc.Go("a", sc.produce)
			sc.Go("b", sc.produce)
			sc.end("first", "second")
		}},
		// A producer wants to wake one and finds all awake; until it has taken back
		// that one is on its way, another producer relies on that one.
		"one wakes nobody": {4, func(sc *scene) {
			sc.Go("consumer", func() { sc.consume(2) })
			sc.Go("a", sc.produce)
			sc.Go("b", sc.produce)
			sc.end("consumer")
		}},
		// The sleeper that a producer saw has left; another consumer comes instead.
		"a wake-up that finds no sleeper": {3, func(sc *scene) {
			sc.Go("wakes", func() { sc.p.wakeOne() })
			sc.Go("consumer", func() { sc.consume(1) })
			sc.Go("producer", sc.produce)
			sc.end("consumer")
		}},
		"one is cancelled": {2, func(sc *scene) {
			ctx, cancel := context.WithCancel(context.Background())
			sc.Go("patient", func() { sc.consume(1) })
			sc.Go("cancelled", func() { sc.one(ctx) })
			sc.Go("cancel", cancel)
			sc.Go("producer", sc.produce)
			sc.end("patient", "cancelled")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Explore(t, c.preemptions, func(ip *interleave.Schedule) {
				sc := &scene{Schedule: ip}
				sc.p = New(func() bool { return sc.tasks > 0 })
				c.f(sc)
			})
		})
	}
}

// onceAt does something at the first mark of a name.
type onceAt struct {
	failpoint.Hook
	point string
	f     func()
}

func (o *onceAt) At(point string) {
	if f := o.f; point == o.point && f != nil {
		o.f = nil
		f()
	}
}

// TestScheduleAnotherOnTheWay: a consumer that was woken finds nothing, announces itself,
// and looks again. By then the wake-up for what it now sees has gone to another.
func TestScheduleAnotherOnTheWay(t *testing.T) {
	p := New(func() bool { return true })
	other := &sleeper{wake: make(chan struct{}, 1), index: -1}
	defer failpoint.Set(&onceAt{point: "C2 delist", f: func() {
		p.enlist(other)
		p.Notify()
	}})()
	w := Waiter{onTheWay: true}
	p.waking.Store(1)
	if err := p.Sleep(context.Background(), &w); err != nil {
		t.Fatal(err)
	}
	if len(other.wake) != 1 || w.onTheWay {
		t.Errorf("the other was woken: %t, and this one is on its way: %t", len(other.wake) == 1, w.onTheWay)
	}
}

// TestScheduleCancelledTakesTheMessage: a sleeper that is used again must not find the
// wake-up of the time before.
func TestScheduleCancelledTakesTheMessage(t *testing.T) {
	for range 100 { // which of the two comes first is left to chance
		p := New(func() bool { return false })
		ctx, cancel := context.WithCancel(context.Background())
		var s *sleeper
		restore := failpoint.Set(&onceAt{point: "C3 sleep", f: func() {
			s = p.sleepers[0]
			p.Notify()
			cancel()
		}})
		var w Waiter
		err := p.Sleep(ctx, &w)
		restore()
		if len(s.wake) != 0 {
			t.Fatalf("a message is left; Sleep returned %v", err)
		}
	}
}
