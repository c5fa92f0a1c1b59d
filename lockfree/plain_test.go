package lockfree

import (
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// A task that is not plain keeps what it has, whether its tenant has a lane or not, and it comes
// alone or in a batch; what is behind it keeps its turn.
func TestNotPlain(t *testing.T) {
	for _, way := range []string{"alone", "by the ring", "behind a lane", "in a batch"} {
		t.Run(way, func(t *testing.T) {
			s := build(t, config{Quantum: 1})
			if way != "alone" {
				s.crowd()
			}
			send := func(tasks ...task) {
				if way == "behind a lane" {
					laneOf(t, s, "a", 1, 2)
				} else {
					admit(t, s, "a", task{Payload: 1}, task{Payload: 2})
				}
				if way != "in a batch" {
					admit(t, s, "a", tasks...)
				} else if n, err := s.EnqueueBatch("a", tasks); err != nil || n != len(tasks) {
					t.Fatalf("EnqueueBatch: %d, %v", n, err)
				}
			}
			var ticket firq.Ticket
			due := ahead()
			send(task{Payload: 3}, task{Payload: 4, Ticket: &ticket}, task{Payload: 5, Deadline: due}, task{Payload: 6})
			if !ticket.Cancel() {
				t.Error("a task with a ticket was not cancelled")
			}
			time.Sleep(time.Until(due))
			take(t, s, 1, 2, 3, 6)
			nothing(t, s)
			for _, cost := range []int64{drr.MostPlain + 1, 1 << 50} {
				send(task{Payload: 3}, task{Payload: 4, Cost: cost}, task{Payload: 5})
				take(t, s, 1, 2, 3)
				if it := take(t, s, 4); it.Cost != cost {
					t.Errorf("cost %d, delivered as %d", cost, it.Cost)
				}
				take(t, s, 5)
				nothing(t, s)
			}
		})
	}
}
