package drr_test

import (
	"fmt"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
)

// A noisy tenant, one with twice its quantum and costly tasks, and a quiet one whose second
// task expires.
func Example() {
	q := drr.New[string, string](drr.Config{Quantum: 2})
	q.SetQuantum("costly", 4)
	q.OnExpired(func(item firq.Item[string, string]) { fmt.Println(item.Tenant, item.Payload, "expired") })

	start := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC) // no clock: any time will do
	push := func(tenant, payload string, cost int64, deadline time.Time) {
		err := q.Push(start, tenant, firq.Task[string]{Payload: payload, Cost: cost, Deadline: deadline})
		if err != nil {
			fmt.Println(err)
		}
	}
	for i := range 5 {
		push("noisy", fmt.Sprint("n", i), 1, time.Time{})
	}
	push("costly", "d0", 4, time.Time{})
	push("costly", "d1", 4, time.Time{})
	push("quiet", "q0", 1, start.Add(time.Minute))
	push("quiet", "q1", 1, start.Add(time.Second))

	for {
		item, ok := q.Next(start.Add(10 * time.Second))
		if !ok {
			return
		}
		fmt.Println(item.Tenant, item.Payload)
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

// A tenant with at most one task in flight.
func ExampleQueue_Block() {
	q := drr.New[string, int](drr.Config{})
	var now time.Time
	for i := range 2 {
		_ = q.Push(now, "serial", firq.Task[int]{Payload: i})
		_ = q.Push(now, "other", firq.Task[int]{Payload: i})
	}
	for q.Len() > 0 {
		item, ok := q.Next(now)
		if !ok {
			fmt.Println("serial is done")
			q.Block("serial", false)
			continue
		}
		fmt.Println(item.Tenant, item.Payload)
		if item.Tenant == "serial" {
			q.Block("serial", true)
		}
	}
	// Output:
	// serial 0
	// other 0
	// other 1
	// serial is done
	// serial 1
}
