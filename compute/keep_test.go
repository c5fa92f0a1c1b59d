package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// caches runs a test in a bubble, with the cache of this package and with another.
func caches(t *testing.T, f func(t *testing.T, cfg config)) {
	t.Run("own", func(t *testing.T) { bubble(t, func(t *testing.T) { f(t, config{}) }) })
	t.Run("other", func(t *testing.T) { bubble(t, func(t *testing.T) { f(t, config{Cache: newMapCache()}) }) })
	t.Run("detached", func(t *testing.T) { bubble(t, func(t *testing.T) { f(t, config{Detach: true}) }) })
}

// Behaviour 6: TTL is exact, from the end of the execution on.
func TestTTLExact(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL = 30 * time.Second
		d := open(t, cfg)
		release := d.m.hold("k")
		d.start(background, "a", "k")
		time.Sleep(time.Second)
		release()
		synctest.Wait()
		time.Sleep(30*time.Second - time.Millisecond)
		if a := d.ask(background, "a", "k").is(Hit, "a/k#1"); a.info.Age != 30*time.Second-time.Millisecond {
			t.Errorf("age %v", a.info.Age)
		}
		if v, info, ok := d.Peek("a", "k"); !ok || v != "a/k#1" || info.Source != Hit || info.Age != 30*time.Second-time.Millisecond {
			t.Errorf("Peek: %q, %+v, %t", v, info, ok)
		}
		time.Sleep(time.Millisecond)
		if _, _, ok := d.Peek("a", "k"); ok {
			t.Error("Peek finds what is past its TTL")
		}
		d.ask(background, "a", "k").is(Executed, "a/k#2")
	})
}

func TestJitter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for jitter, shortest := range map[float64]time.Duration{0.5: 50 * time.Second, 0.1: 90 * time.Second} {
			d := open(t, config{TTL: 100 * time.Second, Jitter: jitter})
			for i := range 200 {
				d.Warm("a", fmt.Sprint(i), "v")
			}
			least, most := time.Hour, time.Duration(0)
			d.own.removeIf(func(n *node[string, string, string]) bool {
				ttl := time.Duration(n.fresh - n.made)
				least, most = min(least, ttl), max(most, ttl)
				return false
			})
			span := 100*time.Second - shortest
			if least < shortest || most > 100*time.Second || least > shortest+span/4 || most < 100*time.Second-span/4 {
				t.Errorf("jitter %v: TTLs from %v to %v", jitter, least, most)
			}
		}
	})
}

func TestTTLFor(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL = time.Hour
		cfg.TTLFor = func(_, key, v string) time.Duration {
			if key == "no" || strings.HasSuffix(v, "#2") {
				return 0
			}
			return time.Second
		}
		d := open(t, cfg)
		for range 2 {
			if a := d.ask(background, "a", "no"); a.info.Source != Executed {
				t.Errorf("%+v", a.info)
			}
		}
		d.ask(background, "a", "k").is(Executed, "a/k#1")
		d.ask(background, "a", "k").is(Hit, "a/k#1")
		d.ask(background, "a", "k", NoCache()).is(Executed, "a/k#2") // not kept, and neither is the older one
		d.ask(background, "a", "k").is(Executed, "a/k#3")
	})
}

// Errors are kept only if ErrorTTL says so, and it is not asked for ends of contexts.
func TestErrors(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		bad := errors.New("bad")
		d := open(t, cfg)
		d.m.failWith(bad)
		d.ask(background, "a", "k").failed(Executed, bad)
		d.ask(background, "a", "k").failed(Executed, bad)

		cfg.TTL = time.Minute
		if cfg.Cache != nil {
			cfg.Cache = newMapCache()
		}
		cfg.ErrorTTL = func(error) time.Duration { return time.Second }
		d = open(t, cfg)
		d.m.failWith(bad)
		d.ask(background, "a", "k").failed(Executed, bad)
		if a := d.ask(background, "a", "k").failed(Hit, bad); a.info.Err != nil {
			t.Errorf("%+v", a.info)
		}
		if _, _, ok := d.Peek("a", "k"); ok {
			t.Error("Peek finds an error")
		}
		time.Sleep(time.Second)
		d.ask(background, "a", "k").failed(Executed, bad)
		for _, end := range []error{context.Canceled, fmt.Errorf("query: %w", context.DeadlineExceeded)} {
			d.m.failWith(end)
			d.ask(background, "a", end.Error()).failed(Executed, end)
			d.ask(background, "a", end.Error()).failed(Executed, end)
		}
		d.m.failWith(nil)
		time.Sleep(time.Second)
		d.ask(background, "a", "k").is(Executed, "a/k#3")
		d.m.failWith(bad) // an error does not take a result's place
		d.ask(background, "a", "k", NoCache()).failed(Executed, bad)
		d.ask(background, "a", "k").is(Hit, "a/k#3")
	})
}

// Stale: answers past the TTL, and one refresh behind; a refresh that fails changes
// nothing.
func TestStale(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL, cfg.Stale = time.Minute, time.Minute
		d := open(t, cfg)
		d.ask(background, "a", "k").is(Executed, "a/k#1")
		time.Sleep(time.Minute)
		release := d.m.hold("k")
		ctx, cancel := context.WithCancel(background)
		for range 10 {
			if a := d.start(ctx, "a", "k").is(Stale, "a/k#1"); a.info.Age != time.Minute || a.info.Err != nil {
				t.Errorf("%+v", a.info)
			}
		}
		cancel() // the refresh has nothing to do with it
		joined := d.start(background, "a", "k", NoStale())
		if st := d.Stats(); st.Behind != 1 || st.Executing != 1 || st.Executions != 2 {
			t.Errorf("behind %d, executing %d, executions %d", st.Behind, st.Executing, st.Executions)
		}
		release()
		synctest.Wait()
		joined.is(Coalesced, "a/k#2")
		d.ask(background, "a", "k").is(Hit, "a/k#2")

		time.Sleep(time.Minute)
		d.m.failWith(errors.New("bad"))
		for range 2 { // one after the other, and the old one stays
			d.start(background, "a", "k").is(Stale, "a/k#2")
		}
		if st := d.Stats(); st.Behind != 3 || st.Failed != 2 {
			t.Errorf("behind %d, failed %d", st.Behind, st.Failed)
		}
		time.Sleep(time.Minute)
		if a := d.ask(background, "a", "k"); a.info.Source != Executed || a.err == nil {
			t.Errorf("past Stale: %+v, %v", a.info, a.err)
		}
	})
}

func TestRefreshAhead(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL, cfg.RefreshAhead = time.Minute, 10*time.Second
		d := open(t, cfg)
		d.ask(background, "a", "k")
		time.Sleep(50*time.Second - time.Millisecond)
		d.start(background, "a", "k").is(Hit, "a/k#1")
		if d.m.count("k") != 1 {
			t.Error("too early")
		}
		time.Sleep(time.Millisecond)
		release := d.m.hold("k")
		for range 10 {
			d.start(background, "a", "k").is(Hit, "a/k#1")
		}
		release()
		synctest.Wait()
		d.start(background, "a", "k").is(Hit, "a/k#2")
		if st := d.Stats(); st.Behind != 1 || st.Executed != 1 || st.Hits != 12 {
			t.Errorf("behind %d, executed %d, hits %d", st.Behind, st.Executed, st.Hits)
		}
	})
}

// Entries with a TTL that is no longer than RefreshAhead are not refreshed ahead.
func TestRefreshAheadOfShort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{RefreshAhead: time.Minute, TTLFor: func(string, string, string) time.Duration { return time.Minute }})
		d.ask(background, "a", "k")
		time.Sleep(59 * time.Second)
		d.start(background, "a", "k").is(Hit, "a/k#1")
		if d.m.count("k") != 1 {
			t.Error("refreshed")
		}
	})
}

// A refresh whose Cost panics hurts nobody.
func TestRefreshPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		panics := false
		d := open(t, config{TTL: time.Minute, Stale: time.Minute, Cost: func(string, string) int64 {
			if panics {
				panic("mine")
			}
			return 1
		}})
		d.ask(background, "a", "k")
		time.Sleep(time.Minute)
		panics = true
		for range 2 {
			d.start(background, "a", "k").is(Stale, "a/k#1")
		}
		panics = false
		d.start(background, "a", "k").is(Stale, "a/k#1")
		d.ask(background, "a", "k").is(Hit, "a/k#2")
	})
}

func TestStaleIfError(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		bad := errors.New("bad")
		cfg.TTL, cfg.StaleIfError, cfg.Limit = time.Minute, time.Minute, 1
		cfg.ErrorTTL = func(error) time.Duration { return time.Hour }
		cfg.Gate = gate.Config[string]{MaxPerTenant: 1}
		d := open(t, cfg)
		d.ask(background, "a", "k").is(Executed, "a/k#1")
		time.Sleep(time.Minute)
		d.m.failWith(bad)
		if a := d.ask(background, "a", "k").is(Stale, "a/k#1"); a.info.Err != bad || a.info.Group != -1 {
			t.Errorf("%+v", a.info)
		}
		d.ask(background, "a", "k", NoStale()).failed(Executed, bad)
		d.ask(background, "a", "k", NoCache()).failed(Executed, bad)
		release := d.m.hold("busy")
		d.start(background, "a", "busy")
		d.start(background, "a", "waits")
		d.start(background, "a", "other").failed(None, firq.ErrTenantFull)
		if a := d.start(background, "a", "k").is(Stale, "a/k#1"); !errors.Is(a.info.Err, firq.ErrTenantFull) {
			t.Errorf("%+v", a.info)
		}
		ctx, cancel := context.WithCancel(background)
		cancel()
		d.start(ctx, "a", "k").failed(None, context.Canceled)
		d.Forget("a", "k")
		d.start(background, "a", "k").failed(None, firq.ErrTenantFull) // what was forgotten is not stale either
		release()
		synctest.Wait()
		time.Sleep(time.Minute)
		d.ask(background, "a", "k").failed(Executed, bad)
		d.ask(background, "a", "k").failed(Hit, bad)
	})
}

// What was forgotten during the execution is not stale when that fails.
func TestStaleForgotten(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		bad := errors.New("bad")
		cfg.TTL, cfg.StaleIfError = time.Minute, time.Minute
		for name, forget := range forgets() {
			if cfg.Cache != nil {
				cfg.Cache = newMapCache()
			}
			d := open(t, cfg)
			d.ask(background, "a", "k")
			time.Sleep(time.Minute)
			release := d.m.hold("k")
			d.m.failWith(bad)
			a := d.start(background, "a", "k")
			forget(d)
			release()
			synctest.Wait()
			if a.err != bad {
				t.Errorf("%s: %q, %v", name, a.v, a.err)
			}
		}
	})
}

func forgets() map[string]func(d *desk) {
	return map[string]func(d *desk){
		"Forget":       func(d *desk) { d.Forget("a", "x", "k") },
		"ForgetTenant": func(d *desk) { d.ForgetTenant("a") },
		"ForgetAll":    func(d *desk) { d.ForgetAll() },
	}
}

// Behaviour 6: what is forgotten during an execution is not kept, and who comes after
// does not join.
func TestForgetDuringExecution(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL = time.Minute
		for name, forget := range forgets() {
			if cfg.Cache != nil {
				cfg.Cache = newMapCache()
			}
			d := open(t, cfg)
			release := d.m.hold("k")
			leader, follower := d.start(background, "a", "k"), d.start(background, "a", "k")
			other := d.start(background, "b", "k")
			forget(d)
			after := d.start(background, "a", "k")
			if n := d.m.count("k"); n != 3 {
				t.Errorf("%s: executed %d times", name, n)
			}
			release()
			synctest.Wait()
			leader.is(Executed, "a/k#1")
			follower.is(Coalesced, "a/k#1")
			other.is(Executed, "b/k#2")
			after.is(Executed, "a/k#3")
			d.ask(background, "a", "k").is(Hit, "a/k#3")
			if _, _, ok := d.Peek("b", "k"); ok != (name != "ForgetAll") {
				t.Errorf("%s: b's is kept: %t", name, ok)
			}
			forget(d)
			if _, _, ok := d.Peek("a", "k"); ok {
				t.Errorf("%s: it is still there", name)
			}
			d.ask(background, "a", "k").is(Executed, "a/k#4")
		}
	})
}

// An abandoned execution whose key is forgotten keeps nothing either.
func TestForgetAbandoned(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL = time.Minute
		m := newMaker()
		finish := make(chan struct{})
		d := openWith(t, m, cfg, func(ctx context.Context, c call) (string, error) {
			<-ctx.Done()
			<-finish
			return "old", nil
		})
		ctx, cancel := context.WithCancel(background)
		d.start(ctx, "a", "k")
		cancel()
		synctest.Wait()
		d.Forget("a", "k")
		close(finish)
		synctest.Wait()
		if _, _, ok := d.Peek("a", "k"); ok {
			t.Error("it is kept")
		}
	})
}

func TestWarm(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL = time.Minute
		d := open(t, cfg)
		release := d.m.hold("k")
		leader := d.start(background, "a", "k")
		d.Warm("a", "k", "warm")
		if a := d.start(background, "a", "k").is(Hit, "warm"); a.info.Age != 0 {
			t.Errorf("%+v", a.info)
		}
		release()
		synctest.Wait()
		leader.is(Executed, "a/k#1")
		time.Sleep(time.Minute - time.Millisecond)
		d.ask(background, "a", "k").is(Hit, "warm")
		time.Sleep(time.Millisecond)
		d.ask(background, "a", "k").is(Executed, "a/k#2")
	})
	d := open(t, config{})
	d.Warm("a", "k", "warm")
	d.ask(background, "a", "k").is(Executed, "a/k#1")
	d.Forget("a", "k")
	d.ForgetTenant("a")
	d.ForgetAll()
}

func TestOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{TTL: time.Minute, Limit: 1, FIFO: true})
		with := d.With(func(context.Context, call) (string, error) { return "with", nil })
		d.ask(background, "a", "w", with).is(Executed, "with")
		d.ask(background, "a", "w").is(Hit, "with")
		d.ask(background, "a", "w", NoCache()).is(Executed, "a/w#1")
		d.ask(background, "a", "w", DoOption{}).is(Hit, "a/w#1")
		other, err := New(func(context.Context, Call[string, int]) (string, error) { return "", nil }, Config[string, int, string]{})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		for _, bad := range []struct {
			o   DoOption
			err error
		}{
			{Cost(-1), firq.ErrInvalidTask}, {Priority(firq.PriorityCritical + 1), firq.ErrInvalidTask},
			{d.With(nil), firq.ErrInvalidArgument},
			{other.With(func(context.Context, Call[string, int]) (string, error) { return "", nil }), firq.ErrInvalidArgument},
		} {
			if _, info, err := d.DoInfo(background, "a", "k", bad.o); !errors.Is(err, bad.err) || info.Source != None || info.Group != -1 {
				t.Errorf("%+v: %+v, %v", bad.o, info, err)
			}
		}
		release := d.m.hold("busy")
		d.start(background, "a", "busy")
		d.start(background, "a", "normal")
		d.start(background, "a", "critical", Priority(firq.PriorityCritical))
		release()
		synctest.Wait()
		var order []string
		for _, c := range d.m.calls {
			order = append(order, c.Key)
		}
		if got := strings.Join(order[1:], " "); got != "busy critical normal" {
			t.Errorf("order %s", got)
		}
	})
}

// Costs count in fairness, by option, by Config and by time.
func TestCosts(t *testing.T) {
	for name, cfg := range map[string]config{
		"option": {},
		"config": {Cost: func(tenant, _ string) int64 {
			if tenant == "dear" {
				return 10
			}
			return 1
		}},
		"time": {ChargeByTime: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg.Limit, cfg.FIFO = 1, true
				cfg.Gate = gate.Config[string]{MaxQueueAge: -1}
				m := newMaker()
				d := openWith(t, m, cfg, func(ctx context.Context, c call) (string, error) {
					if c.Tenant == "dear" {
						time.Sleep(10*time.Millisecond - time.Microsecond) // rounded up
					} else {
						time.Sleep(time.Microsecond)
					}
					return m.exec(ctx, c)
				})
				release := m.hold("busy")
				d.start(background, "x", "busy")
				for i := range 100 {
					o := DoOption{}
					if name == "option" {
						o = Cost(10)
					}
					d.start(background, "dear", fmt.Sprint("dear", i), o)
					d.start(background, "cheap", fmt.Sprint("cheap", i))
				}
				release()
				time.Sleep(2 * time.Second)
				synctest.Wait()
				n := map[string]int{}
				for _, c := range m.calls {
					if n[c.Tenant]++; n["cheap"] == 60 {
						break
					}
				}
				if n["dear"] < 5 || n["dear"] > 9 {
					t.Errorf("%d dear executions beside 60 cheap ones, want about 6", n["dear"])
				}
			})
		})
	}
}

func TestClone(t *testing.T) {
	s, err := New(func(context.Context, call) ([]int, error) { return []int{1}, nil },
		Config[string, string, []int]{TTL: time.Minute, Clone: func(v []int) []int { return append([]int(nil), v...) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		v, err := s.Do(background, "a", "k")
		if err != nil || v[0] != 1 {
			t.Fatalf("%v, %v", v, err)
		}
		v[0] = 2
		w, _, _ := s.Peek("a", "k")
		w[0] = 3
	}
}

func TestExecTimeout(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.ExecTimeout = time.Second
		d := open(t, cfg)
		d.m.hold("k")
		leader, follower := d.start(background, "a", "k"), d.start(background, "a", "k")
		time.Sleep(time.Second - time.Millisecond)
		leader.pending()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		leader.failed(Executed, context.DeadlineExceeded)
		follower.failed(Coalesced, context.DeadlineExceeded)
		if st := d.Stats(); st.Abandoned != 0 || st.Failed != 1 || st.ExecTime.Max != time.Second {
			t.Errorf("abandoned %d, failed %d, time %v", st.Abandoned, st.Failed, st.ExecTime.Max)
		}
	})
}
