package gate

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

var background = context.Background()

func TestAcquireRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](2, Config[string]{})
		a, b := must(t, g, "a"), must(t, g, "b")
		if _, ok := g.TryAcquire("c", Request{}); ok || g.InUse() != 2 {
			t.Fatalf("a third permit of two; in use %d", g.InUse())
		}
		c := wait(background, g, "c", Request{})
		d := wait(background, g, "d", Request{})
		if c.done.Load() || d.done.Load() || g.Waiting() != 2 {
			t.Fatalf("they do not wait: %d", g.Waiting())
		}
		a.Release()
		c.granted(t)
		if d.done.Load() {
			t.Fatal("one Release let two in")
		}
		b.Release()
		d.granted(t).Release()
		c.p.Release()
		s := g.Stats()
		if s.Immediate != 2 || s.Queue.Dequeued != 2 || s.Limit != 2 || s.InUse != 0 || s.Waiting != 0 {
			t.Errorf("stats %+v", s)
		}
		intact(t, g)
	})
}

// A second Release, of the permit or of a copy, gives nothing back, even when the
// memory behind it serves another permit already.
func TestReleaseTwice(t *testing.T) {
	for _, cfg := range []Config[string]{{}, {MaxInFlightPerTenant: 5}} {
		g := New[string](2, cfg)
		p := must(t, g, "a")
		again := p
		p.Release()
		q := must(t, g, "a")
		p.Release()
		again.Release()
		again.Charge(1000)
		if g.InUse() != 1 {
			t.Errorf("in use %d, want 1", g.InUse())
		}
		if g.debts.some.Load() {
			t.Error("Charge after Release left a debt")
		}
		q.Release()
		Permit[string]{}.Release()
		Permit[string]{}.Charge(1)
		intact(t, g)
	}
}

// A call that comes while another one waits queues, even if a slot is free just then.
func TestNoBarging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{MaxGlobal: 10})
		p := must(t, g, "a")
		w := wait(background, g, "b", Request{})
		g.word.Add(^uint64(0)) // a slot is free, and no goroutine has pumped yet
		if _, ok := g.TryAcquire("c", Request{}); ok {
			t.Fatal("TryAcquire overtook a waiter")
		}
		late := wait(background, g, "c", Request{}) // it pumps, for the one that is first
		w.granted(t)
		if late.done.Load() {
			t.Fatal("Acquire overtook a waiter")
		}
		w.p.Release()
		late.granted(t)
		g.word.Add(1)
		late.p.Release()
		p.Release()
		intact(t, g)
	})
}

func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{MaxGlobal: 3, MaxPerTenant: 2, MaxTenants: 3})
		p := must(t, g, "a")
		ctx, cancel := context.WithCancel(background)
		cancel()
		for name, c := range map[string]struct {
			ctx  context.Context
			req  Request
			want error
		}{
			"no context":     {nil, Request{}, firq.ErrInvalidArgument},
			"context done":   {ctx, Request{}, context.Canceled},
			"cost":           {background, Request{Cost: -1}, firq.ErrInvalidTask},
			"priority":       {background, Request{Priority: 7}, firq.ErrInvalidTask},
			"late":           {background, Request{Deadline: time.Now().Add(-1)}, firq.ErrTimeout},
			"late, rejected": {background, Request{Deadline: time.Now().Add(-1)}, firq.ErrRejected},
		} {
			if _, err := g.Acquire(c.ctx, "a", c.req); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		if n := g.Stats().TimedOut; n != 2 {
			t.Errorf("%d timed out, want 2", n)
		}
		waiters := []*call{wait(background, g, "a", Request{}), wait(background, g, "a", Request{})}
		full := func(tenant string, want error) {
			t.Helper()
			if _, err := g.Acquire(background, tenant, Request{}); err != want {
				t.Errorf("%s: %v, want %v", tenant, err, want)
			}
		}
		full("a", firq.ErrTenantFull)
		waiters = append(waiters, wait(background, g, "b", Request{}))
		full("c", firq.ErrGlobalFull)
		if g.Waiting() != 3 {
			t.Errorf("%d wait; the refused calls are counted", g.Waiting())
		}
		p.Release()
		for range waiters {
			synctest.Wait()
			for _, w := range waiters {
				if w.done.Load() {
					w.p.Release()
				}
			}
		}
		intact(t, g)
	})
}

// endless is done and does not say why.
type endless struct{ context.Context }

func (endless) Err() error { return nil }

// Whatever a context says: a call that gets no permit gets an error.
func TestContextWithoutError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{})
		ctx, cancel := context.WithCancel(background)
		p := must(t, g, "a")
		w := wait(endless{ctx}, g, "a", Request{})
		cancel()
		synctest.Wait()
		if !w.done.Load() || w.err != context.Canceled {
			t.Errorf("done %t, %v", w.done.Load(), w.err)
		}
		p.Release()
		if _, err := g.Acquire(endless{ctx}, "a", Request{}); err != context.Canceled {
			t.Errorf("%v", err)
		}
		intact(t, g)
	})
}

func TestTryAcquirePanics(t *testing.T) {
	defer func() {
		if s, _ := recover().(string); !strings.HasPrefix(s, "firq: ") || !strings.Contains(s, "Cost") {
			t.Errorf("panic %q", s)
		}
	}()
	New[string](1, Config[string]{}).TryAcquire("a", Request{Cost: -1})
}

func TestEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{MaxPerTenant: 1, Policy: firq.DropOldest})
		p := must(t, g, "a")
		old := wait(background, g, "a", Request{})
		young := wait(background, g, "a", Request{})
		if !old.done.Load() || !errors.Is(old.err, ErrEvicted) || !errors.Is(old.err, firq.ErrRejected) {
			t.Fatalf("the older one: %v", old.err)
		}
		p.Release()
		young.granted(t).Release()
		intact(t, g)
	})
}

func TestInvalidConfig(t *testing.T) {
	for name, c := range map[string]struct {
		limit int
		cfg   Config[string]
	}{
		"limit: 0":             {0, Config[string]{}},
		"limit: -1":            {-1, Config[string]{}},
		"limit: 2097152":       {MaxSlots + 1, Config[string]{}},
		"MaxGlobal: 2097152":   {1, Config[string]{MaxGlobal: MaxSlots + 1}},
		"MaxGlobal: -1":        {1, Config[string]{MaxGlobal: -1}},
		"Shards: -1":           {1, Config[string]{Shards: -1}},
		"MaxInFlightPerTenant": {1, Config[string]{MaxInFlightPerTenant: -1}},
		"Policy: Wait":         {1, Config[string]{Policy: firq.Wait}},
		"Policy: unknown":      {1, Config[string]{Policy: 77}},
		"LowWater":             {1, Config[string]{LowWater: 90}},
	} {
		if _, err := Open(c.limit, c.cfg); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: Open returned %v", name, err)
		}
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "firq: ") || !strings.Contains(s, name) {
					t.Errorf("%s: New panicked with %q", name, s)
				}
			}()
			New(c.limit, c.cfg)
		}()
	}
	_, err := Open(0, Config[string]{MaxGlobal: MaxSlots + 1, Policy: firq.Wait, Quantum: -1})
	for _, field := range []string{"limit: 0", "MaxGlobal: 2097152", "Policy: Wait", "Quantum: -1"} {
		if err == nil || strings.Count(err.Error(), field) != 1 {
			t.Errorf("%v, want one that names %s too", err, field)
		}
	}
	if g, err := Open(MaxSlots, Config[string]{MaxGlobal: MaxSlots}); err != nil || g.Limit() != MaxSlots {
		t.Errorf("the largest gate: %v", err)
	}
	defer func() {
		if s, _ := recover().(string); !strings.HasPrefix(s, "firq: ") || !strings.Contains(s, "limit: -1") {
			t.Errorf("SetLimit panicked with %q", s)
		}
	}()
	New[string](1, Config[string]{}).SetLimit(-1)
}

// Each field of firq.Config is one of Config, and gets there.
func TestConfigMirrors(t *testing.T) {
	elsewhere := map[string]string{"OnDrop": "", "Backpressure": "Policy", "BackpressureFor": "PolicyFor"}
	ours, theirs := reflect.TypeFor[Config[string]](), reflect.TypeFor[firq.Config[string, *holder[string]]]()
	for i := range theirs.NumField() {
		f := theirs.Field(i)
		if _, ok := elsewhere[f.Name]; ok {
			continue
		}
		m, ok := ours.FieldByName(f.Name)
		if !ok || m.Type != f.Type {
			t.Errorf("%s of firq.Config is missing, or of another type", f.Name)
			continue
		}
		var cfg Config[string]
		v := reflect.ValueOf(&cfg).Elem().FieldByName(f.Name)
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64:
			v.SetInt(64)
		case reflect.Float64:
			v.SetFloat(64)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Uint8:
			v.SetUint(1)
		case reflect.Func:
			v.Set(reflect.MakeFunc(f.Type, func([]reflect.Value) []reflect.Value { return []reflect.Value{reflect.Zero(f.Type.Out(0))} }))
		}
		if f.Name == "PriorityScope" {
			cfg.Shards = 1
		}
		c, err := cfg.scheduler(nil)
		if got := reflect.ValueOf(c).FieldByName(f.Name); err != nil || f.Type.Kind() == reflect.Func && got.IsNil() ||
			f.Type.Kind() != reflect.Func && !got.Equal(v) {
			t.Errorf("%s: %v became %v (%v)", f.Name, v, got, err)
		}
	}
	c, err := (&Config[string]{PolicyFor: func(string) firq.Policy { return firq.DropNewest }}).scheduler(nil)
	if err != nil || c.Shards != 1 || c.BackpressureFor("a").Policy != firq.DropNewest {
		t.Errorf("PolicyFor or the default of Shards: %+v, %v", c, err)
	}
}

func TestWord(t *testing.T) {
	w := word(0).withLimit(MaxSlots) + MaxSlots*oneInUse + MaxSlots*oneWaiting
	if w.inUse() != MaxSlots || w.waiting() != MaxSlots || w.limit() != MaxSlots || w.closed() || w.fits(1) {
		t.Errorf("the fields run into each other: %x", uint64(w))
	}
	if w = (w | closedBit).withLimit(3); !w.closed() || w.limit() != 3 || w.inUse() != MaxSlots || w.idle() {
		t.Errorf("withLimit touches other fields: %x", uint64(w))
	}
	// More than MaxSlots cannot be announced.
	g := New[string](1, Config[string]{})
	g.word.Store(uint64(word(0).withLimit(1) + MaxSlots*oneWaiting))
	ctx, cancel := context.WithTimeout(background, time.Second) // or it waits, where there is no end
	defer cancel()
	if _, err := g.Acquire(ctx, "a", Request{}); err != firq.ErrGlobalFull || g.InUse() != 0 || g.Waiting() != MaxSlots {
		t.Errorf("%v, in use %d, waiting %d", err, g.InUse(), g.Waiting())
	}
}
