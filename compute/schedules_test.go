//go:build firq_failpoints

package compute

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/internal/proof/interleave"
)

// scene is a server whose flights are looked at. Where a leader's slot is not what
// matters, it does not go through the gate, whose steps are tested in its own package.
type scene struct {
	*interleave.Schedule
	s *Server[string, string, int]
	n int // executions
}

func (sc *scene) build(cfg Config[string, string, int]) {
	s, err := New(sc.exec, cfg)
	if err != nil {
		sc.T().Fatal(err)
	}
	sc.s = s
}

func (sc *scene) exec(context.Context, Call[string, string]) (int, error) {
	sc.n++
	v := sc.n
	failpoint.At("exec")
	return v, nil
}

// caller is a goroutine that calls, and has to get a value.
func (sc *scene) caller(name string) {
	sc.Go(name, func() {
		if v, err := sc.s.Do(background, "a", "k"); err != nil || v == 0 {
			sc.Errorf("%s: %d, %v", name, v, err)
		}
	})
}

// fickle is a call that gives up before it has a slot, if it leads, and as soon as it has
// joined, if it does not. (With a context that ends, chance would say what it sees first.)
func (sc *scene) fickle(name string) {
	sc.Go(name, func() {
		s, k, o := sc.s, Key[string, string]{"a", "k"}, plain[string, string, int]()
		if !s.life.enter() {
			return
		}
		defer s.life.leave()
		is := s.takePart(&want[string, string, int]{k, s.hash(&k), nil}, &o)
		switch {
		case is.err != nil:
			sc.Errorf("%s: %v", name, is.err)
		case is.f == nil: // a hit
		case is.leads:
			failpoint.At("give up")
			is.f.handOver()
		default:
			failpoint.At("give up")
			is.f.leave(false)
		}
	})
}

// end fails unless all goroutines are done and nothing is left.
func (sc *scene) end() {
	sc.Run()
	st := sc.s.Stats()
	if st.Flights != 0 || st.Executing != 0 || st.Waiting != 0 {
		sc.Errorf("flights %d, executing %d, waiting %d", st.Flights, st.Executing, st.Waiting)
	}
	_ = sc.s.Close() // wakes calls that were forgotten
	sc.Run()
}

var programs = map[string]struct {
	preemptions int
	f           func(sc *scene)
}{
	"two calls, one execution": {2, func(sc *scene) {
		sc.build(Config[string, string, int]{TTL: forever})
		sc.caller("one")
		sc.caller("two")
		sc.end()
		if sc.n != 1 {
			sc.Errorf("executed %d times", sc.n)
		}
	}},
	"two calls, one error": {2, func(sc *scene) {
		sc.build(Config[string, string, int]{ErrorTTL: func(error) time.Duration { return time.Hour }})
		bad := errors.New("bad")
		with := sc.s.With(func(context.Context, Call[string, string]) (int, error) { sc.n++; return 0, bad })
		for _, name := range []string{"one", "two"} {
			sc.Go(name, func() {
				if _, _, err := sc.s.DoInfo(background, "a", "k", with); err != bad {
					sc.Errorf("%v", err)
				}
			})
		}
		sc.end()
		if st := sc.s.Stats(); sc.n != 1 || st.Executed+st.Coalesced+st.Hits != 2 {
			sc.Errorf("executed %d times; the books have %d, %d and %d", sc.n, st.Executed, st.Coalesced, st.Hits)
		}
	}},
	"the baton": {2, func(sc *scene) {
		sc.build(Config[string, string, int]{})
		sc.fickle("fickle")
		sc.caller("one")
		sc.caller("two")
		sc.end()
	}},
	"the baton, and who has it leaves": {2, func(sc *scene) {
		sc.build(Config[string, string, int]{})
		sc.fickle("fickle")
		sc.fickle("fickle too")
		sc.caller("one")
		sc.end()
	}},
	"everybody leaves": {3, func(sc *scene) {
		sc.build(Config[string, string, int]{})
		sc.fickle("fickle")
		sc.fickle("fickle too")
		sc.end()
	}},
	"the execution that nobody waits for": {2, func(sc *scene) {
		sc.build(Config[string, string, int]{TTL: forever})
		k, o := Key[string, string]{"a", "k"}, plain[string, string, int]()
		f := sc.s.takePart(&want[string, string, int]{k, sc.s.hash(&k), nil}, &o).f
		f.begin(background, 0)
		sc.Go("leader ends", f.leaderEnded)
		sc.Go("joins", func() {
			if v, err := sc.s.Do(background, "a", "k"); err != nil || v == 0 {
				sc.Errorf("%d, %v", v, err)
			}
			if f.cancelled() && sc.n == 0 {
				sc.Errorf("it has joined what was cancelled")
			}
		})
		sc.Run()
		// What is executing returns.
		cancelled := f.cancelled()
		if cancelled != (sc.n == 1) {
			sc.Errorf("cancelled %t, executed anew %d times", cancelled, sc.n)
		}
		ex := execution[string, string, int]{outcome: outcome[int]{val: 100}}
		f.publish(&ex)
		sc.end()
	}},
	"two that ask for each other": {2, func(sc *scene) {
		sc.build(Config[string, string, int]{Limit: 8})
		cycles := 0
		var with DoOption
		with = sc.s.With(func(ctx context.Context, c Call[string, string]) (int, error) {
			failpoint.At("exec")
			_, _, err := sc.s.DoInfo(ctx, "a", map[string]string{"k": "l", "l": "k"}[c.Key], with)
			if err == ErrCycle {
				cycles++
			}
			return 0, err
		})
		for _, key := range []string{"k", "l"} {
			sc.Go(key, func() {
				if _, _, err := sc.s.DoInfo(background, "a", key, with); err != ErrCycle {
					sc.Errorf("%s: %v", key, err)
				}
			})
		}
		sc.end()
		if cycles == 0 {
			sc.Errorf("they wait for each other")
		}
	}},
	"Forget and publication": {2, func(sc *scene) {
		sc.build(Config[string, string, int]{TTL: forever})
		sc.caller("one")
		forgotten, after := 0, 0
		sc.Go("forget", func() {
			sc.s.Forget("a", "k")
			forgotten = sc.n // all of these began before Forget returned
			v, err := sc.s.Do(background, "a", "k")
			if after = v; err != nil {
				sc.Errorf("%v", err)
			}
		})
		sc.end()
		if after == 1 && forgotten == 1 && sc.n == 1 {
			sc.Errorf("a call after Forget got what was made before")
		}
	}},
	"Warm and publication": {2, func(sc *scene) {
		sc.build(Config[string, string, int]{TTL: forever})
		sc.caller("one")
		sc.Go("warm", func() {
			began := sc.n
			sc.s.Warm("a", "k", 100)
			if v, _, ok := sc.s.Peek("a", "k"); began > 0 && (!ok || v != 100) {
				sc.Errorf("after Warm it is %d, %t", v, ok)
			}
		})
		sc.end()
		if v, _, ok := sc.s.Peek("a", "k"); !ok || v != 100 && sc.n == 0 {
			sc.Errorf("at the end it is %d, %t", v, ok)
		}
	}},
	"a group goes": {1, func(sc *scene) {
		sc.build(Config[string, string, int]{Groups: 2, Limit: 2, NoCoalesce: true, FIFO: true})
		g := sc.s.groups.now.Load().groups[1]
		p, _ := g.gate.TryAcquire("x", gate.Request{})
		sc.Go("waits", func() {
			req := gate.Request{}
			permit, sent, err := sc.s.wait(background, g, 1, "a", &req, new(time.Time))
			switch {
			case err == nil && !sent:
				permit.Release()
			case !sent:
				sc.Errorf("%v", err)
			}
		})
		sc.Go("groups", func() { sc.s.SetGroups(1) })
		sc.Run()
		if sc.Asleep("waits") {
			sc.Errorf("it waits in a group that has gone")
		}
		p.Release()
		sc.end()
	}},
	"Shutdown and the baton": {1, func(sc *scene) {
		sc.build(Config[string, string, int]{})
		sc.fickle("fickle")
		sc.Go("one", func() {
			if _, err := sc.s.Do(background, "a", "k"); err != nil && err != firq.ErrClosed {
				sc.Errorf("%v", err)
			}
		})
		sc.Go("shutdown", func() {
			if err := sc.s.Shutdown(background); err != nil {
				sc.Errorf("%v", err)
			}
		})
		sc.end()
	}},
}

func TestSchedules(t *testing.T) {
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			interleave.Explore(t, program.preemptions, func(ip *interleave.Schedule) { program.f(&scene{Schedule: ip}) })
		})
	}

}

// cancelled reports whether cancel was called.
func (f *flight[T, K, V]) cancelled() bool {
	x := f.exec.Load()
	if x == nil || x == execOver {
		return x != nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended
}
