package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
		for range 2 { // one, and the old one stays
			d.start(background, "a", "k").is(Stale, "a/k#2")
		}
		if st := d.Stats(); st.Behind != 2 || st.Failed != 1 {
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

// A refresh whose Cost panics does no call any harm.
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
		time.Sleep(DefaultBackoff)
		d.start(background, "a", "k").is(Stale, "a/k#1")
		d.ask(background, "a", "k").is(Hit, "a/k#2")
	})
}
