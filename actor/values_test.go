package actor

import (
	"context"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

type valueKey string

func valued(ctx context.Context, k, v string) context.Context {
	return context.WithValue(ctx, valueKey(k), v)
}

func of(c context.Context, k string) string { v, _ := c.Value(valueKey(k)).(string); return v }

// seen returns a job that reports the values a and b that its handler finds, and the handler's ctx.
func seen(got chan string) job {
	return func(_ *box, c *Ctx) (any, error) {
		_, deadline := c.Deadline()
		if deadline || c.Err() != nil || context.Cause(c) != nil {
			got <- "a deadline or an end"
		} else {
			got <- of(c, "a") + of(c, "b")
		}
		return nil, nil
	}
}

// A Tell keeps the values of its ctx, through other handlers too, but not its end, deadline or handler.
func TestTellKeepsValues(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		s := newSys(t, c)
		x, y := box0(t, s, "x"), box0(t, s, "y", WithReentrancy(Full), WithMailbox(Mailbox{Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Second}}))
		got := make(chan string, 8)
		want := func(what, w string) {
			t.Helper()
			if g := <-got; g != w {
				t.Errorf("%s: %q, want %q", what, g, w)
			}
		}
		short, cancel := context.WithTimeout(valued(ctx, "a", "1"), time.Minute)
		begun, gate := make(chan bool), make(chan bool)
		_ = do.Tell(ctx, x, func(*box, *Ctx) (any, error) { close(begun); <-gate; return nil, nil })
		<-begun
		_ = do.Tell(short, x, seen(got))
		cancel()
		close(gate)
		want("from outside", "1")
		relay := func(derive func(c *Ctx) context.Context) job {
			return func(_ *box, c *Ctx) (any, error) {
				out := derive(c)
				_ = do.Tell(out, y, func(_ *box, c *Ctx) (any, error) { // handled when the sender's Ctx serves others
					return nil, do.Tell(c, y, seen(got))
				})
				if h, _ := Handler(out); h != c {
					t.Error("the sender's ctx has lost its handler")
				}
				return nil, nil
			}
		}
		own := func(c *Ctx) context.Context { return c }
		derived := func(c *Ctx) context.Context { return valued(c, "b", "2") }
		for range 20 {
			_, _ = do.Call(valued(ctx, "a", "1"), x, relay(own))
			_, _ = do.Call(valued(ctx, "a", "3"), x, get)
			want("by a handler", "1")
			_, _ = do.Call(valued(ctx, "a", "1"), x, relay(derived))
			_, _ = do.Call(valued(ctx, "a", "3"), x, get)
			want("by a ctx that is derived from a handler's", "12")
			_ = do.Tell(valued(ctx, "a", "4"), x, relay(derived))
			_, _ = do.Call(valued(ctx, "a", "3"), x, get)
			want("by the handler of a Tell", "42")
			_, _ = do.Call(ctx, x, relay(own))
			want("by a handler without values", "")
		}
	})
}

func TestTellOfNoValuesCostsNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("under the race detector pools drop things at random")
	}
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	x := must(t, s, "", Value(&counter{}))
	tell := NewMethod("tell", func(_ *counter, c *Ctx, n int) (float64, error) {
		return testing.AllocsPerRun(1000, func() { _ = add.Tell(c, x, n) }), nil
	})
	for name, ctx := range map[string]context.Context{"Background": bg, "TODO": context.TODO()} {
		if n := testing.AllocsPerRun(1000, func() { _ = add.Tell(ctx, x, 1) }); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if n, err := tell.Call(bg, must(t, s, "", Value(&counter{})), 1); n >= 1 || err != nil {
		t.Errorf("a Ctx without values: %v allocations, %v", n, err)
	}
}
