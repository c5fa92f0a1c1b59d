package lockfree

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/firq-go/firq"
)

// waiter starts an EnqueueWait in the bubble, and returns when it waits.
func waiter(t *testing.T, s *scheduler, k string, x task) <-chan error {
	ctx := t.Context()
	done := start(func() error { return s.EnqueueWait(ctx, k, x) })
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("EnqueueWait(%q, %d) did not wait: %v", k, x.Payload, err)
	default:
	}
	return done
}

// settled returns the answer of a waiter that has to have one by now.
func settled(t *testing.T, what string, done <-chan error) error {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		return err
	default:
		t.Fatalf("%s sleeps on", what)
		return nil
	}
}

// A producer that was woken for a place and finds its ticket in use does not take
// the place: the next one in line gets it.
func TestTicketInUsePassesWake(t *testing.T) {
	for _, cfg := range []config{{MaxPerTenant: 1}, {MaxGlobal: 1}} {
		synctest.Test(t, func(t *testing.T) {
			s := build(t, cfg)
			admit(t, s, "a", task{Payload: 1})
			var tk firq.Ticket
			first := waiter(t, s, "a", task{Payload: 2, Ticket: &tk})
			second := waiter(t, s, "a", task{Payload: 3})
			tk.Acquire(new(firq.TicketOwner)) // another task has it
			take(t, s, 1)
			if err := settled(t, "the first", first); !errors.Is(err, firq.ErrInvalidTask) {
				t.Errorf("the first: %v", err)
			}
			if err := settled(t, "the second", second); err != nil {
				t.Errorf("the second: %v", err)
			}
			take(t, s, 3)
		})
	}
}

// A place that a refused call held for a moment counts against the threshold: who
// waits for it is woken when the place comes back.
func TestVoidWakesThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := build(t, config{MaxGlobal: 4, DynamicThreshold: 1})
		admit(t, s, "a", task{Payload: 1})
		p := stopped(t, s, "a", task{Payload: 2})
		q := stopped(t, s, "a", task{Payload: 3})
		third := waiter(t, s, "a", task{Payload: 4}) // holds 3, 3 are free
		p.void()
		if err := settled(t, "the third", third); err != nil {
			t.Errorf("the third: %v", err)
		}
		q.void()
		take(t, s, 1, 4)
	})
}
