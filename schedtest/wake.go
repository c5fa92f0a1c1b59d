package schedtest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
)

// No wake-up for a parked consumer is lost.
var wakeChecks = []check{
	{name: "ping-pong with one consumer", run: func(t *testing.T, m maker) { pingPong(t, m, 1) }},
	{name: "ping-pong with several consumers", run: func(t *testing.T, m maker) { pingPong(t, m, 4) }},
	{name: "ping-pong over batches", run: sharded(pingPongBatch)},
	{name: "as many tasks as parked consumers", run: wakeAll},
	{name: "a batch for parked consumers", run: sharded(wakeBatch)},
	{name: "a consumer that gives up passes the wake on", run: sharded(wakePassOn)},
	{name: "a busy consumer does not hold up the next task", run: sharded(wakeBusy)},
	{name: "a consumer that leaves work behind wakes the next", run: sharded(wakeNext)},
}

func pingPong(t *testing.T, newSched maker, consumers int) {
	for _, shards := range []int{1, 8} {
		s := open(t, newSched, config{Shards: shards})
		ctx, stop := context.WithCancel(patient(t))
		got := make(chan int)
		var consuming sync.WaitGroup
		for range consumers {
			consuming.Go(func() {
				for {
					it, err := s.Dequeue(ctx)
					if err != nil {
						return
					}
					got <- it.Payload
				}
			})
		}
		for i := range reps(2000) {
			admit(t, s, "t"+strconv.Itoa(i%11), task{Payload: i})
			select {
			case p := <-got:
				if p != i {
					t.Fatalf("shards %d: delivered %d, want %d", shards, p, i)
				}
			case <-ctx.Done():
				t.Fatalf("shards %d, round %d: no parked consumer got the task; %d queued", shards, i, s.Len())
			}
		}
		stop()
		consuming.Wait()
	}
}

func pingPongBatch(t *testing.T, newSched maker, shards int) {
	const most = 5
	s := open(t, newSched, config{Shards: shards})
	ctx, stop := context.WithCancel(patient(t))
	got := make(chan int, most)
	var consuming sync.WaitGroup
	for c := range 3 {
		consuming.Go(func() {
			dst := make([]item, 1+c)
			for {
				n, err := s.DequeueBatch(ctx, dst)
				if err != nil {
					return
				}
				for range n {
					got <- 1
				}
			}
		})
	}
	batch := make([]task, most)
	for i := range reps(500) {
		n := 1 + i%most
		admitBatch(t, s, "t"+strconv.Itoa(i%11), batch[:n], n, nil)
		for range n {
			select {
			case <-got:
			case <-ctx.Done():
				t.Fatalf("shards %d, round %d: tasks stay queued (%d) while consumers are parked", shards, i, s.Len())
			}
		}
	}
	stop()
	consuming.Wait()
}

// crowd starts n consumers that take one item each and never come back.
func crowd(s sched, ctx context.Context, n int) <-chan error {
	answers := make(chan error, n)
	for range n {
		go func() {
			_, err := s.Dequeue(ctx)
			answers <- err
		}()
	}
	return answers
}

func crowdServed(t *testing.T, s sched, answers <-chan error, n int) {
	t.Helper()
	for range n {
		gets(t, answers, "as many tasks as consumers", nil)
	}
}

func wakeAll(t *testing.T, newSched maker) {
	const n = 12
	for _, nTenants := range []int{1, 12} {
		for _, shards := range []int{1, 8} {
			s := open(t, newSched, config{Shards: shards})
			for round := range reps(50) {
				answers := crowd(s, patient(t), n)
				linger(round)
				together(3, func(p int) {
					for i := range n / 3 {
						if err := s.Enqueue("t"+strconv.Itoa((p*4+i)%nTenants), task{}); err != nil {
							t.Errorf("Enqueue: %v", err)
						}
					}
				})
				crowdServed(t, s, answers, n)
			}
		}
	}
}

func wakeBatch(t *testing.T, newSched maker, shards int) {
	const n = 12
	s := open(t, newSched, config{Shards: shards})
	for round := range reps(100) {
		answers := crowd(s, patient(t), n)
		linger(round)
		admitBatch(t, s, "a", make([]task, n), n, nil)
		crowdServed(t, s, answers, n)
	}
}

// wakePassOn: a consumer's ctx is cancelled just when a task arrives. If the
// wake went to it, a second consumer must get the task all the same.
func wakePassOn(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards})
	for i := range reps(800) {
		ctx, stop := context.WithCancel(context.Background())
		var quitter, stayer <-chan error
		if i%2 == 0 { // the order of waking may be that of parking, or the reverse
			quitter = crowd(s, ctx, 1)
			linger(i / 2)
			stayer = crowd(s, patient(t), 1)
		} else {
			stayer = crowd(s, patient(t), 1)
			linger(i / 2)
			quitter = crowd(s, ctx, 1)
		}
		linger(i / 2)
		together(2, func(side int) {
			if side == 0 {
				stop()
			} else if err := s.Enqueue("t"+strconv.Itoa(i%5), task{}); err != nil {
				t.Errorf("Enqueue: %v", err)
			}
		})
		switch err := answer(t, quitter, "ctx was cancelled"); {
		case err == nil:
			admit(t, s, "a", task{}) // one for the other
		case !errors.Is(err, context.Canceled):
			t.Fatalf("Dequeue: %v, want context.Canceled", err)
		}
		gets(t, stayer, "the other consumer gave up", nil)
	}
}

// wakeBusy: work conservation. One consumer works on a tenant's item; the
// tenant's next task goes to another one.
func wakeBusy(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards})
	ctx := patient(t)
	for i := range reps(200) {
		answers := crowd(s, ctx, 2)
		admit(t, s, "a", task{Payload: i})
		gets(t, answers, "a task is queued", nil)
		// That consumer does not call again before the other was served.
		admit(t, s, "a", task{Payload: i})
		gets(t, answers, "a second task is queued", nil)
	}
}

// wakeNext: all tasks of a blocked tenant become deliverable, one by one, and
// each consumer takes one and does not come back.
func wakeNext(t *testing.T, newSched maker, shards int) {
	const n = 6
	for i := range reps(100) {
		s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: n})
		load(t, s, "a", 2*n)
		var first []item
		for range n {
			first = append(first, take(t, s))
		}
		idle(t, s)
		answers := crowd(s, patient(t), n)
		linger(i)
		for k := range first {
			first[k].Done()
		}
		crowdServed(t, s, answers, n)
	}
}
