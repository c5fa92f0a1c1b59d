package actortest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/actor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type state struct {
	name string
	log  *[]string
	next actor.Ref[*state]
	busy bool
}

var visit *actor.Method[*state, string, int]

func init() {
	visit = actor.NewMethod("Visit", func(s *state, c *actor.Ctx, what string) (int, error) {
		if s.busy {
			panic("two handlers of one actor run at the same time")
		}
		s.busy = true
		defer func() { s.busy = false }()
		*s.log = append(*s.log, s.name+what) // one slot: no two handlers compute at the same time
		if strings.HasSuffix(what, "!") {
			_, err := visit.Call(c, s.next, strings.TrimSuffix(what, "!"))
			*s.log = append(*s.log, s.name+"back")
			return 0, err
		}
		return 0, c.Await(func() error { time.Sleep(time.Millisecond); return nil })
	})
}

// story returns the order of the handlers' steps with a seed.
func story(t *testing.T, seed uint64) (log []string) {
	synctest.Test(t, func(t *testing.T) {
		s := New(t, seed, actor.Config{})
		last, _ := actor.Spawn(s, "z", actor.Value(&state{name: "z", log: &log}))
		var refs []actor.Ref[*state]
		for i := range 6 {
			n := string(rune('a' + i))
			r, err := actor.Spawn(s, n, actor.Value(&state{name: n, log: &log, next: last}))
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, r)
		}
		for k := range 3 {
			for _, r := range refs {
				_ = visit.Tell(context.Background(), r, fmt.Sprint(k, "!"))
			}
		}
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
	})
	return log
}

// A seed always gives the same order, most seeds give different ones, and messages of one sender
// stay in order.
func TestSeeds(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(10) {
		first := story(t, seed)
		for range 5 {
			if again := story(t, seed); fmt.Sprint(again) != fmt.Sprint(first) {
				t.Fatalf("seed %d:\n%v\n%v", seed, first, again)
			}
		}
		seen[fmt.Sprint(first)] = true
		at := map[string]int{}
		for i, l := range first {
			at[l] = i
		}
		for _, n := range []string{"a", "b", "f"} {
			if at[n+"0 !"] > at[n+"1 !"] || at[n+"1 !"] > at[n+"2 !"] {
				t.Fatal(first)
			}
		}
	}
	if len(seen) < 8 {
		t.Error(len(seen), "orders of 10 seeds")
	}
}

// Each message has its own Ctx: a leaked one is stale forever.
func TestLeakedCtx(t *testing.T) {
	var leaked []*actor.Ctx
	leak := actor.NewAction("Leak", func(_ *state, c *actor.Ctx, _ int) error { leaked = append(leaked, c); return nil })
	s := New(t, 1, actor.Config{})
	r, _ := actor.Spawn(s, "a", actor.Value(&state{}))
	for range 10 {
		if _, err := leak.Call(context.Background(), r, 0); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range leaked {
		if !errors.Is(c.Err(), actor.ErrStale) {
			t.Error(c.Err())
		}
		for _, d := range leaked[:i] {
			if c == d {
				t.Fatal("used again")
			}
		}
	}
}
