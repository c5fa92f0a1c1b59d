package drr_test

import (
	"fmt"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
)

// host is a Queue's surroundings with nothing to do.
type host struct{}

func (host) Fill(*drr.Tenant[string, string]) {}
func (host) Expired(t *drr.Tenant[string, string], task *drr.Task[string]) {
	fmt.Println(t.Key, task.Payload, "expired")
}

// A noisy tenant, one with twice its quantum and costly tasks, and a quiet one whose
// second task comes too late.
func Example() {
	var noisy, costly, quiet drr.Tenant[string, string]
	noisy.Init("noisy", 2)
	costly.Init("costly", 4)
	quiet.Init("quiet", 2)

	q := drr.New[string, string](drr.Config{}, host{})
	push := func(t *drr.Tenant[string, string], payload string, cost, due int64) {
		q.Push(t, &drr.Task[string]{Payload: payload, Cost: cost, Due: due, Priority: firq.PriorityNormal})
	}
	for i := range 5 {
		push(&noisy, fmt.Sprint("n", i), 1, drr.NoDeadline)
	}
	push(&costly, "d0", 4, drr.NoDeadline)
	push(&costly, "d1", 4, drr.NoDeadline)
	push(&quiet, "q0", 1, 100)
	push(&quiet, "q1", 1, 10)

	const now = 50
	for {
		t, task, verdict := q.Next(now)
		if verdict == drr.Empty {
			return
		}
		if verdict == drr.Delivered {
			fmt.Println(t.Key, task.Payload)
		}
	}
	// Output:
	// noisy n0
	// noisy n1
	// costly d0
	// quiet q0
	// quiet q1 expired
	// noisy n2
	// noisy n3
	// costly d1
	// noisy n4
}
