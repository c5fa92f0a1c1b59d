//go:build firq_failpoints

package lockfree

import "testing"

// Slots that are lent while a task is pushed under the lease are given back: those of calls that
// have come in since.
func TestSchedulesLentWhilePushed(t *testing.T) {
	batch := func(s *scheduler) func() {
		return func() {
			if n, err := s.EnqueueBatch("a", tasks(2, 2)); n != 2 {
				t.Error(n, err)
			}
		}
	}
	t.Run("under the lease", func(t *testing.T) {
		s := buildSmall(t, config{}, lendSize)
		admit(t, s, "a", task{Payload: 0})
		take(t, s, 0)
		p := stopped(t, s, "a", task{Payload: 1}) // its only slot is in use
		if err := p.charge(); err != nil {
			t.Fatal(err)
		}
		p.publish()
		met, restore := once("put place", batch(s))
		admit(t, s, "a", task{Payload: 4})
		if restore(); !*met {
			t.Fatal("not under the lease")
		}
		rests(t, s)
		take(t, s, 1, 2, 3, 4)
	})
	t.Run("past the inbox", func(t *testing.T) {
		s := direct(t, config{})
		met, restore := once("direct skip", batch(s))
		pushed(t, s, "a", task{Payload: 4})
		if restore(); !*met {
			t.Fatal("not past the inbox")
		}
		rests(t, s)
		take(t, s, 2, 3, 4)
	})
}
