package schedtest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Per tenant and priority, tasks whose Enqueue calls did not overlap keep their
// order. So each producer's tasks come out in its order.
var fifoChecks = []check{
	{name: "many producers, one tenant", run: func(t *testing.T, newSched maker) { fifo(t, newSched, 4, 1, single) }},
	{name: "many producers, many tenants", run: func(t *testing.T, newSched maker) { fifo(t, newSched, 4, 13, single) }},
	{name: "many producers in batches", run: func(t *testing.T, newSched maker) { fifo(t, newSched, 4, 3, batched) }},
	{name: "plain and other tasks", run: func(t *testing.T, newSched maker) { fifo(t, newSched, 4, 40, mixed) }},
	{name: "many consumers, one in flight", run: sharded(fifoInFlight)},
	{name: "handed from one producer to the next", run: sharded(fifoRelay)},
}

// manner is how producers send their tasks.
type manner int

const (
	single  manner = iota // one by one, with nothing but a payload
	batched               // three at a time
	mixed                 // one by one, and now and then one has a deadline, a ticket, a priority or a flow
)

// dress makes a task that is not plain of one in 16.
func dress(x *task, n int) {
	switch uint32(n) * 2654435761 >> 12 % 64 {
	case 0:
		x.Deadline = time.Now().Add(time.Hour)
	case 1:
		x.Ticket = new(firq.Ticket)
	case 2:
		x.Priority = firq.PriorityHigh
	case 3:
		x.Flow = 7
	}
}

// fifoID is the payload of a producer's n-th task.
func fifoID(producer, n int) int { return producer<<24 | n }

// fifoCheck returns a function to call with each delivery, in order; it fails the test
// when a producer's tasks of one line (a tenant, priority and flow) come out of order.
func fifoCheck(t *testing.T, producers int) func(line string, payload int) {
	last := map[string][]int{}
	return func(line string, payload int) {
		if last[line] == nil {
			last[line] = make([]int, producers)
		}
		p, n := payload>>24, payload&(1<<24-1)
		if n <= last[line][p] {
			t.Errorf("%s: task %d of producer %d came after task %d", line, n, p, last[line][p])
		}
		last[line][p] = n
	}
}

// fifo has one consumer: with several, the order in which calls return is not the order
// of delivery.
func fifo(t *testing.T, newSched maker, producers, nTenants int, how manner) {
	names := tenants(nTenants)
	n := reps(3000)
	for _, shards := range []int{1, 4, 8} {
		s := open(t, newSched, config{Shards: shards, MaxGlobal: 256})
		var all sync.WaitGroup
		for p := range producers {
			all.Go(func() {
				for i := 1; i <= n; {
					tenant := names[i/7%nTenants]
					batch := []task{{Payload: fifoID(p, i)}, {Payload: fifoID(p, i+1)}, {Payload: fifoID(p, i+2)}}
					done := 1
					var err error
					if how == mixed {
						dress(&batch[0], i)
					}
					if how == batched {
						done, err = s.EnqueueBatch(tenant, batch)
					} else if err = s.Enqueue(tenant, batch[0]); err != nil {
						done = 0
					}
					i += done
					if err != nil {
						runtime.Gosched()
					}
				}
			})
		}
		go func() {
			all.Wait()
			_ = s.Shutdown(context.Background())
		}()
		see := fifoCheck(t, producers)
		got, dst := 0, make([]item, 16)
		for ctx := patient(t); ; {
			k, err := s.DequeueBatch(ctx, dst[:1+got%16])
			if err == firq.ErrClosed {
				break
			} else if err != nil {
				t.Fatalf("after %d tasks: %v", got, err)
			}
			for _, it := range dst[:k] {
				see(fmt.Sprint(it.Tenant, it.Priority, it.Flow), it.Payload)
			}
			got += k
		}
		if got < producers*n {
			t.Fatalf("%d tasks delivered, at least %d enqueued", got, producers*n)
		}
	}
}

// fifoInFlight: with one in flight, a tenant's deliveries are one after another
// even with many consumers. What they write is not guarded by anything else, so
// the race detector checks it too.
func fifoInFlight(t *testing.T, newSched maker, shards int) {
	const producers, consumers = 3, 4
	n := reps(2000)
	s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: 1})
	see := fifoCheck(t, producers)
	left := producers * n
	ctx, finished := context.WithCancel(patient(t))
	together(producers+consumers, func(i int) {
		if i < producers {
			for k := range n {
				if err := s.Enqueue("a", task{Payload: fifoID(i, k+1)}); err != nil {
					t.Errorf("Enqueue: %v", err)
				}
			}
			return
		}
		for {
			it, err := s.Dequeue(ctx)
			if err != nil {
				return
			}
			see(it.Tenant, it.Payload)
			if left--; left == 0 {
				finished()
			}
			it.Done()
		}
	})
	finished()
	if t.Failed() {
		return
	}
	if left != 0 {
		t.Fatalf("%d tasks were not delivered", left)
	}
}

// fifoRelay passes a baton between goroutines: each Enqueue comes from another goroutine
// than the one before, and none overlap.
func fifoRelay(t *testing.T, newSched maker, shards int) {
	const goroutines = 4
	n := reps(4000)
	s := open(t, newSched, config{Shards: shards})
	var batons [goroutines]chan int
	for i := range batons {
		batons[i] = make(chan int, 1)
	}
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			for id := range batons[i] {
				if err := s.Enqueue("a", task{Payload: id}); err != nil {
					t.Errorf("Enqueue: %v", err)
				}
				if id == n {
					for _, c := range batons {
						close(c)
					}
					return
				}
				batons[(i+1)%goroutines] <- id + 1
			}
		})
	}
	batons[0] <- 1
	ctx := patient(t)
	for want := 1; want <= n; want++ {
		it, err := s.Dequeue(ctx)
		if err != nil || it.Payload != want {
			t.Fatalf("shards %d: delivered %s, %v, want %d", shards, show(it), err, want)
		}
	}
	all.Wait()
}
