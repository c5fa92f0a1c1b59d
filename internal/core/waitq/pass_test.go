package waitq

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A producer that got in without the wake-up that was on its way to it passes it on, to
// the list that it was in and to no other.
func TestLeavePassesOn(t *testing.T) {
	for _, cause := range []Cause{Global, Tenant} {
		inCrowd(t, func(c *crowd) {
			var first Waiter[string]
			c.Enter(&first, "a", cause)
			c.wait("2", "a", cause)
			c.wait("3", "a", cause)
			c.wait("b", "b", Tenant)
			c.Released("a", 1) // for first, which did not sleep
			c.wantWoken()
			c.Leave(&first)
			c.wantWoken("2")
			c.waitAs(&first, "1", "a", cause) // nothing of that wake-up is left over
			c.wantWoken()
			c.Released("a", 1)
			c.wantWoken("1") // its place is before that of 3
		})
	}
}

// A producer that leaves without having been woken passes nothing on.
func TestLeaveUnwoken(t *testing.T) {
	inCrowd(t, func(c *crowd) {
		var first Waiter[string]
		c.Enter(&first, "a", Tenant)
		c.wait("2", "a", Tenant)
		c.Leave(&first)
		c.wantWoken()
	})
}

// A wake-up and the end of the wait at one moment: one of them wins, and the
// place is not lost.
func TestGivingUpPassesOn(t *testing.T) {
	inCrowd(t, func(c *crowd) {
		for range 50 { // select chooses at random
			var first Waiter[string]
			c.Enter(&first, "a", Tenant)
			c.wait("2", "a", Tenant)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			c.Released("a", 1)
			if c.Wait(ctx, &first, nil, nil) == Woken {
				c.Released("a", 1) // it has the place, and gives it back
			}
			c.wantWoken("2")
		}
	})
}

// All ways in which a wait ends without a place.
func TestGivesUp(t *testing.T) {
	inCrowd(t, func(c *crowd) {
		const minute = time.Minute // on the bubble's clock
		short, cancel := context.WithTimeout(context.Background(), 3*minute)
		defer cancel()
		for _, x := range []struct {
			ctx          context.Context
			timer, retry <-chan time.Time
			want         Verdict
			after        time.Duration
		}{
			{context.Background(), time.After(minute), nil, GivenUp, minute},
			{context.Background(), time.After(9 * minute), time.After(2 * minute), Retry, minute},
			{short, nil, nil, GivenUp, minute},
			{short, nil, time.After(9 * minute), GivenUp, 0}, // it is over before
		} {
			var w Waiter[string]
			start := time.Now()
			c.Enter(&w, "a", Tenant)
			if got := c.Wait(x.ctx, &w, x.timer, x.retry); got != x.want {
				t.Errorf("Wait = %d, want %d", got, x.want)
			}
			if d := time.Since(start); d != x.after {
				t.Errorf("it ended after %v, want %v", d, x.after)
			}
			if x.want == Retry { // it tries again, in its place
				c.Leave(&w)
			}
			if c.Waiting() {
				t.Error("still in the queue")
			}
		}
	})
}

// The first of a list tries again when a task is queued that expires earlier than what it sleeps until, and
// so does the next one when it is the first.
func TestExpires(t *testing.T) {
	for _, cause := range []Cause{Global, Tenant, Threshold} {
		inCrowd(t, func(c *crowd) {
			waits := func(until int64) (w *Waiter[string], verdict chan Verdict) {
				w, verdict = new(Waiter[string]), make(chan Verdict, 1)
				c.Enter(w, "a", cause)
				c.Until(w, until)
				go func() { verdict <- c.Wait(context.Background(), w, nil, nil) }()
				return w, verdict
			}
			looks := func(verdict chan Verdict, want bool) {
				t.Helper()
				synctest.Wait()
				select {
				case v := <-verdict:
					if !want || v != Retry {
						t.Errorf("cause %d: verdict %d, want it to look: %v", cause, v, want)
					}
				default:
					if want {
						t.Errorf("cause %d: it sleeps", cause)
					}
				}
			}
			first, a := waits(20)
			second, b := waits(30)
			c.Expires("a", 20) // it knows
			looks(a, false)
			if c.Expires("b", 10); cause == Tenant {
				looks(a, false)
				c.Expires("a", 10)
			}
			looks(a, true)
			looks(b, false) // one is enough
			c.Until(first, 10)
			c.Leave(first)
			looks(b, true)
			c.Leave(second)
		})
	}
}

// A producer that was woken, and then fails for another reason, passes the place on.
func TestPass(t *testing.T) {
	for _, cause := range []Cause{Global, Tenant} {
		inCrowd(t, func(c *crowd) {
			first := c.wait("1", "a", cause)
			c.wait("2", "a", cause)
			c.wait("3", "a", cause)
			c.Released("a", 1)
			c.wantWoken("1")
			c.Pass(first)
			c.wantWoken("2")
			last := c.wait("b", "b", Tenant)
			c.Released("b", 1)
			c.wantWoken(map[Cause][]string{Global: {"3", "b"}, Tenant: {"b"}}[cause]...)
			c.Pass(last) // there is no other waiter
			c.wantWoken()
		})
	}
}

// A producer that was woken for a place of its tenant and then finds the
// scheduler full has not used the tenant's place: the next one gets it.
func TestCauseChangePassesOn(t *testing.T) {
	inCrowd(t, func(c *crowd) {
		w := c.wait("1", "a", Tenant)
		c.wait("2", "a", Tenant)
		c.wait("3", "a", Tenant)
		c.Released("a", 1)
		c.wantWoken("1")
		c.waitAs(w, "1 again", "a", Global)
		c.wantWoken("2")
		c.Released("nobody", 1)
		c.wantWoken("1 again")
	})
}

// The last of its tenant's line changes over: there is no waiter to pass it to.
func TestCauseChangeOfTheLast(t *testing.T) {
	inCrowd(t, func(c *crowd) {
		w := c.wait("1", "a", Tenant)
		c.Released("a", 1)
		c.wantWoken("1")
		c.waitAs(w, "1 again", "a", Threshold)
		c.wantWoken()
		c.Released("b", 1)
		c.wantWoken("1 again")
	})
}

// A producer that comes back for the same cause has its old place in the list, and passes
// nothing on.
func TestComingBackKeepsThePlace(t *testing.T) {
	for _, back := range []int{0, 1, 2, 3} { // in what order they come back
		inCrowd(t, func(c *crowd) {
			names := []string{"1", "2", "3", "4"}
			var ws []*Waiter[string]
			for _, name := range names {
				ws = append(ws, c.wait(name, "a", Tenant))
			}
			c.Released("a", 3)
			c.wantWoken("1", "2", "3")
			for i := range 3 {
				j := (i*2 + back) % 3
				c.waitAs(ws[j], names[j], "a", Tenant)
			}
			c.wantWoken()
			for _, name := range names {
				c.Released("a", 1)
				c.wantWoken(name)
			}
		})
	}
}

// A place kept in one list is one in every list: first come is first come.
func TestPlaceInAnotherLine(t *testing.T) {
	inCrowd(t, func(c *crowd) {
		early := c.wait("early", "a", Tenant)
		c.wait("late", "x", Global)
		c.Released("a", 0) // wakes no waiter
		c.wantWoken()
		c.Released("nobody", 0)
		c.wantWoken()
		c.Leave(early)
		early.wake <- struct{}{}
		c.wantWoken("early")
		c.waitAs(early, "early", "a", Global)
		synctest.Wait()
		c.Released("nobody", 1)
		c.wantWoken("early")
		c.Released("nobody", 1)
		c.wantWoken("late")
	})
}
