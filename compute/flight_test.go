package compute

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// Behaviour 1: a key belongs to its tenant.
func TestTenantsDoNotShareKeys(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.TTL = time.Minute
		d := open(t, cfg)
		for _, source := range []Source{Executed, Hit} {
			for _, tenant := range []string{"a", "b"} {
				d.ask(background, tenant, "k").is(source, tenant+"/k#"+map[string]string{"a": "1", "b": "2"}[tenant])
			}
		}
	})
}

// Behaviour 1: a hit does not look at ctx, but nil is an error.
func TestContextOfHit(t *testing.T) {
	d := open(t, config{TTL: time.Minute})
	d.ask(background, "a", "k")
	ctx, cancel := context.WithCancel(background)
	cancel()
	d.ask(ctx, "a", "k").is(Hit, "a/k#1")
	d.ask(ctx, "a", "other").failed(None, context.Canceled)
	if _, err := d.Do(nil, "a", "k"); !errors.Is(err, firq.ErrInvalidArgument) { //nolint:staticcheck // that is the test
		t.Errorf("nil context: %v", err)
	}
}

// Behaviour 2: one execution for all callers that come before it ends.
func TestHerdExecutesOnce(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		d := open(t, cfg)
		release := d.m.hold("k")
		all := []*answered{d.start(background, "a", "k")}
		for range 500 {
			all = append(all, d.start(background, "a", "k"))
		}
		time.Sleep(time.Second)
		release()
		synctest.Wait()
		all[0].is(Executed, "a/k#1")
		for _, a := range all[1:] {
			if a.is(Coalesced, "a/k#1"); a.info.Wait != time.Second || a.info.Group != all[0].info.Group {
				t.Fatalf("%+v", a.info)
			}
		}
	})
}

// Behaviour 2: never a second execution just after the first was published.
func TestNeverTwice(t *testing.T) {
	for _, detach := range []bool{false, true} {
		for range 300 {
			d := open(t, config{TTL: time.Minute, Detach: detach, Size: 16})
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() { d.ask(background, "a", "k") })
			}
			wg.Wait()
			if n := d.m.count("k"); n != 1 {
				t.Fatalf("executed %d times", n)
			}
		}
	}
}

// Behaviour 2: the end of an executing leader's context does not hurt callers that joined.
func TestExecutingLeaderLeaves(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		d := open(t, cfg)
		release := d.m.hold("k")
		ctx, cancel := context.WithCancel(background)
		leader := d.start(ctx, "a", "k")
		follower := d.start(background, "a", "k")
		cancel()
		synctest.Wait()
		if cfg.Detach {
			leader.failed(None, context.Canceled)
		} else {
			leader.pending()
		}
		late := d.start(background, "a", "k")
		release()
		synctest.Wait()
		follower.is(Coalesced, "a/k#1")
		late.is(Coalesced, "a/k#1")
		if !cfg.Detach {
			leader.is(Executed, "a/k#1") // caller-runs: its value, though its context ended
		}
		if st := d.Stats(); st.Abandoned != 0 {
			t.Errorf("abandoned %d", st.Abandoned)
		}
	})
}

// Behaviour 2: a queued leader hands over, again and again.
func TestQueuedLeaderHandsOver(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.Limit, cfg.Groups = 1, 1
		d := open(t, cfg)
		release := d.m.hold("busy")
		busy := d.start(background, "a", "busy")
		var all []*answered
		var cancels []context.CancelFunc
		for range 5 {
			ctx, cancel := context.WithCancel(background)
			cancels = append(cancels, cancel)
			all = append(all, d.start(ctx, "a", "k"))
		}
		for i, cancel := range cancels[:4] {
			cancel()
			synctest.Wait()
			all[i].failed(None, context.Canceled)
			for _, a := range all[i+1:] {
				a.pending()
			}
		}
		release()
		synctest.Wait()
		busy.is(Executed, "a/busy#1")
		all[4].is(Executed, "a/k#1")
		cancels[4]()
	})
}

// All of them leave while one of them has the baton, and then another call comes.
func TestEverybodyLeavesTheQueue(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.Limit, cfg.Groups = 1, 1
		d := open(t, cfg)
		release := d.m.hold("busy")
		d.start(background, "a", "busy")
		ctx, cancel := context.WithCancel(background)
		for range 5 {
			d.start(ctx, "a", "k")
		}
		cancel()
		synctest.Wait()
		if st := d.Stats(); st.GaveUp != 5 || st.Waiting != 0 || st.Flights != 1 {
			t.Errorf("gave up %d, waiting %d, flights %d", st.GaveUp, st.Waiting, st.Flights)
		}
		a := d.start(background, "a", "k")
		release()
		synctest.Wait()
		a.is(Executed, "a/k#1")
	})
}

// Behaviour 2: an execution that no call waits for is cancelled and cannot be joined; what
// it returns all the same is kept.
func TestAbandoned(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.TTL = time.Minute
		m := newMaker()
		told := make(chan error, 1)
		finish := make(chan struct{})
		var n atomic.Int64
		d := openWith(t, m, cfg, func(ctx context.Context, c call) (string, error) {
			if n.Add(1) > 1 {
				return "new", nil
			}
			<-ctx.Done()
			told <- ctx.Err()
			<-finish
			return "old", nil
		})
		ctx, cancel := context.WithCancel(background)
		leader, follower := d.start(ctx, "a", "k"), d.start(ctx, "a", "k")
		cancel()
		synctest.Wait()
		follower.failed(None, context.Canceled)
		if err := <-told; err != context.Canceled {
			t.Errorf("exec saw %v", err)
		}
		d.start(background, "a", "k").is(Executed, "new")
		if st := d.Stats(); st.Abandoned != 1 || st.Flights != 1 {
			t.Errorf("abandoned %d, flights %d", st.Abandoned, st.Flights)
		}
		close(finish)
		synctest.Wait()
		if !cfg.Detach {
			leader.is(Executed, "old")
		}
		d.ask(background, "a", "k").is(Hit, "old")
	})
}

// The same, of an execution that has not looked at its context yet.
func TestAbandonedUnseen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newMaker()
		m.deaf = true
		d := openWith(t, m, config{Limit: 3}, m.exec)
		release := m.hold("k")
		ctx, cancel := context.WithCancel(background)
		leader := d.start(ctx, "a", "k")
		cancel()
		second := d.start(background, "a", "k")
		if m.count("k") != 2 {
			t.Error("it has joined a flight without waiters")
		}
		release()
		synctest.Wait()
		leader.is(Executed, "a/k#1")
		second.is(Executed, "a/k#2")
	})
}

type ctxKey struct{}

// Behaviour 2: exec's context has the leader's values, and no deadline.
func TestContextOfExec(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		d := openWith(t, newMaker(), cfg, func(ctx context.Context, c call) (string, error) {
			if v := ctx.Value(ctxKey{}); v != "leader" {
				t.Errorf("value %v", v)
			}
			if _, has := ctx.Deadline(); has || ctx.Err() != nil || context.Cause(ctx) != nil {
				t.Errorf("deadline %t, error %v, cause %v", has, ctx.Err(), context.Cause(ctx))
			}
			sub, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			time.Sleep(10 * time.Second) // longer than the leader's deadline
			return "v", sub.Err()
		})
		ctx, cancel := context.WithTimeout(context.WithValue(background, ctxKey{}, "leader"), 5*time.Second)
		defer cancel()
		leader := d.start(ctx, "a", "k")
		follower := d.start(background, "a", "k")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		follower.is(Coalesced, "v")
		if cfg.Detach {
			leader.failed(None, context.DeadlineExceeded)
		} else {
			leader.is(Executed, "v")
		}
	})
}
