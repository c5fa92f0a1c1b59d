package actor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// counts returns how many watches an actor has, and how many others watch it.
func counts[S any](r Ref[S]) (watches, watched int) {
	r.a.mu.Lock()
	defer r.a.mu.Unlock()
	if r.a.x == nil {
		return 0, 0
	}
	return len(r.a.x.watches), len(r.a.x.watchers)
}

// Both sides of a watch forget it: when the incarnation that watches has ended, when the watched
// actor has, and by Stop.
func TestWatchIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		defer s.Close()
		to := box0(t, s, "to")
		p := sup(t, s, "sup", Supervision{MaxRestarts: Unlimited})
		again := box0(t, p, "again")
		watch := func(_ *box, c *Ctx) (any, error) { return Watch(c, to, downed), nil }
		for i := range 50 {
			r := box0(t, s, "")
			_, _ = do.Call(bg, r, watch)
			_, _ = do.Call(bg, again, watch)
			if i%2 == 0 {
				r.Kill()
			} else {
				_, _ = do.Call(bg, r, boom)
			}
			_, _ = do.Call(bg, again, boom)
			<-r.Done()
		}
		synctest.Wait()
		if _, n := counts(to); n != 0 {
			t.Errorf("%d who have ended still watch", n)
		}
		w, _ := do.Call(bg, again, watch)
		w2, _ := do.Call(bg, again, watch)
		if n, m := counts(again); w != w2 || n != 1 || m != 0 {
			t.Errorf("%d watches, %d", n, m)
		}
		if !w.(*Watching).Stop() || w.(*Watching).Stop() {
			t.Error("Stop")
		}
		n, _ := counts(again)
		if _, m := counts(to); n != 0 || m != 0 {
			t.Errorf("after Stop %d watch, and %d are watched", m, n)
		}
		_, _ = do.Call(bg, again, watch)
		to.Kill()
		<-to.Done()
		synctest.Wait()
		if got := fmt.Sprint(logOf(t, again)); got != "[to:actor: stopped]" {
			t.Error(got)
		}
		if n, _ := counts(again); n != 0 {
			t.Error(n)
		}
	})
}

// No handler gets a Down after Stop, nor does another incarnation, though the Down is in the mailbox.
func TestDownInTheMailbox(t *testing.T) {
	for _, how := range []string{"Stop", "restart", "neither"} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{Slots: 4})
			defer s.Close()
			r, to := box0(t, sup(t, s, "sup", Supervision{}), "r"), box0(t, s, "to")
			_, err := do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
				w := Watch(c, to, downed)
				to.Kill()
				<-to.Done()
				synctest.Wait() // it is in the mailbox
				if how == "Stop" && !w.Stop() {
					t.Error("Stop")
				}
				if how == "restart" {
					panic(how)
				}
				return nil, nil
			})
			want := 0
			if how == "neither" {
				want = 1
			}
			if n := len(logOf(t, r)); n != want || (err != nil) != (how == "restart") {
				t.Errorf("%s: %d, %v", how, n, err)
			}
			books(t, s)
		})
	}
}

// A Down does not count in the mailbox's limit, and no other message evicts it.
func TestDownIsKept(t *testing.T) {
	for _, policy := range []firq.Policy{firq.Reject, firq.DropOldest, firq.DropNewest, firq.Wait} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{Slots: 4})
			defer s.Close()
			back := firq.Backpressure{Policy: policy}
			if policy == firq.Wait {
				back.Wait = time.Hour
			}
			r, to := box0(t, s, "r", WithMailbox(Mailbox{Limit: 1, Backpressure: back})), box0(t, s, "to")
			began := time.Now()
			_, err := do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
				Watch(c, to, downed)
				to.Kill()
				<-to.Done()
				synctest.Wait() // the Down is in the mailbox
				if err := do.Tell(bg, r, inc); err != nil {
					t.Error(policy, err)
				}
				var want error
				if policy == firq.Reject {
					want = ErrMailboxFull
				}
				if policy != firq.Wait {
					if err := do.Tell(bg, r, inc); !errors.Is(err, want) {
						t.Error(policy, err)
					}
				}
				return nil, nil
			})
			synctest.Wait()
			if n := len(logOf(t, r)); n != 1 || err != nil || time.Since(began) > 0 {
				t.Errorf("%v: %d, %v", policy, n, err)
			}
			books(t, s)
		})
	}
}

// A method gets a Down, and other messages too.
func TestTellOfAMethodForDowns(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{Slots: 1})
	r := box0(t, s, "r")
	for range 100 {
		to := box0(t, s, "")
		_, _ = do.Call(bg, r, func(_ *box, c *Ctx) (any, error) { Watch(c, to, downed); return nil, nil })
		_ = to.Stop(bg)
		_ = downed.Tell(bg, r, Down{})
		_, _ = downed.Call(within(t), r, Down{}) // when the last Down was handled
	}
	if n := len(logOf(t, r)); n != 300 {
		t.Error(n)
	}
}

// The same for timers: what they have sent ends with them, and they end with their incarnation.
func TestTickInTheMailbox(t *testing.T) {
	count := NewAction("Tick", func(b *box, _ *Ctx, _ int) error { b.n++; return nil })
	for _, how := range []string{"Stop", "restart", "neither"} {
		for _, every := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				s := newSys(t, Config{Slots: 4})
				defer s.Close()
				r := box0(t, sup(t, s, "sup", Supervision{}), "r")
				_, _ = do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
					var timer *Timer
					if every {
						timer = count.Every(c, time.Second, 0)
					} else {
						timer = count.After(c, time.Second, 0)
					}
					time.Sleep(1500 * time.Millisecond)
					synctest.Wait() // it has rung
					if how == "Stop" && timer.Stop() != every {
						t.Error("Stop")
					}
					if how == "restart" {
						panic(how)
					}
					return nil, nil
				})
				want := 1
				if how == "restart" || how == "Stop" && every {
					want = 0
				}
				if n, err := do.Call(bg, r, get); n != want || err != nil {
					t.Errorf("%s, every %v: %v ticks, want %d: %v", how, every, n, want, err)
				}
				books(t, s)
			})
		}
	}
}

// What last words set and watch ends with them.
func TestTimerOfLastWords(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		defer s.Close()
		to := box0(t, s, "to")
		count := NewAction("Tick", func(b *box, _ *Ctx, _ int) error { b.n++; return nil })
		var timer *Timer
		r := must(t, sup(t, s, "", Supervision{}), "r", func(*Ctx) (*box, error) {
			return &box{end: func(c *Ctx, _ error) {
				timer = count.Every(c, time.Second, 0)
				count.After(c, time.Second, 0)
				Watch(c, to, downed)
			}}, nil
		})
		_, _ = do.Call(bg, r, boom)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n, err := do.Call(bg, r, get); n != 0 || err != nil || timer.Stop() {
			t.Error(n, err)
		}
		if _, n := counts(to); n != 0 {
			t.Error("last words go on watching")
		}
	})
}

// A call that was started, answered and waited for is forgotten, although the handler goes on.
func TestAnsweredFutureIsForgotten(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		a, b := box0(t, s, "a"), box0(t, s, "b")
		_, err := do.Call(ctx, a, func(_ *box, c *Ctx) (any, error) {
			for range 10 {
				if _, err := do.Start(c, b, inc).Wait(c); err != nil {
					t.Error(err)
				}
			}
			left := do.Start(c, b, inc)
			c.mu.Lock()
			n := len(c.kids)
			c.mu.Unlock()
			if n != 1 {
				t.Errorf("it keeps %d calls", n)
			}
			return left.Wait(c)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// What context.WithoutCancel makes of a Ctx belongs to no handler, also once another handler has the Ctx.
func TestDetachedContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 1})
		defer s.Close()
		a, b := box0(t, s, "a"), box0(t, s, "b")
		var first *Ctx
		var detached context.Context
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		_, _ = do.Call(ctx, a, func(_ *box, c *Ctx) (any, error) {
			first, detached = c, context.WithoutCancel(context.WithValue(c, keyOf{}, 1))
			return nil, nil
		})
		got := make(chan error, 1)
		_, _ = do.Call(ctx, b, func(_ *box, c *Ctx) (any, error) {
			if c != first {
				t.Error("it has another Ctx")
			}
			go func() { _, err := do.Call(detached, b, get); got <- err }()
			time.Sleep(time.Second)
			return nil, nil
		})
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}

// A context that is derived from the Ctx of an abandoned handler is as stale as that.
func TestDerivedFromAbandoned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 2, OnTimeout: func(SlowHandler) {}})
		defer s.Close()
		a, b := box0(t, s, "a", WithHandlerTimeout(time.Second, Stop)), box0(t, s, "b")
		got := make(chan error, 4)
		_, _ = do.Call(bg, a, func(_ *box, c *Ctx) (any, error) {
			ctx, cancel := context.WithCancel(c)
			defer cancel()
			time.Sleep(2 * time.Second)
			for _, ctx := range []context.Context{c, ctx, context.WithValue(ctx, keyOf{}, 1), context.WithoutCancel(ctx)} {
				got <- do.Tell(ctx, b, inc)
			}
			return nil, nil
		})
		for range 4 {
			if err := <-got; !errors.Is(err, ErrStale) {
				t.Error(err)
			}
		}
	})
}

// A call to another System that its handler leaves is in the books of that System.
func TestLeftInAnotherSystem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, far := newSys(t, Config{}), newSys(t, Config{})
		a, b := box0(t, s, "a"), box0(t, far, "b")
		free := block(t, b)
		_, _ = do.Call(bg, a, func(_ *box, c *Ctx) (any, error) { do.Start(c, b, inc); return nil, nil })
		free()
		synctest.Wait()
		books(t, s)
		books(t, far)
		if n := far.Stats().Cancelled; n != 1 {
			t.Error(n)
		}
		_, _ = s.Close(), far.Close()
	})
}
