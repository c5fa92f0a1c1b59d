package gate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq"
)

// bad is the tenant whose callbacks do not return. A slice in an interface cannot
// be compared.
type bad struct{ key any }

var (
	plain    = bad{"plain"}
	callback = bad{"callback"}
	noKey    = bad{[]int{1}}
)

// ways in which user code does not return.
var ways = map[string]func(){
	"panic":         func() { panic("on purpose") },
	"panic(nil)":    func() { panic(nil) },
	"runtime error": func() { none := []int{}; none[len(none)]++ },
	"Goexit":        runtime.Goexit,
}

// run calls f in its own goroutine, and reports whether it returned. It fails
// if f does not end.
func run(t *testing.T, f func()) (returned bool) {
	t.Helper()
	over := make(chan bool, 1)
	go func() {
		ended := false
		defer func() {
			_ = recover()
			over <- ended
		}()
		f()
		ended = true
	}()
	select {
	case returned = <-over:
		return returned
	case <-time.After(time.Minute): // of the bubble's time
		t.Fatal("it hangs")
		return false
	}
}

// evilContext does not return from one of its methods.
type evilContext struct {
	context.Context
	done, err func()
}

func (c evilContext) Done() <-chan struct{} { c.done(); return c.Context.Done() }
func (c evilContext) Err() error            { c.err(); return c.Context.Err() }

// TestUserPanics lets each thing that is the user's not return out of each method
// that calls it, in each situation of the gate; afterwards nothing is left of the
// call, and strangers are served.
func TestUserPanics(t *testing.T) {
	situations := map[string]struct {
		cfg     Config[bad]
		out     []bad // permits
		waiting []bad
		charged bool // the first of out
	}{
		"a slot is free":        {},
		"free, and a debt":      {out: []bad{plain}, charged: true},
		"must wait":             {out: []bad{plain, plain, plain}},
		"must wait, others too": {out: []bad{plain, plain, plain}, waiting: []bad{plain, plain}},
		"the queue is full":     {out: []bad{plain, plain, plain}, waiting: []bad{plain, plain, plain, plain}},
		"its queue is full":     {cfg: Config[bad]{MaxPerTenant: 1}, out: []bad{plain, plain, plain}, waiting: []bad{callback}},
		"in flight":             {cfg: Config[bad]{MaxInFlightPerTenant: 2}},
		"in flight, must wait":  {cfg: Config[bad]{MaxInFlightPerTenant: 3}, out: []bad{plain, plain, plain}},
		"at its limit":          {cfg: Config[bad]{MaxInFlightPerTenant: 1}, out: []bad{callback}, waiting: []bad{callback}},
		"aside":                 {cfg: Config[bad]{MaxGlobal: 1}}, // with a weight of 9
	}
	methods := map[string]func(g *Gate[bad], k bad, w int) error{
		"Acquire": func(g *Gate[bad], k bad, w int) error {
			ctx, cancel := context.WithTimeout(background, time.Second)
			defer cancel()
			p, err := g.Acquire(ctx, k, Request{Weight: w})
			p.Release()
			return err
		},
		"Acquire, Deadline": func(g *Gate[bad], k bad, w int) error {
			p, err := g.Acquire(background, k, Request{Weight: w, Deadline: time.Now().Add(time.Second)})
			p.Release()
			return err
		},
		"TryAcquire": func(g *Gate[bad], k bad, w int) error {
			p, _ := g.TryAcquire(k, Request{Weight: w})
			p.Charge(5)
			p.Release()
			return nil
		},
		"SetQuantum":   func(g *Gate[bad], k bad, _ int) error { g.SetQuantum(k, 3); return nil },
		"ResetQuantum": func(g *Gate[bad], k bad, _ int) error { g.ResetQuantum(k); return nil },
		"ctx.Done": func(g *Gate[bad], _ bad, w int) error {
			_, err := g.Acquire(evilContext{background, func() { ways["panic"]() }, func() {}}, plain, Request{Weight: w})
			return err
		},
		"ctx.Err": func(g *Gate[bad], _ bad, w int) error {
			ctx, cancel := context.WithTimeout(background, time.Second)
			defer cancel()
			p, err := g.Acquire(evilContext{ctx, func() {}, ways["Goexit"]}, plain, Request{Weight: w})
			p.Release()
			return err
		},
	}
	for in, s := range situations {
		for way, end := range ways {
			for method, call := range methods {
				for _, k := range []bad{callback, noKey, plain} {
					t.Run(fmt.Sprint(in, "/", way, "/", method, "/", k.key), func(t *testing.T) {
						// A bubble's time stands still where a lock is not given back.
						defer time.AfterFunc(20*time.Second, func() { panic(t.Name() + " hangs") }).Stop()
						synctest.Test(t, func(t *testing.T) {
							armed := false
							ask := func(k bad) {
								if armed && k == callback {
									end()
								}
							}
							cfg := s.cfg
							if cfg.MaxGlobal == 0 {
								cfg.MaxGlobal = 4
							}
							cfg.QuantumFor = func(k bad) int64 { ask(k); return 1 }
							cfg.PolicyFor = func(k bad) firq.Policy { ask(k); return firq.DropOldest }
							userPanic(t, cfg, s.out, s.waiting, s.charged, &armed, func(g *Gate[bad]) error {
								w := 1
								if in == "aside" {
									w = 9
								}
								return call(g, k, w)
							})
						})
					})
				}
			}
		}
	}
}

// userPanic builds a situation, makes the call, and looks at what is left.
func userPanic(t *testing.T, cfg Config[bad], held, waiting []bad, charged bool, armed *bool, call func(*Gate[bad]) error) {
	g := New(3, cfg)
	var out []Permit[bad]
	for _, k := range held {
		p, ok := g.TryAcquire(k, Request{})
		if !ok {
			t.Fatal("no permit to begin with")
		}
		if out = append(out, p); charged {
			p.Charge(7)
		}
	}
	for _, k := range waiting {
		go func() {
			p, err := g.Acquire(background, k, Request{})
			if err != nil && !errors.Is(err, ErrEvicted) {
				t.Errorf("a waiter: %v", err)
			}
			p.Release()
		}()
		synctest.Wait()
	}
	use, waits := g.InUse(), g.Waiting()
	*armed = true
	var err error
	returned := run(t, func() { err = call(g) })
	*armed = false
	synctest.Wait()
	if returned && err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, firq.ErrRejected) {
		t.Errorf("it returned %v", err)
	}
	// Evicted waiters are gone whatever came of the call.
	if g.InUse() != use || g.Waiting() > waits || g.Waiting() < min(waits, len(waiting)-1) {
		t.Errorf("in use %d, waiting %d; before it %d and %d", g.InUse(), g.Waiting(), use, waits)
	}
	for _, p := range out {
		run(t, func() { p.Charge(1) })
		run(t, p.Release)
	}
	synctest.Wait()
	if g.InUse() != 0 || g.Waiting() != 0 || g.s.Len() != 0 {
		t.Fatalf("in use %d, waiting %d, queued %d; want none", g.InUse(), g.Waiting(), g.s.Len())
	}
	for i := range 3 { // strangers, and those that panicked before
		for _, k := range []bad{{i}, callback} {
			p, ok := g.TryAcquire(k, Request{Weight: 3})
			if !ok {
				t.Fatalf("%v is not served", k)
			}
			p.Charge(1)
			p.Release()
		}
	}
	ctx, cancel := context.WithTimeout(background, time.Second)
	defer cancel()
	if err := g.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// The panics of TestUserPanics reach the caller: they are called.
func TestUserPanicsArePassedOn(t *testing.T) {
	asked := 0
	boom := func() { asked++; panic("on purpose") }
	for name, f := range map[string]func(){
		"QuantumFor": func() {
			g := New(1, Config[bad]{MaxInFlightPerTenant: 1, QuantumFor: func(bad) int64 { boom(); return 1 }})
			_, _ = g.Acquire(background, plain, Request{})
		},
		"MaxPerTenantFor": func() {
			g := New(1, Config[bad]{MaxInFlightPerTenant: 1, MaxPerTenantFor: func(bad) int { boom(); return 1 }})
			_, _ = g.Acquire(background, plain, Request{})
		},
		"MaxInFlightFor, at once": func() { // every permit goes through the queue
			g := New(1, Config[bad]{MaxInFlightFor: func(bad) int { boom(); return 1 }})
			_, _ = g.TryAcquire(plain, Request{})
		},
		"PolicyFor": func() {
			g := New(1, Config[bad]{MaxGlobal: 1, PolicyFor: func(bad) firq.Policy { boom(); return 0 }})
			_, _ = g.TryAcquire(plain, Request{})
			_, _ = g.decide(1)
			_, _ = g.enqueue(plain, &Request{Weight: 1})
			_, _ = g.Acquire(background, plain, Request{})
		},
		"key, at once": func() {
			asked++
			_, _ = New(1, Config[bad]{}).TryAcquire(noKey, Request{})
		},
		"key, SetQuantum": func() {
			asked++
			New(1, Config[bad]{}).SetQuantum(noKey, 1)
		},
	} {
		asked = 0
		if run(t, f) || asked != 1 {
			t.Errorf("%s: it returned, having asked %d times", name, asked)
		}
	}
	goleak.VerifyNone(t)
}

// A permit comes after the context ended, whose Err panics: the slot is not lost.
func TestTooLatePanics(t *testing.T) {
	g := New[string](1, Config[string]{MaxInFlightPerTenant: 1})
	if v, err := g.decide(1); v != announced || err != nil {
		t.Fatal(v, err)
	}
	h, err := g.enqueue("a", &Request{Weight: 1, Cost: 1})
	if err != nil || <-h.end != granted {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	if run(t, func() { _, _ = g.inTime(evilContext{ctx, func() {}, ways["panic"]}, ctx.Done(), h, &Request{}) }) {
		t.Error("it returned")
	}
	intact(t, g)
}

// A key that is not equal to itself is refused, whether a slot is free or not, and
// nothing is remembered of it.
func TestNaN(t *testing.T) {
	nan := bad{math.NaN()}
	for _, cfg := range []Config[bad]{{}, {MaxInFlightPerTenant: 1}} {
		g := New(1, cfg)
		for _, n := range []int{0, 1} { // free, and not
			for range 3 {
				ctx, cancel := context.WithTimeout(background, time.Second)
				if _, err := g.Acquire(ctx, nan, Request{}); !errors.Is(err, firq.ErrInvalidTask) {
					t.Errorf("%d in use: Acquire returned %v", n, err)
				}
				cancel()
				func() {
					defer func() {
						if s, _ := recover().(string); !strings.HasPrefix(s, "firq: ") {
							t.Errorf("TryAcquire panicked with %q", s)
						}
					}()
					g.TryAcquire(nan, Request{})
				}()
				g.SetQuantum(nan, 3)
				g.ResetQuantum(nan)
			}
			if g.InUse() != n || g.Waiting() != 0 || g.Stats().Queue.Tenants > n {
				t.Errorf("in use %d, waiting %d, %d tenants", g.InUse(), g.Waiting(), g.Stats().Queue.Tenants)
			}
			if n == 0 {
				if _, ok := g.TryAcquire(plain, Request{}); !ok {
					t.Fatal("no permit")
				}
			}
		}
	}
}
