package compute

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

func (d *desk) many(ctx context.Context, keys []string, o ...DoOption) []Result[string] {
	list := d.DoMany(ctx, "a", keys, o...)
	d.calls.Add(int64(len(keys)))
	return list
}

// Each key of a DoMany is answered as by Do: kept, joined, executed, each with its own error.
func TestDoMany(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.TTL, cfg.Limit = time.Minute, 9
		bad := errors.New("bad")
		m := newMaker()
		d := openWith(t, m, cfg, func(ctx context.Context, c call) (string, error) {
			if c.Key == "bad" {
				return "", bad
			}
			return m.exec(ctx, c)
		})
		if list := d.many(background, nil); len(list) != 0 {
			t.Errorf("no keys: %v", list)
		}
		d.ask(background, "a", "kept")
		release := m.hold("joined")
		leader := d.start(background, "a", "joined")
		var list []Result[string]
		go func() { list = d.many(background, []string{"x", "kept", "bad", "joined", "x", "y"}) }()
		synctest.Wait()
		release()
		synctest.Wait()
		leader.is(Executed, "a/joined#1")
		for i, want := range []struct {
			v      string
			source Source
			err    error
		}{{"a/x#1", 0, nil}, {"a/kept#1", Hit, nil}, {"", Executed, bad}, {"a/joined#1", Coalesced, nil}, {"a/x#1", 0, nil}, {"a/y#1", Executed, nil}} {
			if r := list[i]; r.Value != want.v || r.Err != want.err || want.source != 0 && r.Info.Source != want.source {
				t.Errorf("%d: %+v, want %+v", i, r, want)
			}
		}
		if r := d.many(background, []string{"z"}); r[0].Value != "a/z#1" || r[0].Info.Source != Executed {
			t.Errorf("one: %+v", r)
		}
	})
}

// A key that is there several times is made once, whether or not it fails or is kept, and each place
// is a call in the books.
func TestDoManyMakesOnce(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.Groups, cfg.Limit = 1, 1
		bad, made, clones := errors.New("bad"), 0, 0
		cfg.Clone = func(v string) string { clones++; return v }
		d := openWith(t, newMaker(), cfg, func(_ context.Context, c call) (string, error) {
			made++
			if c.Key == "bad" {
				return "", bad
			}
			return c.Key, nil
		})
		for _, key := range []string{"bad", "x"} {
			for _, o := range [][]DoOption{nil, {NoCache()}} {
				made, clones = 0, 0
				list := d.many(background, []string{key, "y", key, key}, o...)
				for i, want := range []Source{Executed, Executed, Coalesced, Coalesced} {
					if r := list[i]; r.Info.Source != want || r.Err == nil && r.Value != []string{key, "y", key, key}[i] || (r.Err == bad) != (key == "bad" && i != 1) {
						t.Errorf("%d: %+v, want %v", i, r, want)
					}
				}
				if want := map[string]int{"bad": 1, "x": 4}[key]; made != 2 || clones != want {
					t.Errorf("%s: made %d, of 2 keys, and %d copies", key, made, clones)
				}
				d.ForgetAll()
			}
		}
	})
}

// It makes no more calls concurrently than there may be executions, so its tenant's queue may be short; and
// the end of its context ends all.
func TestDoManyIsPatient(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.Groups, cfg.Gate = 1, gate.Config[string]{MaxPerTenant: 1}
		d := openWith(t, newMaker(), cfg, sleeper)
		keys := make([]string, 30)
		for i := range keys {
			keys[i] = fmt.Sprint(i)
		}
		began := time.Now()
		for i, r := range d.many(background, keys) {
			if r.Value != keys[i] || r.Err != nil {
				t.Errorf("%d: %+v", i, r)
			}
		}
		if took := time.Since(began); took != 10*time.Millisecond {
			t.Errorf("30 keys by 3 took %v", took)
		}
		ctx, cancel := context.WithTimeout(background, 1500*time.Microsecond)
		defer cancel()
		made := 0
		for _, r := range d.many(ctx, keys) {
			switch {
			case r.Err == nil:
				made++
			case r.Err != context.DeadlineExceeded:
				t.Errorf("%+v", r)
			}
		}
		if made < 3 || made > 6 || time.Since(began) > 12*time.Millisecond {
			t.Errorf("%d made until the end, after %v", made, time.Since(began))
		}
		time.Sleep(time.Millisecond) // what is detached ends
	})
}

// What makes no sense is each key's error; panics reach the caller once all calls have ended.
func TestDoManyFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{Limit: 2})
		for _, r := range d.DoMany(nil, "a", []string{"x", "y"}) { //nolint:staticcheck // that is the test
			if !errors.Is(r.Err, firq.ErrInvalidArgument) || r.Info.Group != -1 {
				t.Errorf("nil context: %+v", r)
			}
		}
		for _, r := range d.DoMany(background, "a", []string{"x", "y"}, Cost(-1)) {
			if !errors.Is(r.Err, firq.ErrInvalidTask) {
				t.Errorf("Cost(-1): %+v", r)
			}
		}
		for _, r := range d.many(background, []string{"x", "y", "z"}, d.With(func(_ context.Context, c call) (string, error) {
			if c.Key == "y" {
				runtime.Goexit()
			}
			return c.Key, nil
		})) {
			if p := (*PanicError)(nil); r.Value != "x" && r.Value != "z" && (!errors.As(r.Err, &p) || p.Value != nil) {
				t.Errorf("%+v", r)
			}
		}
		if r := d.many(background, []string{"x"}, d.With(func(context.Context, call) (string, error) {
			runtime.Goexit()
			return "", nil
		})); r[0].Info.Source != Executed || !errors.As(r[0].Err, new(*PanicError)) {
			t.Errorf("Goexit for the only key: %+v", r)
		}
		p := open(t, config{Limit: 2, Cost: func(_, key string) int64 {
			if key == "y" {
				panic("mine")
			}
			return 1
		}})
		func() {
			defer func() {
				if v := recover(); v != "mine" {
					t.Errorf("panicked with %v", v)
				}
			}()
			p.DoMany(background, "a", []string{"x", "y", "z"})
		}()
		p.calls.Store(int64(p.sum()))
	})
}

// exec may say how long its result is kept.
func TestSetTTL(t *testing.T) {
	caches(t, func(t *testing.T, cfg config) {
		cfg.TTL = time.Minute
		cfg.TTLFor = func(string, string, string) time.Duration { return time.Minute }
		ttl, kept := time.Hour, false
		m := newMaker()
		d := openWith(t, m, cfg, func(ctx context.Context, c call) (string, error) {
			inner, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if ttl != 0 {
				kept = SetTTL(inner, time.Nanosecond) && SetTTL(inner, ttl)
			}
			return m.exec(ctx, c)
		})
		d.ask(background, "a", "long").is(Executed, "a/long#1")
		time.Sleep(time.Hour - time.Millisecond)
		d.ask(background, "a", "long").is(Hit, "a/long#1")
		time.Sleep(time.Millisecond)
		ttl = -1
		d.ask(background, "a", "long").is(Executed, "a/long#2")
		if !kept {
			t.Error("SetTTL reports false")
		}
		ttl = 0
		d.ask(background, "a", "long").is(Executed, "a/long#3")
		time.Sleep(time.Minute - time.Millisecond)
		d.ask(background, "a", "long").is(Hit, "a/long#3")
		time.Sleep(time.Millisecond)
		d.ask(background, "a", "long").is(Executed, "a/long#4")
	})
	if SetTTL(background, time.Hour) {
		t.Error("SetTTL with any context")
	}
	d := openWith(t, newMaker(), config{}, func(ctx context.Context, c call) (string, error) {
		if SetTTL(ctx, time.Hour) {
			t.Error("SetTTL of a server that keeps nothing")
		}
		return c.Key, nil
	})
	d.ask(background, "a", "k").is(Executed, "k")
}
