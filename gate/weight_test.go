package gate

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

func TestInvalidWeight(t *testing.T) {
	g := New[string](3, Config[string]{})
	for _, w := range []int{-1, MaxSlots + 1, math.MinInt, math.MaxInt} {
		if _, err := g.Acquire(background, "a", Request{Weight: w}); !errors.Is(err, firq.ErrInvalidTask) || !strings.Contains(err.Error(), "Weight") {
			t.Errorf("Weight %d: %v", w, err)
		}
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "firq: ") || !strings.Contains(s, "Weight") {
					t.Errorf("Weight %d: TryAcquire panicked with %q", w, s)
				}
			}()
			g.TryAcquire("a", Request{Weight: w})
		}()
	}
	intact(t, g)
	g = New[string](MaxSlots, Config[string]{})
	p, err := g.Acquire(background, "a", Request{Weight: MaxSlots})
	if err != nil || g.InUse() != MaxSlots || g.Limit() != MaxSlots {
		t.Errorf("the heaviest permit: %v; in use %d of %d", err, g.InUse(), g.Limit())
	}
	if p.Release(); g.InUse() != 0 {
		t.Errorf("in use %d", g.InUse())
	}
}

// Free slots are gathered for a heavy one, whatever other calls come, in both kinds of
// gates; a second Release gives nothing back.
func TestHeavyIsNext(t *testing.T) {
	for name, cfg := range map[string]Config[string]{"plain": {}, "in flight": {MaxInFlightPerTenant: 4}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(4, cfg)
				out := []Permit[string]{must(t, g, "a"), must(t, g, "b"), must(t, g, "c")}
				heavy := wait(background, g, "heavy", Request{Weight: 3})
				light := wait(background, g, "light", Request{})
				if _, ok := g.TryAcquire("d", Request{}); ok || heavy.done.Load() || light.done.Load() {
					t.Fatal("it overtook, or four slots were five")
				}
				if g.InUse() != 3 || g.Waiting() != 2 {
					t.Errorf("in use %d, waiting %d", g.InUse(), g.Waiting())
				}
				time.Sleep(time.Second)
				out[0].Release()
				synctest.Wait()
				if heavy.done.Load() || light.done.Load() || g.InUse() != 2 {
					t.Fatal("two free slots for one that needs three")
				}
				out[1].Release()
				p := heavy.granted(t)
				if p.Waited() != time.Second {
					t.Errorf("waited %v", p.Waited())
				}
				if light.done.Load() || g.InUse() != 4 {
					t.Fatalf("in use %d", g.InUse())
				}
				p.Release()
				p.Release()
				light.granted(t)
				if g.InUse() != 2 {
					t.Errorf("in use %d", g.InUse())
				}
				light.p.Release()
				out[2].Release()
				if s := g.Stats(); s.Forgone != 0 || s.Immediate+s.Queue.Dequeued != 5 {
					t.Errorf("%+v", s)
				}
				intact(t, g)
			})
		})
	}
}

// A call that is next and leaves, in whatever way, frees the way for others immediately, and
// its tenant may be served again.
func TestNextLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		req   Request
		leave func(g *Gate[string], cancel func())
		want  error
	}{
		"cancel":   {Request{}, func(_ *Gate[string], cancel func()) { cancel() }, context.Canceled},
		"Deadline": {Request{Deadline: time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)}, func(*Gate[string], func()) { time.Sleep(2 * time.Hour) }, firq.ErrTimeout},
		"limit":    {Request{}, func(g *Gate[string], _ func()) { g.SetLimit(2) }, nil}, // aside
		"close":    {Request{}, func(g *Gate[string], _ func()) { g.Close() }, firq.ErrClosed},
	} {
		for kind, cfg := range map[string]Config[string]{"plain": {}, "in flight": {MaxInFlightPerTenant: 1}} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // it is midnight of 2000-01-01
					g := New(3, cfg)
					p := must(t, g, "a")
					ctx, cancel := context.WithCancel(background)
					c.req.Weight = 3
					heavy := wait(ctx, g, "heavy", c.req)
					behind := []*call{wait(background, g, "b", Request{}), wait(background, g, "heavy", Request{})}
					c.leave(g, cancel)
					synctest.Wait()
					if heavy.err != c.want || heavy.done.Load() != (c.want != nil) {
						t.Errorf("done %t, %v; want %v", heavy.done.Load(), heavy.err, c.want)
					}
					if name != "close" {
						for _, c := range behind { // with one slot, in whichever order
							if !c.done.Load() {
								behind[1].granted(t).Release()
							}
							c.granted(t).Release()
						}
						g.SetLimit(3)
					}
					p.Release()
					cancel()
					synctest.Wait()
					heavy.p.Release()
					if s := g.Stats(); s.Forgone != 1 || s.Queue.InFlight != 0 || s.Aside != 0 {
						t.Errorf("%+v", s)
					}
					if name == "close" {
						if behind[0].err != firq.ErrClosed || g.Waiting() != 0 || g.InUse() != 0 {
							t.Errorf("%v; in use %d, waiting %d", behind[0].err, g.InUse(), g.Waiting())
						}
						return
					}
					intact(t, g)
				})
			})
		}
	}
}

// The limit moves while one gathers.
func TestSetLimitWhileOneGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](3, Config[string]{})
		p := must(t, g, "a")
		heavy := wait(background, g, "heavy", Request{Weight: 3})
		light := wait(background, g, "light", Request{})
		g.SetLimit(0) // no call is let in, none is sent away
		g.SetLimit(3)
		g.SetLimit(4)
		heavy.granted(t)
		if light.done.Load() || g.InUse() != 4 {
			t.Fatalf("in use %d", g.InUse())
		}
		g.SetLimit(1)
		p.Release()
		synctest.Wait()
		if light.done.Load() {
			t.Fatal("let in with 3 out at a limit of 1")
		}
		heavy.p.Release()
		light.granted(t).Release()
		intact(t, g)
	})
}

// A permit of n slots counts n for fairness, unless Cost says otherwise.
func TestWeightCounts(t *testing.T) {
	for _, c := range []struct {
		cost  int64
		heavy int64 // permits of the heavy tenant, of 1,000 light ones
	}{{0, 250}, {1, 1000}, {8, 125}} {
		synctest.Test(t, func(t *testing.T) {
			g := New[string](4, Config[string]{})
			got := map[string]int64{}
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 8 {
				for tenant, req := range map[string]Request{"heavy": {Weight: 4, Cost: c.cost}, "light": {}} {
					wg.Go(func() {
						for over := false; !over; {
							p, err := g.Acquire(background, tenant, req)
							if err != nil {
								t.Error(err)
								return
							}
							time.Sleep(time.Millisecond)
							mu.Lock()
							if over = got["light"] == 1000; !over {
								got[tenant]++
							}
							mu.Unlock()
							p.Release()
						}
					})
				}
			}
			wg.Wait()
			near(t, "heavy", got["heavy"], c.heavy, 10)
			intact(t, g)
		})
	}
}

// All are let in that can be, however many come in question together.
func TestManyLetInTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3*maxLet + 1
		g := New[int](n, Config[int]{})
		g.SetLimit(0)
		var wg sync.WaitGroup
		over := make(chan bool)
		for i := range n {
			wg.Go(func() {
				p, err := g.Acquire(background, i, Request{})
				if err != nil {
					t.Error(err)
				}
				<-over
				p.Release()
			})
		}
		synctest.Wait()
		g.SetLimit(n)
		synctest.Wait()
		if g.InUse() != n {
			t.Errorf("%d of %d are let in", g.InUse(), n)
		}
		close(over)
		wg.Wait()
	})
}
