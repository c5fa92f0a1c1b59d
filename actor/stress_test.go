package actor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Random work with panics, Goexit, timeouts, kills, stops and deadlines, under supervisors. No two
// handlers of an incarnation run at the same time, each call is answered, and the counters add up.
func TestStress(t *testing.T) {
	limit(t, 60e9)
	for _, cfg := range []Config{{}, {Slots: 1, Throughput: 1}, {Slots: 4, Handoff: time.Millisecond}} {
		for _, how := range []Reentrancy{None, CallChain, Full} {
			stress(t, cfg, how, 400*time.Millisecond)
		}
	}
}

type shared struct{ in atomic.Int32 }

func stress(t *testing.T, cfg Config, how Reentrancy, d time.Duration) {
	var dead atomic.Uint64
	cfg.OnTimeout = func(SlowHandler) {}
	cfg.OnDeadLetter = func(DeadLetter) { dead.Add(1) }
	s := newSys(t, cfg)
	var mu sync.Mutex
	var refs []Ref[*shared]
	some := func() Ref[*shared] {
		mu.Lock()
		defer mu.Unlock()
		return refs[rand.IntN(len(refs))]
	}
	spawn := func(p Parent) {
		r, err := Spawn(p, "", func(*Ctx) (*shared, error) { return &shared{}, nil },
			WithReentrancy(how), WithMailbox(Mailbox{Limit: 1 + rand.IntN(8)}), WithHandlerTimeout(3*time.Millisecond, TimeoutMode(rand.IntN(3))))
		if err == nil {
			mu.Lock()
			if len(refs) < 40 {
				refs = append(refs, r)
			} else {
				refs[rand.IntN(len(refs))] = r
			}
			mu.Unlock()
		}
	}
	var act func(depth int) func(*shared, *Ctx, int) (int, error)
	var m, rd *Method[*shared, int, int]
	act = func(depth int) func(*shared, *Ctx, int) (int, error) {
		return func(st *shared, c *Ctx, n int) (int, error) {
			st.in.Add(1)
			defer st.in.Add(-1)
			switch k := rand.IntN(100); {
			case k < 2:
				panic("random")
			case k < 3:
				runtime.Goexit()
			case k < 5:
				time.Sleep(time.Duration(rand.IntN(6)) * time.Millisecond)
			case k < 6:
				c.Stash()
			case k < 8:
				c.Unstash()
			case k < 9:
				c.Stop(nil)
			case k < 10:
				_ = c.Await(func() error { time.Sleep(time.Millisecond); return nil })
			case k < 11:
				c.Yield()
			}
			if n > 0 {
				st.in.Add(-1) // others may come in
				got, err := m.Call(c, some(), n-1)
				st.in.Add(1)
				if err == nil && got != n-1 {
					t.Errorf("%d answers %d", got, n-1)
				}
			}
			return n, nil
		}
	}
	m = NewMethod("m", act(0), WithPriority(0))
	rd = NewMethod("rd", func(st *shared, c *Ctx, n int) (int, error) { return n, nil }, ReadOnly())
	top, err := Supervise(s, "", Supervision{MaxRestarts: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		spawn([]Parent{s, top}[i%2])
	}
	over, flushed := make(chan bool), make(chan bool)
	go func() { // messages that are put aside do not stay there
		defer close(flushed)
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
				for a := range s.names.all() {
					a.obey(&outcome{unstash: true})
					a.mu.Lock()
					a.unlockWake(nil)
				}
			}
		}
	}()
	var wg sync.WaitGroup
	stop := time.Now().Add(d)
	for g := range 6 {
		wg.Go(func() {
			step := func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(4000))*time.Microsecond)
				defer cancel()
				n := rand.IntN(4)
				switch k := rand.IntN(20); {
				case k < 8:
					if got, err := m.Call(ctx, some(), n); err == nil && got != n {
						t.Errorf("%d answers %d", got, n)
					}
				case k < 12:
					_ = m.Tell(ctx, some(), n)
				case k < 14:
					_, _ = rd.Call(ctx, some(), n)
				case k < 16:
					f := m.Start(ctx, some(), n)
					_, _ = f.Wait(ctx)
				case k < 17:
					some().Kill()
				case k < 18:
					_ = some().Stop(ctx)
				default:
					spawn([]Parent{s, top}[g%2])
				}
			}
			for time.Now().Before(stop) {
				s.apart(step) // a handler may end the goroutine
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = top.Stop(ctx)
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("%v: %v %+v", how, err, s.Stats())
	}
	close(over)
	<-flushed
	books(t, s)
	if st := s.Stats(); st.DeadLetters != dead.Load() || st.Actors != 0 {
		t.Errorf("%v: told %d of %+v", how, dead.Load(), st)
	}
}

// Random graphs of calls: a call that ends by itself is never refused, and one that cannot end is.
// Each actor waits for others in a fixed order, in all the ways that exist. If the graph has no
// cycle, nothing may be refused, whatever runs at the same time.
func TestNeverAFalseAlarm(t *testing.T) {
	limit(t, 60e9)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := newSys(t, Config{Slots: 1 + int(seed%4)})
		n := 3 + rng.IntN(6)
		refs := make([]Ref[*box], n)
		for i := range refs {
			refs[i] = box0(t, s, fmt.Sprint(i), WithReentrancy(Reentrancy(rng.IntN(3))))
		}
		calls := make([][]int, n) // to higher numbers only
		for i := range n {
			for j := i + 1; j < n; j++ {
				if rng.IntN(3) == 0 {
					calls[i] = append(calls[i], j)
				}
			}
		}
		var visit func(i int) job
		visit = func(i int) job {
			return func(_ *box, c *Ctx) (any, error) {
				var fs []*Future[any]
				for _, j := range calls[i] {
					m := do
					if j%3 == 0 {
						m = look
					}
					if (i+j)%2 == 0 {
						fs = append(fs, m.Start(c, refs[j], visit(j)))
						continue
					}
					if err := ways[rand.IntN(len(ways))](c, m, refs[j], visit(j)); err != nil {
						return nil, err
					}
				}
				for _, f := range fs {
					if _, err := f.Wait(c); err != nil {
						return nil, err
					}
				}
				return nil, nil
			}
		}
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for k := range 30 {
					ctx := context.Background()
					if (g+k)%2 == 0 {
						ctx = within(t)
					}
					if _, err := do.Call(ctx, refs[(g*7+k)%n], visit((g*7+k)%n)); err != nil {
						t.Errorf("seed %d: %v of %v", seed, err, calls)
						return
					}
				}
			})
		}
		wg.Wait()
		books(t, s)
		s.Close()
	}
}

// With cycles: every call ends, and a refusal names a cycle that the graph has.
func TestEveryDeadlockIsTold(t *testing.T) {
	limit(t, 60e9)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s := newSys(t, Config{})
		n := 2 + rng.IntN(5)
		refs := make([]Ref[*box], n)
		for i := range refs {
			refs[i] = box0(t, s, fmt.Sprint(i))
		}
		next := make([]int, n)
		for i := range next {
			next[i] = rng.IntN(n)
		}
		var visit func(i, left int) job
		visit = func(i, left int) job {
			return func(_ *box, c *Ctx) (any, error) {
				if left == 0 {
					return nil, nil
				}
				return nil, ways[rand.IntN(len(ways))](c, do, refs[next[i]], visit(next[i], left-1))
			}
		}
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for k := range 20 {
					i := (g + k) % n
					_, err := do.Call(within(t), refs[i], visit(i, n+1)) // comes back for certain
					var d *DeadlockError
					if !errors.As(err, &d) {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
					named := slices.DeleteFunc(slices.Clone(d.Cycle), func(name string) bool { return name[0] == '~' })
					for j, name := range named {
						var at int
						_, _ = fmt.Sscan(name, &at)
						if to := named[(j+1)%len(named)]; fmt.Sprint(next[at]) != to {
							t.Errorf("seed %d: %v is no cycle of %v", seed, d.Cycle, next)
						}
					}
					if slices.Sort(d.Cycle); len(slices.Compact(d.Cycle)) != len(d.Cycle) {
						t.Errorf("a name twice: %v", d.Cycle)
					}
				}
			})
		}
		wg.Wait()
		if err := s.Shutdown(within(t)); err != nil { // handlers may go on although their caller was refused
			t.Errorf("seed %d: %v, %v", seed, err, s.Running())
		}
		books(t, s)
	}
}
