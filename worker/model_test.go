package worker_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/firq-go/firq/worker"
)

// want is what the options say about one handler that ignores its context, by
// arithmetic: when each hook has to come since it started, 0 for never.
type want struct{ slow, timedOut, stuck time.Duration }

func model(o options, took, deadline time.Duration) (w want) {
	if o.SlowAfter > 0 && took >= o.SlowAfter {
		w.slow = o.SlowAfter
	}
	if o.Timeout > 0 && took >= o.Timeout {
		w.timedOut = o.Timeout
	}
	cancelled := time.Duration(1<<63 - 1)
	if o.TimeoutMode == worker.Cancel {
		cancelled = o.Timeout
	}
	if deadline > 0 && !o.IgnoreDeadline {
		cancelled = min(cancelled, deadline)
	}
	if took > cancelled && took-cancelled > o.StuckAfter {
		w.stuck = cancelled + o.StuckAfter
	}
	return w
}

// TestModel: random handlers, one after another on one worker, against the
// arithmetic above, to the nanosecond. Even times are limits, odd ones are
// handlers, so that nothing happens at the same instant.
func TestModel(t *testing.T) {
	even := rapid.Map(rapid.IntRange(1, 20), func(n int) time.Duration { return time.Duration(2 * n) })
	maybe := rapid.OneOf(rapid.Just(time.Duration(0)), even)
	rapid.Check(t, func(rt *rapid.T) {
		o := options{
			Concurrency:    1,
			SlowAfter:      maybe.Draw(rt, "slow"),
			Timeout:        maybe.Draw(rt, "timeout"),
			StuckAfter:     even.Draw(rt, "stuck"),
			IgnoreDeadline: rapid.Bool().Draw(rt, "ignore"),
		}
		if o.Timeout > 0 && rapid.Bool().Draw(rt, "cancel") {
			o.TimeoutMode = worker.Cancel
		}
		n := rapid.IntRange(1, 20).Draw(rt, "handlers")
		took, deadline := make([]time.Duration, n), make([]time.Duration, n)
		for i := range n {
			took[i] = time.Duration(2*rapid.IntRange(0, 60).Draw(rt, "took") + 1)
			deadline[i] = maybe.Draw(rt, "deadline")
		}
		synctest.Test(t, func(t *testing.T) {
			slow, late, stuck := &record{}, &record{}, &record{}
			o.OnSlow, o.OnTimeout, o.OnStuck = slow.hook, late.hook, stuck.hook
			f := newFeed(0)
			ctx, cancel := context.WithCancel(t.Context())
			p, wait := started(t, ctx, f, func(_ context.Context, it item) error {
				time.Sleep(took[it.Payload])
				return nil
			}, o)
			for i := range n {
				var at time.Time
				if deadline[i] > 0 {
					at = time.Now().Add(deadline[i])
				}
				f.put(i, at)
				synctest.Wait() // it has started
				for p.Stats().Running > 0 {
					time.Sleep(time.Nanosecond)
				}
			}
			cancel()
			if err := wait(); err != nil {
				rt.Error(err)
			}
			var w struct{ slow, timedOut, stuck uint64 }
			for i := range n {
				want := model(o, took[i], deadline[i])
				got := fmt.Sprint(slow.elapsed()[i], late.elapsed()[i], stuck.elapsed()[i])
				if got != fmt.Sprint(want.slow, want.timedOut, want.stuck) {
					rt.Errorf("handler %d of %v, deadline %v: hooks at %s, want %+v", i, took[i], deadline[i], got, want)
				}
				for count, at := range map[*uint64]time.Duration{&w.slow: want.slow, &w.timedOut: want.timedOut, &w.stuck: want.stuck} {
					if at > 0 {
						*count++
					}
				}
			}
			if s := p.Stats(); s.Slow != w.slow || s.TimedOut != w.timedOut || s.Stuck != w.stuck || s.Finished != uint64(n) {
				rt.Errorf("%+v, want %+v", s, w)
			}
		})
	})
}
