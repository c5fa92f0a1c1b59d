package gate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// Calls that are too heavy are aside: bounded, in no call's way, and called back in
// the order in which they came, as far as they fit.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{MaxGlobal: 3, MaxPerTenant: 2, MaxQueueAge: time.Hour})
		out := must(t, g, "out") // no turn has to come for them to be found out
		a := wait(background, g, "a", Request{Weight: 2})
		b := wait(background, g, "a", Request{Weight: 3})
		if _, err := g.Acquire(background, "a", Request{Weight: 2}); err != firq.ErrTenantFull {
			t.Errorf("a third of its tenant: %v", err)
		}
		c := wait(background, g, "b", Request{Weight: 4})
		if _, err := g.Acquire(background, "c", Request{Weight: 2}); err != firq.ErrGlobalFull {
			t.Errorf("a fourth: %v", err)
		}
		if s := g.Stats(); s.Waiting != 3 || g.Waiting() != 3 || s.Aside != 3 || s.Queue.RejectedGlobal != 1 || s.Queue.RejectedTenant != 1 || s.Queue.Dropped != 2 {
			t.Errorf("%+v", s)
		}
		out.Release()
		p := must(t, g, "light") // they delay no other call
		p.Release()
		time.Sleep(time.Minute)
		g.SetLimit(3)
		first := a.granted(t)
		if first.Waited() != time.Minute || b.done.Load() || c.done.Load() || g.Waiting() != 2 {
			t.Errorf("waited %v; in use %d, waiting %d", first.Waited(), g.InUse(), g.Waiting())
		}
		first.Release()
		b.granted(t).Release()
		time.Sleep(time.Hour)
		if !c.done.Load() || c.err != firq.ErrTimeout || g.Waiting() != 0 || len(g.aside.of) != 0 {
			t.Errorf("MaxQueueAge: done %t, %v; waiting %d", c.done.Load(), c.err, g.Waiting())
		}
		intact(t, g)
	})
}

// Shutdown waits for no call that is aside; Close ends them too.
func TestAsideEnds(t *testing.T) {
	for name, end := range map[string]func(*Gate[string]) error{
		"Shutdown": func(g *Gate[string]) error {
			ctx, cancel := context.WithTimeout(background, time.Second)
			defer cancel()
			return g.Shutdown(ctx)
		},
		"Close": (*Gate[string]).Close,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New[string](5, Config[string]{})
				w := wait(background, g, "a", Request{Weight: 6})
				p := must(t, g, "b")
				next := wait(background, g, "b", Request{Weight: 5})
				go func() {
					time.Sleep(time.Millisecond)
					if !w.done.Load() {
						t.Error("it stays aside")
					}
					g.SetLimit(4) // the next one becomes too heavy while the gate shuts down
					p.Release()
				}()
				if err := end(g); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				for _, c := range []*call{w, next} {
					if !c.done.Load() || c.err != firq.ErrClosed {
						t.Errorf("done %t, %v", c.done.Load(), c.err)
					}
				}
				time.Sleep(time.Second)
				if g.Waiting() != 0 || g.InUse() != 0 {
					t.Errorf("in use %d, waiting %d", g.InUse(), g.Waiting())
				}
			})
		})
	}
}

// A heavy call that is sent away when the limit falls is not charged for the turn
// that it did not have: its tenant, whose other call costs ten, does not have to
// save up for that.
func TestSentAwayIsNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](3, Config[string]{})
		p := must(t, g, "x")
		heavy := wait(background, g, "a", Request{Weight: 3, Cost: 50})
		a := wait(background, g, "a", Request{Cost: 10})
		var b []*call
		for range 5 {
			b = append(b, wait(background, g, "b", Request{}))
		}
		g.SetLimit(2) // one slot is free
		synctest.Wait()
		if !a.done.Load() {
			t.Error("its tenant has to wait, as if it had had the turn")
		}
		for _, c := range append([]*call{a}, b...) {
			c.granted(t).Release()
		}
		g.SetLimit(3)
		p.Release()
		heavy.granted(t).Release()
		intact(t, g)
	})
}

// The calls of a tenant come back from aside one after the other, and in their
// order; those of others do not wait for its QuantumFor, and its panic reaches no
// other call.
func TestAsideComesBackInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, asked := make(chan bool), 0
		g := New[string](1, Config[string]{MaxInFlightPerTenant: 100, QuantumFor: func(tenant string) int64 {
			switch tenant {
			case "stuck":
				<-stuck
			case "panics":
				if asked++; asked == 2 {
					panic("on purpose")
				}
			}
			return 1
		}})
		var order []int
		for i := range 20 {
			for _, tenant := range []string{"stuck", "a", "panics"} {
				go func() {
					defer func() { _ = recover() }()
					p, err := g.Acquire(background, tenant, Request{Weight: 2})
					if err != nil {
						t.Error(err)
					}
					if tenant == "a" {
						order = append(order, i) // one at a time has the slots
					}
					p.Release()
				}()
				synctest.Wait()
			}
		}
		if g.Stats().Aside != 60 {
			t.Fatalf("%d aside", g.Stats().Aside)
		}
		g.SetLimit(2)
		synctest.Wait()
		for i, n := range order {
			if n != i {
				t.Fatalf("order %v", order)
			}
		}
		if s := g.Stats(); len(order) != 20 || s.Aside != 19 || s.Queue.Dequeued != 39 {
			t.Errorf("order %v; %+v", order, s)
		}
		close(stuck)
		synctest.Wait()
		if len(g.aside.of) != 0 {
			t.Errorf("%d tenants are remembered", len(g.aside.of))
		}
		intact(t, g)
	})
}

// A call that has come back from aside says so once it is in the queue, and not when it has
// its permit: the others of its tenant wait for their turn, too, in addition to a limit that
// has room for them.
func TestAsideAllComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{})
		held := must(t, g, "h")
		over := 0
		for range 3 {
			go func() {
				p, err := g.Acquire(background, "a", Request{Weight: 2})
				if err != nil {
					t.Error(err)
				}
				over++ // one at a time has the slots
				p.Release()
			}()
		}
		synctest.Wait()
		if s := g.Stats(); s.Aside != 3 {
			t.Errorf("%d aside", s.Aside)
		}
		g.SetLimit(2)
		synctest.Wait()
		if s := g.Stats(); s.Aside != 0 || s.Waiting != 3 || over != 0 {
			t.Errorf("%d are aside still, %d wait, %d are over", s.Aside, s.Waiting, over)
		}
		held.Release()
		synctest.Wait()
		if over != 3 {
			t.Errorf("%d of 3 were served", over)
		}
		intact(t, g)
	})
}
