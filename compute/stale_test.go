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

func TestStaleIfError(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		bad := errors.New("bad")
		cfg.TTL, cfg.StaleIfError, cfg.Limit, cfg.Backoff = time.Minute, time.Minute, 1, -1
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

// Behaviour 6: what is forgotten during an execution is not kept, and a caller that comes after
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
