package actortest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/actor"
)

// sameAgain runs a story with some seeds, several times each: a seed always gives the same order,
// and not all seeds give the same one.
func sameAgain(t *testing.T, tell func(s *actor.System, log *[]string)) {
	t.Helper()
	orders := map[string]bool{}
	for seed := range uint64(10) {
		first := ""
		for range 20 {
			var log []string
			synctest.Test(t, func(t *testing.T) {
				tell(New(t, seed, actor.Config{}), &log)
				time.Sleep(time.Second)
				synctest.Wait()
			})
			if again := fmt.Sprint(log); first == "" {
				first = again
			} else if again != first {
				t.Fatalf("seed %d:\n%s\n%s", seed, first, again)
			}
		}
		orders[first] = true
	}
	if len(orders) < 3 {
		t.Errorf("%d orders of 10 seeds", len(orders))
	}
}

var later = actor.NewAction("Later", func(s *state, _ *actor.Ctx, n int) error {
	*s.log = append(*s.log, fmt.Sprint(n))
	return nil
})

// Timers of the same instant ring in one order per seed, although the runtime draws its own.
func TestSameOrderOfTimers(t *testing.T) {
	set := actor.NewAction("Set", func(_ *state, c *actor.Ctx, _ int) error {
		for n := range 5 {
			later.After(c, time.Millisecond, n)
		}
		return nil
	})
	sameAgain(t, func(s *actor.System, log *[]string) {
		r, err := actor.Spawn(s, "a", actor.Value(&state{log: log}))
		if err = errors.Join(err, set.Tell(context.Background(), r, 0)); err != nil {
			t.Error(err)
		}
	})
}

// So do handlers of one actor go on that wait until the same instant.
func TestSameOrderOfHandlers(t *testing.T) {
	wait := actor.NewAction("Wait", func(s *state, c *actor.Ctx, n int) error {
		_ = c.Await(func() error { time.Sleep(time.Millisecond); return nil })
		*s.log = append(*s.log, fmt.Sprint(n))
		return c.Await(func() error { time.Sleep(time.Millisecond); return nil })
	})
	sameAgain(t, func(s *actor.System, log *[]string) {
		r, err := actor.Spawn(s, "a", actor.Value(&state{log: log}), actor.WithReentrancy(actor.Full))
		for n := range 5 {
			err = errors.Join(err, wait.Tell(context.Background(), r, n))
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// The System waits for a goroutine that loses its processor again and again.
func TestSameOrderThoughPreempted(t *testing.T) {
	wait := actor.NewAction("Wait", func(s *state, c *actor.Ctx, n int) error {
		_ = c.Await(func() error {
			time.Sleep(time.Millisecond)
			for range rand.IntN(300) { // as if it were preempted here
				runtime.Gosched()
			}
			return nil
		})
		*s.log = append(*s.log, fmt.Sprint(n))
		return nil
	})
	sameAgain(t, func(s *actor.System, log *[]string) {
		for n := range 5 {
			r, err := actor.Spawn(s, fmt.Sprint(n), actor.Value(&state{log: log}))
			if err = errors.Join(err, wait.Tell(context.Background(), r, n)); err != nil {
				t.Error(err)
			}
		}
	})
}
