package compute

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
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

// Behaviour 2: one execution for all who come meanwhile.
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

// Behaviour 2: the end of an executing leader's context does not hurt who joined.
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

// All of them leave while one of them has the baton, and then somebody comes.
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

// Behaviour 2: an execution that nobody waits for is cancelled and cannot be joined; what
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
			t.Error("it has joined what nobody waits for")
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

// Behaviour 3: no call waits longer than MaxQueueAge, whoever leads, and whatever its
// context; a refused leader's error is everybody's.
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

// Who gets the baton late has waited already.
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

// Behaviour 5.
func TestPanic(t *testing.T) {
	boom := errors.New("boom")
	for name, f := range map[string]func(){"panic": func() { panic(boom) }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, cfg config) {
				cfg.Limit, cfg.Groups, cfg.TTL = 1, 1, time.Minute
				block := make(chan struct{})
				d := openWith(t, newMaker(), cfg, func(context.Context, call) (string, error) {
					<-block
					f()
					return "", nil
				})
				leader, follower := d.start(background, "a", "k"), d.start(background, "a", "k")
				close(block)
				synctest.Wait()
				for range 3 { // the slot and the flight came back
					d.start(background, "a", "k")
				}
				st := d.Stats()
				if st.Panics != 4 || st.Failed != 4 || st.Entries != 0 {
					t.Errorf("panics %d, failed %d, entries %d", st.Panics, st.Failed, st.Entries)
				}
				var p *PanicError
				if !errors.As(follower.err, &p) || follower.info.Source != Coalesced {
					t.Fatalf("the follower got %v", follower.err)
				}
				if name == "panic" && (p.Value != boom || len(p.Stack) == 0 || !errors.Is(follower.err, boom) || !leader.done.Load()) {
					t.Errorf("value %v, stack of %d bytes, leader %v", p.Value, len(p.Stack), leader.err)
				}
				if name == "goexit" && (p.Value != nil || leader.done.Load() != cfg.Detach) {
					t.Errorf("value %v, leader returned %t", p.Value, leader.done.Load())
				}
			})
		})
	}
}

// Behaviour 5: a panic of TTLFor, Weigh or ErrorTTL is that of the execution; one of Cost or
// Clone goes to the caller.
func TestPanicOfConfig(t *testing.T) {
	bad := errors.New("bad")
	for name, cfg := range map[string]config{
		"TTLFor":   {TTLFor: func(string, string, string) time.Duration { panic("x") }},
		"Weigh":    {TTL: time.Minute, Size: 10, Weigh: func(string, string) int64 { panic("x") }},
		"ErrorTTL": {ErrorTTL: func(error) time.Duration { panic("x") }},
		"goexit":   {TTLFor: func(string, string, string) time.Duration { runtime.Goexit(); return 0 }, Detach: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Limit = 1
			d := open(t, cfg)
			if name == "ErrorTTL" {
				d.m.failWith(bad)
			}
			for range 2 {
				d.ask(background, "a", "k")
				var p *PanicError
				if a := d.ask(background, "a", "k"); !errors.As(a.err, &p) || a.info.Source != Executed {
					t.Fatalf("%+v, %v", a.info, a.err)
				}
			}
			if st := d.Stats(); st.Panics != 4 || st.Entries != 0 {
				t.Errorf("panics %d, entries %d", st.Panics, st.Entries)
			}
		})
	}
	for name, cfg := range map[string]config{
		"Cost":       {Cost: func(string, string) int64 { panic("mine") }},
		"Clone":      {Clone: func(string) string { panic("mine") }},
		"QuantumFor": {Gate: gate.Config[string]{MaxInFlightPerTenant: 1, QuantumFor: func(string) int64 { panic("mine") }}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Limit, cfg.TTL = 1, time.Minute
			d := open(t, cfg)
			for range 3 {
				func() {
					defer func() {
						if v := recover(); v != "mine" {
							t.Errorf("panicked with %v", v)
						}
					}()
					_, _ = d.Do(background, "a", "k")
				}()
			}
		})
	}
}

// A leader that panics before it executes hands over.
func TestPanicHandsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var n atomic.Int64
		first := make(chan struct{})
		d := open(t, config{Cost: func(string, string) int64 {
			if n.Add(1) == 1 {
				<-first
				panic("mine")
			}
			return 1
		}})
		go func() {
			defer func() { _ = recover() }()
			_, _ = d.Do(background, "a", "k")
		}()
		synctest.Wait()
		follower := d.start(background, "a", "k")
		close(first)
		synctest.Wait()
		follower.is(Executed, "a/k#1")
	})
}

// Keys that are not equal to themselves are neither kept nor joined; tenants are refused;
// what cannot be compared panics as in a map.
func TestOddKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		block := make(chan struct{})
		var n atomic.Int64
		s, err := New(func(context.Context, Call[any, any]) (int64, error) { <-block; return n.Add(1), nil }, Config[any, any, int64]{TTL: time.Minute, Limit: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		nan := func() any { var zero float64; return zero / zero }()
		for range 2 {
			go func() { _, _ = s.Do(background, "a", nan) }()
		}
		synctest.Wait()
		if st := s.Stats(); st.Executing != 2 {
			t.Errorf("executing %d, want 2", st.Executing)
		}
		close(block)
		synctest.Wait()
		s.Warm("a", nan, 7)
		s.Forget("a", nan)
		if st := s.Stats(); st.Entries != 0 || st.Executed != 2 || st.Flights != 0 {
			t.Errorf("entries %d, executed %d, flights %d", st.Entries, st.Executed, st.Flights)
		}
		if _, err := s.Do(background, nan, "k"); !errors.Is(err, firq.ErrInvalidTask) {
			t.Errorf("tenant NaN: %v", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a key that cannot be compared does not panic")
				}
			}()
			_, _ = s.Do(background, "a", []int{1})
		}()
		if st := s.Stats(); st.Executed != 2 || st.Executing != 0 {
			t.Errorf("%+v", st)
		}
	})
}
