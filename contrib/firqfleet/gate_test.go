package firqfleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// later acquires a permit that comes later, and is in the channel then.
func later(t testing.TB, g *Gate, tenant string, req gate.Request) <-chan gate.Permit[string] {
	t.Helper()
	before := g.Waiting()
	got := make(chan gate.Permit[string], 1)
	ctx := bounded(t)
	go func() {
		p, err := g.Acquire(ctx, tenant, req)
		if err != nil {
			t.Errorf("%s: %v", tenant, err)
		}
		t.Cleanup(p.Release)
		got <- p
	}()
	until(t, "a call waits", func() bool { return g.Waiting() > before })
	return got
}

// told waits until the server knows of n tenants with calls.
func told(t testing.TB, g *Gate, n int) {
	t.Helper()
	until(t, "the server knows of the calls", func() bool { return fleet(t, g).Tenants == n })
}

func none(t testing.TB, what string, got <-chan gate.Permit[string]) {
	t.Helper()
	select {
	case <-got:
		t.Fatal(what)
	case <-time.After(30 * time.Millisecond):
	}
}

func TestSharesSlots(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		a, b := join(t, addr, 2, Config{Name: n}), join(t, addr, 2, Config{Name: n})
		pa, pb := get(t, a, "x", gate.Request{}), get(t, b, "y", gate.Request{})
		got := later(t, b, "x", gate.Request{})
		told(t, a, 1)
		none(t, "a third slot", got)
		pa.Release()
		p := <-got
		if p.Waited() == 0 {
			t.Error("it has not waited")
		}
		p.Release()
		pb.Release()
		if p.Waited() != 0 {
			t.Error("after Release")
		}
		until(t, "all is free", func() bool {
			f := fleet(t, a)
			return f.InUse == a.Stats().Idle+b.Stats().Idle && f == Fleet{Limit: 2, InUse: f.InUse, Members: 2}
		})
		_ = b.Close()
		if f := fleet(t, a); f.Members != 1 {
			t.Errorf("%+v", f)
		}
	})
}

// Of an idle fleet free slots stay here, and cost no round trip; a call elsewhere brings them back.
func TestSlotsStay(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		a, b := join(t, addr, 4, Config{Name: n, Lease: time.Minute}), join(t, addr, 4, Config{Name: n, Lease: time.Minute})
		get(t, a, "x", gate.Request{}).Release()
		syncs := a.Stats().Syncs
		for range 1000 {
			get(t, a, "x", gate.Request{}).Release()
		}
		if s := a.Stats(); s.Syncs > syncs+1 || s.Immediate < 1000 || s.Idle == 0 {
			t.Errorf("%+v, %d round trips before", s, syncs)
		}
		p, ok := a.TryAcquire("y", gate.Request{})
		if !ok {
			t.Error("a slot is here")
		}
		defer p.Release()
		if _, ok := b.TryAcquire("y", gate.Request{}); ok {
			t.Error("a slot is not here")
		}
		for i := range 3 {
			get(t, b, fmt.Sprint(i), gate.Request{})
		}
	})
}

func TestHeavy(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		a, b := join(t, addr, 3, Config{Name: n, Slice: -1}), join(t, addr, 3, Config{Name: n, Slice: -1})
		var p []gate.Permit[string]
		for range 3 {
			p = append(p, get(t, a, "x", gate.Request{}))
		}
		aside := later(t, a, "x", gate.Request{Weight: 4})
		heavy := later(t, b, "y", gate.Request{Weight: 3})
		told(t, a, 1)
		light := later(t, a, "z", gate.Request{})
		told(t, a, 2)
		p[0].Release()
		p[1].Release()
		none(t, "it overtakes", light)
		p[2].Release()
		h := <-heavy
		none(t, "more than there are", light)
		h.Release()
		(<-light).Release()
		none(t, "heavier than the limit", aside)
		if err := b.SetLimit(bounded(t), 5); err != nil {
			t.Fatal(err)
		}
		(<-aside).Release()
		if a.Limit() != 5 {
			t.Error(a.Limit())
		}
	})
}

func TestMaxInFlight(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		cfg := Config{Name: n, MaxInFlightPerTenant: 2, MaxInFlightFor: func(tenant string) int {
			return map[string]int{"one": -1, "three": 3}[tenant]
		}}
		a, b := join(t, addr, 10, cfg), join(t, addr, 10, cfg)
		p := get(t, a, "x", gate.Request{})
		get(t, b, "x", gate.Request{})
		third := later(t, b, "x", gate.Request{})
		get(t, a, "one", gate.Request{})
		for range 3 {
			get(t, b, "three", gate.Request{})
		}
		none(t, "a third one", third)
		syncs := a.Stats().Syncs
		p.Release() // its turn stays for the tenant's next call here, but is called back
		q := <-third
		if a.Stats().Syncs == syncs {
			t.Error("without a round trip")
		}
		fourth := later(t, a, "x", gate.Request{})
		none(t, "another", fourth)
		q.Release()
		<-fourth
	})
}

// A tenant's calls in another process get its turns as well, though it is at its limit, where no other tenant waits.
func TestMaxInFlightElsewhere(t *testing.T) {
	n, addr := name(), addr(t, "redis-server")
	cfg := Config{Name: n, MaxInFlightPerTenant: 1, Slice: 5 * time.Millisecond}
	a, b := join(t, addr, 10, cfg), join(t, addr, 10, cfg)
	stop := make(chan struct{})
	ended := make(chan struct{}, 3)
	for range 3 {
		go func() {
			defer func() { ended <- struct{}{} }()
			for {
				select {
				case <-stop:
					return
				default:
				}
				p := get(t, a, "x", gate.Request{})
				time.Sleep(time.Millisecond)
				p.Release()
			}
		}()
	}
	until(t, "it floods", func() bool { return a.Waiting() == 2 })
	for range 3 {
		get(t, b, "x", gate.Request{}).Release()
	}
	close(stop)
	for range 3 {
		<-ended
	}
}

func TestGivesUp(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		g := join(t, addr, 1, Config{Name: n, MaxPerTenant: 2, MaxGlobal: 3})
		p := get(t, g, "x", gate.Request{})
		ctx, cancel := context.WithCancel(bounded(t))
		gone := make(chan error)
		go func() { _, err := g.Acquire(ctx, "y", gate.Request{}); gone <- err }()
		told(t, g, 1)
		cancel()
		if err := <-gone; err != context.Canceled {
			t.Error(err)
		}
		told(t, g, 0)
		if _, err := g.Acquire(bounded(t), "y", gate.Request{Deadline: time.Now().Add(time.Millisecond)}); err != firq.ErrTimeout {
			t.Error(err)
		}
		if _, err := g.Acquire(bounded(t), "y", gate.Request{Deadline: time.Now().Add(-time.Millisecond)}); err != firq.ErrTimeout {
			t.Error(err)
		}
		x1, x2 := later(t, g, "x", gate.Request{}), later(t, g, "x", gate.Request{Priority: firq.PriorityHigh})
		if _, err := g.Acquire(bounded(t), "x", gate.Request{}); err != firq.ErrTenantFull {
			t.Error(err)
		}
		z := later(t, g, "z", gate.Request{})
		if _, err := g.Acquire(bounded(t), "y", gate.Request{}); err != firq.ErrGlobalFull {
			t.Error(err)
		}
		p.Release()
		for range 3 {
			select {
			case p := <-x2:
				x2 = nil
				p.Release()
			case p := <-x1:
				if x1 = nil; x2 != nil {
					t.Error("the lower priority first")
				}
				p.Release()
			case p := <-z:
				z = nil
				p.Release()
			}
		}
		if s := g.Stats(); s.TimedOut != 2 || s.RejectedTenant != 1 || s.RejectedGlobal != 1 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		for _, k := range keys(t, addr, n, "h:") {
			fields, err := client(t, addr).HGetAll(bounded(t), "ff:{"+n+"}:"+k).Result()
			if err != nil || fields["ty"] != "" {
				t.Errorf("%v %v", fields, err)
			}
		}
	})
}

func TestMaxQueueAge(t *testing.T) {
	g := join(t, mini(t), 1, Config{MaxQueueAge: 200 * time.Millisecond})
	get(t, g, "x", gate.Request{})
	if _, err := g.Acquire(bounded(t), "x", gate.Request{}); err != firq.ErrTimeout || !errors.Is(err, firq.ErrRejected) {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		a, b := join(t, addr, 2, Config{Name: n, Lease: MinLease}), join(t, addr, 2, Config{Name: n})
		p := get(t, a, "x", gate.Request{})
		get(t, a, "x", gate.Request{}).Release()
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Acquire(bounded(t), "x", gate.Request{}); err != firq.ErrClosed {
			t.Error(err)
		}
		if _, ok := a.TryAcquire("x", gate.Request{}); ok {
			t.Error("closed")
		}
		get(t, b, "y", gate.Request{}) // it is back
		time.Sleep(2 * MinLease)       // the lease is kept
		if f := fleet(t, b); f.InUse != 2 || f.Members != 2 {
			t.Errorf("%+v", f)
		}
		p.Release()
		until(t, "it leaves", func() bool { return fleet(t, b).Members == 1 })
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := a.Shutdown(bounded(t)); err != firq.ErrClosed && err != nil {
			t.Error(err)
		}
	})
}

func TestShutdown(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		g := join(t, addr, 1, Config{Name: name()})
		p := get(t, g, "x", gate.Request{})
		waits := later(t, g, "x", gate.Request{})
		short, cancel := context.WithTimeout(bounded(t), time.Millisecond)
		defer cancel()
		if err := g.Shutdown(short); err != context.DeadlineExceeded {
			t.Error(err)
		}
		ended := make(chan error)
		go func() { ended <- g.Shutdown(bounded(t)) }()
		p.Release()
		(<-waits).Release()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		p.Release()
	})
}

func TestInvalid(t *testing.T) {
	ctx, addr := bounded(t), mini(t)
	for field, cfg := range map[string]Config{
		"Name": {Name: "{"}, "Name:": {Name: strings.Repeat("x", 129)}, "Lease": {Lease: 299 * time.Millisecond}, "MaxGlobal": {MaxGlobal: -1},
		"MaxPerTenant": {MaxPerTenant: -1}, "MaxInFlightPerTenant": {MaxInFlightPerTenant: -1}, "MaxQueueAge": {MaxQueueAge: -1}, "Down": {Down: 3},
	} {
		cfg.Client = client(t, addr)
		if _, err := New(ctx, 1, cfg); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, limit := range []int{0, -1, gate.MaxSlots + 1} {
		if _, err := New(ctx, limit, Config{Client: client(t, addr)}); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%d: %v", limit, err)
		}
	}
	g := join(t, addr, 1, Config{})
	for tenant, req := range map[string]gate.Request{"a\nb": {}, strings.Repeat("x", 129): {}, "c": {Cost: -1}, "w": {Weight: -1}, "p": {Priority: 99}} {
		if _, err := g.Acquire(ctx, tenant, req); !errors.Is(err, firq.ErrInvalidTask) {
			t.Errorf("%q: %v", tenant, err)
		}
	}
	var nobody context.Context
	if _, err := g.Acquire(nobody, "a", gate.Request{}); !errors.Is(err, firq.ErrInvalidArgument) {
		t.Error(err)
	}
	if err := g.SetLimit(ctx, 0); !errors.Is(err, firq.ErrInvalidArgument) {
		t.Error(err)
	}
	if _, err := New(ctx, 1, Config{Client: client(t, "127.0.0.1:1")}); !errors.Is(err, ErrUnavailable) || errors.Is(err, firq.ErrRejected) {
		t.Error(err)
	}
}
