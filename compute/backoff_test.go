package compute

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// During an outage there is one execution for each Backoff, and only the calls for which it fails
// first wait for it.
func TestBackoff(t *testing.T) {
	bad := errors.New("bad")
	for name, set := range map[string]func(*config){
		"Stale":        func(c *config) { c.Stale = time.Hour },
		"StaleIfError": func(c *config) { c.StaleIfError = time.Hour },
		"both":         func(c *config) { c.Stale, c.StaleIfError = time.Second, time.Hour },
		"RefreshAhead": func(c *config) { c.TTL, c.RefreshAhead = time.Hour+time.Minute, time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			caches(t, func(t *testing.T, cfg config) {
				cfg.TTL, cfg.Backoff = time.Minute, 10*time.Second
				set(&cfg)
				var heard int
				cfg.OnBehind = func(c call, err error) {
					if heard++; err != bad || c.Tenant != "a" || c.Key != "k" {
						t.Errorf("OnBehind: %+v, %v", c, err)
					}
				}
				d := open(t, cfg)
				d.ask(background, "a", "k").is(Executed, "a/k#1")
				time.Sleep(time.Minute)
				d.m.failWith(bad)
				source := Stale
				if name == "RefreshAhead" {
					source = Hit
				}
				for range 1000 { // 100 s
					if a := d.start(background, "a", "k").is(source, "a/k#1"); (a.info.Err != nil) != (name == "StaleIfError") && name != "both" {
						t.Fatalf("%+v", a.info)
					}
					time.Sleep(100 * time.Millisecond)
				}
				if n := d.m.count("k"); n != 11 { // the first one made it
					t.Errorf("executed %d times, want 11", n)
				}
				if want := map[bool]int{true: 9, false: 10}[name == "StaleIfError"]; heard != want {
					t.Errorf("heard of %d, want %d", heard, want)
				}
				d.ask(background, "a", "k", NoCache()).failed(Executed, bad) // which ignores it
				d.m.failWith(nil)
				time.Sleep(10 * time.Second)
				d.start(background, "a", "k").is(source, "a/k#1") // and one behind
				d.ask(background, "a", "k").is(Hit, "a/k#13")
			})
		})
	}
}

// During an outage in which executions hang, calls wait for the first one, and then no more.
func TestBackoffOfSlowFailures(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL, cfg.StaleIfError, cfg.ExecTimeout, cfg.Limit = time.Minute, time.Hour, 3*time.Second, 1
		cfg.Gate = gate.Config[string]{MaxQueueAge: 3 * time.Second}
		d := open(t, cfg)
		d.ask(background, "a", "k")
		d.ask(background, "a", "l")
		time.Sleep(time.Minute)
		release := d.m.hold("k")
		defer release()
		first, queued := d.start(background, "a", "k"), d.start(background, "a", "l")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		first.is(Stale, "a/k#1")
		if !errors.Is(first.info.Err, context.DeadlineExceeded) {
			t.Errorf("%+v", first.info)
		}
		if !queued.done.Load() {
			t.Fatal("a call that waited for a slot waits longer")
		}
		for range 100 {
			a := d.start(background, "a", "k").is(Stale, "a/k#1")
			if !errors.Is(a.info.Err, context.DeadlineExceeded) {
				t.Errorf("%+v", a.info)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
	})
}

// A refusal counts as a failure; the end of a context does not, nor an execution that no call waits for.
func TestBackoffCounts(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL, cfg.StaleIfError, cfg.Limit = time.Minute, time.Hour, 1
		cfg.Gate = gate.Config[string]{MaxPerTenant: 1}
		d := open(t, cfg)
		d.ask(background, "a", "k")
		time.Sleep(time.Minute)
		release := d.m.hold("k")
		ctx, cancel := context.WithCancel(background)
		left := d.start(ctx, "a", "k")
		cancel()
		synctest.Wait()
		left.failed(None, context.Canceled)
		d.m.failWith(context.Canceled)
		waits := d.start(background, "a", "k")
		waits.pending() // an execution that was cancelled has not failed
		release()
		synctest.Wait()
		if waits.is(Stale, "a/k#1"); waits.info.Err != context.Canceled {
			t.Errorf("%+v", waits.info)
		}
		d.m.failWith(nil)
		release = d.m.hold("k")
		waits = d.start(background, "a", "k")
		waits.pending()
		d.Forget("a", "k") // its failure is not that of what comes then
		d.Warm("a", "k", "warm")
		d.m.failWith(errors.New("bad"))
		release()
		synctest.Wait()
		d.m.failWith(nil)
		time.Sleep(time.Minute)
		d.ask(background, "a", "k").is(Executed, "a/k#5")

		time.Sleep(time.Minute)
		release = d.m.hold("busy")
		d.start(background, "a", "busy")
		d.start(background, "a", "waits")
		d.start(background, "a", "k").is(Stale, "a/k#5")
		release()
		synctest.Wait()
		if a := d.start(background, "a", "k").is(Stale, "a/k#5"); !errors.Is(a.info.Err, firq.ErrTenantFull) {
			t.Errorf("%+v", a.info)
		}
		time.Sleep(DefaultBackoff)
		d.start(background, "a", "k").is(Stale, "a/k#5")
		d.start(background, "a", "k").is(Hit, "a/k#6")
	})
}

// The error of an execution for which no call waits any more is no failure.
func TestBackoffOfAbandoned(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL, cfg.StaleIfError = time.Minute, time.Hour
		m := newMaker()
		d := openWith(t, m, cfg, func(ctx context.Context, c call) (string, error) {
			if m.count("k") != 1 {
				return m.exec(ctx, c)
			}
			<-ctx.Done()
			return "", errors.New("interrupted")
		})
		d.ask(background, "a", "k").is(Executed, "a/k#1")
		time.Sleep(time.Minute)
		ctx, cancel := context.WithCancel(background)
		left := d.start(ctx, "a", "k")
		cancel()
		synctest.Wait()
		left.failed(None, context.Canceled)
		m.n["k"] = 2
		d.start(background, "a", "k").is(Executed, "a/k#3")
	})
}
