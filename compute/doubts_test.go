package compute

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Behaviour 3: exec's context has ended as soon as the leader's has, also for an exec that
// looks for the first time, or once only.
func TestContextHasEndedAtOnce(t *testing.T) {
	looks := map[string]func(context.Context) error{
		"Err": func(ctx context.Context) error { return ctx.Err() },
		"Done": func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return context.Canceled
			default:
				return nil
			}
		},
	}
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				d := openWith(t, newMaker(), config{}, func(ctx context.Context, _ call) (string, error) {
					if name == "Err" && ctx.Err() != nil {
						t.Error("it has ended before the leader's")
					}
					cancel() // it looks immediately: another goroutine may be about to end it
					return "", look(ctx)
				})
				d.ask(ctx, "a", "k").failed(None, context.Canceled)
				if st := d.Stats(); st.Abandoned != 1 || st.GaveUp != 1 || st.Failed != 1 {
					t.Errorf("abandoned %d, gave up %d, failed %d", st.Abandoned, st.GaveUp, st.Failed)
				}
			})
		})
	}
}

// shaky is a context whose Done panics.
type shaky struct{ context.Context }

func (shaky) Done() <-chan struct{} { panic("mine") }

// A call whose context panics has left: the others get their answer, and the last one of
// all leaves nothing behind.
func TestPanicOfContext(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.Limit, cfg.Groups = 1, 1
		d := open(t, cfg)
		release := d.m.hold("x")
		busy := d.start(background, "a", "x")
		ctx, cancel := context.WithCancel(background)
		leader := d.start(ctx, "a", "k")
		shake := func() {
			defer func() {
				if v := recover(); v != "mine" {
					t.Errorf("panicked with %v", v)
				}
			}()
			_, _ = d.Do(shaky{background}, "a", "k")
		}
		shake() // joins
		cancel()
		synctest.Wait()
		leader.failed(None, context.Canceled)
		if st := d.Stats(); st.Flights != 1 {
			t.Errorf("flights %d, want that of x", st.Flights)
		}
		shake() // leads
		follower := d.start(background, "a", "k")
		release()
		synctest.Wait()
		busy.is(Executed, "a/x#1")
		follower.is(Executed, "a/k#1")
	})
}

// Behaviour 8: a caller that has joined when Close comes gets firq.ErrClosed, also if it sees the
// end of the execution first.
func TestCloseIsWhatWasSeenFirst(t *testing.T) {
	s, err := New(newMaker().exec, config{})
	if err != nil {
		t.Fatal(err)
	}
	k, o := Key[string, string]{"a", "k"}, plain[string, string, string]()
	w := want[string, string, string]{k, s.hash(&k), nil}
	f := s.takePart(&w, &o).f
	f.begin(background, 0)
	if again := s.takePart(&w, &o); again.f != f || again.leads {
		t.Fatal("it has not joined")
	}
	_ = s.Close()
	f.publish(&execution[string, string, string]{outcome: outcome[string]{err: context.Canceled}})
	if a := f.joined(time.Now()); !errors.Is(a.err, firq.ErrClosed) || a.info.Source != None {
		t.Errorf("%+v", a)
	}
}

// What a cache of others panics with goes to the caller, and nothing is left: not the
// mark of a refresh, and not a count that Shutdown would wait for.
func TestPanicOfCache(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &moody{mapCache: newMapCache()}
		d := open(t, config{TTL: time.Second, Stale: time.Hour, Cache: m})
		d.ask(background, "a", "k").is(Executed, "a/k#1")
		time.Sleep(time.Second)
		m.bad.Store(2) // the Get of the refresh
		func() {
			defer func() {
				if v := recover(); v != "mine" {
					t.Errorf("panicked with %v", v)
				}
			}()
			_, _ = d.Do(background, "a", "k")
		}()
		d.ask(background, "a", "k").is(Stale, "a/k#1")
		synctest.Wait()
		d.ask(background, "a", "k").is(Hit, "a/k#2")
		if err := d.Shutdown(background); err != nil {
			t.Error(err)
		}
	})
}

// moody is a Cache one of whose Gets panics.
type moody struct {
	*mapCache
	bad atomic.Int64
}

func (c *moody) Get(k Key[string, string]) *Entry[string] {
	if c.bad.Add(-1) == 0 {
		panic("mine")
	}
	return c.mapCache.Get(k)
}

// A call that takes over from a refresh that has panicked leads like any other: its context
// counts.
func TestLeadsAfterRefresh(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var n atomic.Int64
		wait := make(chan struct{})
		d := open(t, config{TTL: time.Second, Stale: time.Hour, Cost: func(string, string) int64 {
			if n.Add(1) == 2 {
				<-wait
				panic("the refresh's")
			}
			return 1
		}})
		d.ask(background, "a", "k").is(Executed, "a/k#1")
		time.Sleep(time.Second)
		d.start(background, "a", "k").is(Stale, "a/k#1")
		ctx, cancel := context.WithCancel(background)
		release := d.m.hold("k")
		defer release()
		heir := d.start(ctx, "a", "k", NoStale())
		close(wait)
		synctest.Wait()
		heir.pending()
		cancel()
		synctest.Wait()
		heir.failed(None, context.Canceled)
		if st := d.Stats(); st.Behind != 0 || st.Abandoned != 1 {
			t.Errorf("behind %d, abandoned %d", st.Behind, st.Abandoned)
		}
	})
}

// ErrorTTL is not asked while StaleIfError may answer, and the first time afterwards.
func TestErrorTTLIsNotAsked(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		bad, asked := errors.New("bad"), 0
		cfg.TTL, cfg.StaleIfError = time.Second, time.Second
		cfg.ErrorTTL = func(error) time.Duration { asked++; return time.Minute }
		d := open(t, cfg)
		d.ask(background, "a", "k").is(Executed, "a/k#1")
		d.m.failWith(bad)
		time.Sleep(time.Second)
		if a := d.ask(background, "a", "k").is(Stale, "a/k#1"); a.info.Err != bad || a.info.Age != time.Second || a.info.Group != -1 {
			t.Errorf("%+v", a.info)
		}
		d.ask(background, "a", "k", NoStale()).failed(Executed, bad)
		d.ask(background, "a", "k", NoCache()).failed(Executed, bad)
		if asked != 0 {
			t.Errorf("asked %d times", asked)
		}
		time.Sleep(time.Second)
		d.ask(background, "a", "k").failed(Executed, bad)
		d.ask(background, "a", "k").failed(Hit, bad)
		if asked != 1 {
			t.Errorf("asked %d times, want 1", asked)
		}
		d.ask(background, "a", "k", NoCache()).failed(Executed, bad)
	})
}

// Flights counts what is being made, whether or not it can be joined, or will be kept.
func TestFlights(t *testing.T) {
	for name, cfg := range map[string]config{"plain": {}, "kept": {TTL: time.Hour}, "alone": {NoCoalesce: true}, "alone and kept": {NoCoalesce: true, TTL: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg.Limit = 1
				d := open(t, cfg)
				release := d.m.hold("k")
				first, second := d.start(background, "a", "k"), d.start(background, "a", "other")
				d.Forget("a", "k")
				if st := d.Stats(); st.Flights != 2 || st.Executing != 1 || st.Waiting != 1 {
					t.Errorf("flights %d, executing %d, waiting %d", st.Flights, st.Executing, st.Waiting)
				}
				release()
				synctest.Wait()
				first.is(Executed, "a/k#1")
				second.is(Executed, "a/other#1")
			})
		})
	}
}

// Each refusal is in its own counter, and in Refused.
func TestRefusedBooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{Limit: 1, MaxWaiters: 1, Gate: gate.Config[string]{MaxGlobal: 3, MaxPerTenant: 1, MaxTenants: 3}})
		release := d.m.hold("x")
		d.start(background, "a", "x")
		d.start(background, "a", "x")
		d.start(background, "a", "x").failed(None, ErrTooManyWaiters)
		d.start(background, "a", "y")
		d.start(background, "a", "z").failed(None, firq.ErrTenantFull)
		d.start(background, "b", "y")
		d.start(background, "c", "y")
		d.start(background, "d", "y").failed(None, firq.ErrGlobalFull)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		release()
		synctest.Wait()
		st := d.Stats()
		if st.RefusedWaiters != 1 || st.RefusedTenant != 1 || st.RefusedGlobal != 1 || st.RefusedTimeout != 3 || st.Refused != 6 {
			t.Errorf("%+v", st)
		}
	})
}

// An ExecTimeout that is as long as can be is none that has passed.
func TestLongExecTimeout(t *testing.T) {
	d := openWith(t, newMaker(), config{ExecTimeout: math.MaxInt64}, func(ctx context.Context, _ call) (string, error) {
		if at, has := ctx.Deadline(); !has || time.Until(at) < 1000*time.Hour {
			t.Errorf("deadline %v, %t", at, has)
		}
		return "v", ctx.Err()
	})
	d.ask(background, "a", "k").is(Executed, "v")
}
