package gate

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// name is a tenant. The compiler makes the same code for it as for bad, so that the test compiles sooner.
type name struct{ key any }

// names are keys that only the gate refers to.
type names []weak.Pointer[[16]byte]

func (n *names) next() name {
	k := new([16]byte)
	*n = append(*n, weak.Make(k))
	return name{k}
}

// kept returns how many of the names the gate remembers.
func (n *names) kept() (kept int) {
	runtime.GC()
	runtime.GC() // what pools held
	for _, k := range *n {
		if k.Value() != nil {
			kept++
		}
	}
	return kept
}

// Tenants that had to wait, and debts, are forgotten though from then on permits are
// given immediately, and Stats is never called.
func TestForgotten(t *testing.T) {
	const idle = time.Minute
	for how, waits := range map[string]bool{"had to wait": true, "owe": false} {
		for traffic, calls := range map[string]int{"busy": 30_000, "seldom": 60, "none": 1} {
			t.Run(how+"/"+traffic, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := New(1, Config[name]{TenantIdle: idle, TopTenants: -1})
					var n names
					for range 1000 {
						p, err := g.Acquire(background, n.next(), Request{})
						if err != nil {
							t.Fatal(err)
						}
						if waits {
							p.Release()
							p, _ = g.TryAcquire(name{}, Request{})
							go func(k name) {
								p, err := g.Acquire(background, k, Request{})
								if err != nil {
									t.Error(err)
								}
								p.Release()
							}(n.next())
							synctest.Wait()
						} else {
							p.Charge(100)
						}
						p.Release()
						synctest.Wait()
					}
					if kept := n.kept(); kept < 1000 {
						t.Fatalf("%d are remembered to begin with", kept)
					}
					for i := range calls {
						p, ok := g.TryAcquire(name{}, Request{})
						if !ok {
							t.Fatal("not immediately")
						}
						p.Release()
						time.Sleep(15 * idle / time.Duration(calls))
						if (i+1)*30 == calls && n.kept() < 1000 { // half an idle time has passed
							t.Fatal("forgotten too soon")
						}
						if i*15 == calls*3 && n.kept() > 0 {
							t.Fatalf("%d are remembered after 3 x TenantIdle", n.kept())
						}
					}
					if kept := n.kept(); kept > 0 {
						t.Errorf("%d are remembered", kept)
					}
					if state := g.memory.Load(); state != nothing {
						t.Errorf("state %d", state)
					}
				})
			})
		}
	}
}

// A call that waits for ever is not looked for for ever: or in a bubble time would run on
// where nothing else does.
func TestForgetStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{TenantIdle: time.Second})
		p := must(t, g, "a")
		w := wait(background, g, "b", Request{})
		p.Release()
		second := wait(background, g, "b", Request{})
		first := w.granted(t)
		time.Sleep(time.Hour)
		if g.memory.Load() != something {
			t.Error("the timer goes on though a call waits, or forgot that one does")
		}
		first.Release()
		second.granted(t).Release()
		time.Sleep(time.Minute)
		if g.memory.Load() != nothing {
			t.Error("something is left")
		}
		intact(t, g)
	})
}
