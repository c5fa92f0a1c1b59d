package actor

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// usedBy is the processor time that a System with one slot, in which f runs, has counted for all turns. It counts
// sleep outside of Await as such time.
func usedBy(t *testing.T, f func(s *System)) (used time.Duration) {
	bubble(t, func(t *testing.T) {
		r := NewRecorder()
		s := newSys(t, Config{Slots: 1, Handoff: -1, Metrics: r})
		defer s.Close()
		f(s)
		sleep(5000)
		synctest.Wait()
		for _, k := range r.Recorded().Kinds {
			used += k.Used
		}
	})
	return used
}

// The time that a handler waits is lent once, although waits are inside each other, or overlap: otherwise an
// actor would pay for less time than it has used.
func TestWaitsAreLentOnce(t *testing.T) {
	rest := func() error { sleep(10); return nil }
	rests := func(_ *box, c *Ctx) (any, error) { return nil, c.Await(rest) }
	for name, wait := range map[string]func(c *Ctx, idle Ref[*box]) error{
		"Await":          func(c *Ctx, _ Ref[*box]) error { return c.Await(rest) },
		"Await in Await": func(c *Ctx, _ Ref[*box]) error { return c.Await(func() error { return c.Await(rest) }) },
		"Call in Await": func(c *Ctx, idle Ref[*box]) error {
			return c.Await(func() error { _, err := do.Start(c, idle, rests).Wait(c); return err })
		},
		"inline Call in Await": func(c *Ctx, idle Ref[*box]) error {
			return c.Await(func() error { _, err := do.Call(c, idle, rests); return err })
		},
		"goroutines": func(c *Ctx, _ Ref[*box]) error {
			var all sync.WaitGroup
			for i := range 5 {
				all.Go(func() { _ = c.Await(func() error { sleep(i); return rest() }) })
			}
			all.Wait()
			return nil
		},
	} {
		used := usedBy(t, func(s *System) {
			a, idle := box0(t, s, "a"), box0(t, s, "idle")
			_ = do.Tell(bg, a, func(_ *box, c *Ctx) (any, error) {
				err := wait(c, idle)
				sleep(20)
				return nil, err
			})
		})
		if used != 20*time.Millisecond {
			t.Errorf("%s: %v", name, used)
		}
	}
}

// A goroutine that a handler has left behind in Await does not count in the next handler.
func TestWaitThatStays(t *testing.T) {
	used := usedBy(t, func(s *System) {
		a := box0(t, s, "a", Dedicated()) // both handlers on one goroutine
		for range 2 {
			_ = do.Tell(bg, a, func(_ *box, c *Ctx) (any, error) {
				go func() { _ = c.Await(func() error { sleep(1000); return nil }) }()
				synctest.Wait()
				return nil, nil
			})
			sleep(1)
			_ = do.Tell(bg, a, func(_ *box, c *Ctx) (any, error) {
				sleep(20)
				return nil, c.Await(func() error { sleep(10); return nil })
			})
			sleep(100)
		}
	})
	if used != 40*time.Millisecond {
		t.Error(used)
	}
}

// A handler that is abandoned is paid for: actors whose handlers run for their timeout would starve
// the others otherwise.
func TestAbandonedIsPaidFor(t *testing.T) {
	for _, read := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{Slots: 1, Handoff: -1})
			hog := box0(t, sup(t, s, "sup", Supervision{MaxRestarts: Unlimited}), "hog", WithHandlerTimeout(5*time.Millisecond, Stop))
			fair := box0(t, s, "fair")
			free := block(t, fair)
			var n [2]atomic.Int64 // readers run at the same time
			m := do
			if read {
				m = look
			}
			for range 200 {
				_ = m.Tell(bg, hog, func(*box, *Ctx) (any, error) { n[0].Add(1); sleep(6); return nil, nil })
				_ = do.Tell(bg, fair, func(*box, *Ctx) (any, error) { n[1].Add(1); sleep(5); return nil, nil })
			}
			free()
			sleep(500)
			s.Close()
			sleep(1000)
			if share := float64(n[0].Load()) / float64(n[1].Load()); share < 0.8 || share > 1.25 {
				t.Error(read, n[0].Load(), n[1].Load())
			}
		})
	}
}
