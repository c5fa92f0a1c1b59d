package compute

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// Behaviour 3: with Detach a call returns when its context ends, though exec is deaf.
func TestDetachReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newMaker()
		m.deaf = true
		d := openWith(t, m, config{Detach: true}, m.exec)
		release := m.hold("k")
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		a := d.start(ctx, "a", "k")
		time.Sleep(time.Second)
		synctest.Wait()
		a.failed(None, context.DeadlineExceeded)
		if st := d.Stats(); st.Executing != 1 || st.Abandoned != 1 {
			t.Errorf("executing %d, abandoned %d", st.Executing, st.Abandoned)
		}
		release()
		synctest.Wait()
	})
}

// Behaviour 3: no call waits longer than MaxQueueAge, whichever call leads, and whatever its
// context; all calls get a refused leader's error.
func TestMaxQueueAge(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.Limit = cfg.Groups
		d := open(t, cfg)
		var releases []func()
		for i := range 3 * cfg.Groups { // some of each group
			releases = append(releases, d.m.hold(fmt.Sprint(i)))
			d.start(background, "a", fmt.Sprint(i))
		}
		if d.Stats().Executing != cfg.Groups {
			t.Fatalf("executing %d", d.Stats().Executing)
		}
		long, cancel := context.WithTimeout(background, time.Hour)
		defer cancel()
		leader := d.start(long, "a", "k")
		time.Sleep(2900 * time.Millisecond)
		follower := d.start(background, "a", "k")
		leader.pending()
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		leader.failed(None, firq.ErrTimeout)
		follower.failed(None, firq.ErrTimeout)
		if st := d.Stats(); st.RefusedTimeout != uint64(2*cfg.Groups)+2 || st.Waiting != 0 {
			t.Errorf("refused %d, waiting %d", st.RefusedTimeout, st.Waiting)
		}
		for _, release := range releases {
			release()
		}
		synctest.Wait()
	})
}

// A caller that gets the baton late has waited already.
func TestMaxQueueAgeCountsFromTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{Limit: 1})
		release := d.m.hold("busy")
		d.start(background, "a", "busy")
		ctx, cancel := context.WithCancel(background)
		d.start(ctx, "a", "k")
		time.Sleep(time.Second)
		second := d.start(background, "a", "k")
		time.Sleep(1900 * time.Millisecond)
		cancel()
		time.Sleep(1000 * time.Millisecond)
		synctest.Wait()
		second.pending()
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		second.failed(None, firq.ErrTimeout)
		release()
		synctest.Wait()
	})
}

func TestMaxWaiters(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.MaxWaiters = 4
		d := open(t, cfg)
		release := d.m.hold("k")
		var all []*answered
		for range 5 {
			all = append(all, d.start(background, "a", "k"))
		}
		d.start(background, "a", "k").failed(None, ErrTooManyWaiters).failed(None, firq.ErrRejected)
		if st := d.Stats(); st.RefusedWaiters != 1 || st.Refused != 1 {
			t.Errorf("refused %d, %d", st.Refused, st.RefusedWaiters)
		}
		release()
		synctest.Wait()
		for i, a := range all {
			a.is([]Source{Executed, Coalesced}[min(i, 1)], "a/k#1")
		}
	})
}

func TestNoCoalesce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{NoCoalesce: true, Limit: 3, TTL: time.Minute})
		release := d.m.hold("k")
		for range 3 {
			d.start(background, "a", "k")
		}
		if d.m.count("k") != 3 {
			t.Errorf("executed %d times", d.m.count("k"))
		}
		d.Forget("a", "k")
		release()
		synctest.Wait()
		if _, _, kept := d.Peek("a", "k"); kept {
			t.Error("what was forgotten is kept")
		}
	})
}
