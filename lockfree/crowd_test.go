package lockfree

import (
	"errors"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// An idle tenant's producer was stopped after it had put in a task, before it could
// announce it. A newcomer finds the task and is refused, and does not wait for it.
func TestCrowdBehindStopped(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{MaxTenants: 1, TenantIdle: time.Hour}, first)
		admit(t, s, "a", task{Payload: 1})
		take(t, s, 1)
		p := stopped(t, s, "a", task{Payload: 2})
		if err := p.charge(); err != nil {
			t.Fatal(err)
		}
		p.put()
		refused := start(func() error { return s.Enqueue("b", task{}) })
		if err := result(t, "Enqueue of a newcomer", refused); !errors.Is(err, firq.ErrTooManyTenants) {
			t.Errorf("Enqueue: %v, want ErrTooManyTenants", err)
		}
		take(t, s, 2)
		admit(t, s, "b", task{Payload: 3})
		take(t, s, 3)
	})
}

// A tenant is not forgotten while a producer is between its ticket and its task; then
// its task counts, or it makes room.
func TestCrowdWaitsForCalls(t *testing.T) {
	for _, refused := range []bool{false, true} {
		s := build(t, config{MaxTenants: 1, TenantIdle: time.Hour})
		admit(t, s, "a", task{Payload: 1})
		take(t, s, 1)
		p := stopped(t, s, "a", task{Payload: 2})
		newcomer := start(func() error { return s.Enqueue("b", task{Payload: 3}) })
		waits(t, "Enqueue of a newcomer", newcomer)
		want := error(nil)
		if refused {
			p.void()
		} else {
			if err := p.charge(); err != nil {
				t.Fatal(err)
			}
			p.publish()
			want = firq.ErrTooManyTenants
		}
		if err := result(t, "Enqueue of a newcomer", newcomer); !errors.Is(err, want) {
			t.Errorf("the call was refused: %t, the newcomer's: %v", refused, err)
		}
		if refused {
			take(t, s, 3)
		} else {
			take(t, s, 2)
		}
	}
}
