package schedtest

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// A wake-up that turns out to be for nothing does not cost the next one.
var wakeSpentChecks = []check{
	{name: "a cancelled task does not use up a wake", run: sharded(wakeCancelled)},
	{name: "an expired task does not use up a wake", run: sharded(wakeExpired)},
	{name: "ctx ends a parked Dequeue", run: wakeContext},
	{name: "many short parks", run: sharded(wakeStress)},
}

// wakeCancelled: the task that caused a wake-up is cancelled before the consumer looks;
// the next task must wake it again.
func wakeCancelled(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards})
	for i := range reps(500) {
		answers := crowd(s, patient(t), 2)
		linger(i)
		var tk firq.Ticket
		admit(t, s, "a", task{Ticket: &tk})
		tasks := 2
		if tk.Cancel() {
			tasks = 3
		}
		for range tasks - 1 {
			admit(t, s, "b", task{})
		}
		crowdServed(t, s, answers, 2)
		length(t, s, 0)
	}
}

func wakeExpired(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards})
	for i := range reps(500) {
		answers := crowd(s, patient(t), 1)
		linger(i)
		admit(t, s, "a", expired(0))
		admit(t, s, "t"+strconv.Itoa(i%5), task{})
		crowdServed(t, s, answers, 1)
	}
}

func wakeContext(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	ctx, stop := context.WithTimeout(context.Background(), time.Millisecond)
	defer stop()
	if it, err := s.Dequeue(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dequeue: %s, %v, want context.DeadlineExceeded", show(it), err)
	}
	if n, err := s.DequeueBatch(canceled(), make([]item, 2)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("DequeueBatch: %d, %v, want 0, context.Canceled", n, err)
	}
	later, cancel := context.WithCancel(context.Background())
	answers := crowd(s, later, 5)
	cancel()
	for range 5 {
		if err := answer(t, answers, "ctx was cancelled"); !errors.Is(err, context.Canceled) {
			t.Errorf("Dequeue: %v, want context.Canceled", err)
		}
	}
	load(t, s, "a", 1)
	same(t, "no consumer took it", drain(t, s), "a1")
}

// wakeStress: producers and consumers meet at an almost empty queue, so that consumers
// park and wake all the time, one of them with short contexts.
func wakeStress(t *testing.T, newSched maker, shards int) {
	const producers, consumers = 2, 4
	each := reps(3000)
	s := open(t, newSched, config{Shards: shards})
	ctx := patient(t)
	var got atomic.Int64
	var consuming sync.WaitGroup
	for c := range consumers {
		consuming.Go(func() {
			for {
				mine, stop := ctx, context.CancelFunc(func() {})
				if c == 0 {
					mine, stop = context.WithTimeout(ctx, 50*time.Microsecond)
				}
				_, err := s.Dequeue(mine)
				stop()
				switch {
				case err == nil:
					got.Add(1)
				case errors.Is(err, firq.ErrClosed) || ctx.Err() != nil:
					return
				}
			}
		})
	}
	together(producers, func(p int) {
		for i := range each {
			if err := s.Enqueue("t"+strconv.Itoa((p+i)%7), task{}); err != nil {
				t.Errorf("Enqueue: %v", err)
			}
			// Let the consumers catch up, so that they park.
			for got.Load() < int64(producers*(i-1)) && ctx.Err() == nil {
				runtime.Gosched()
			}
		}
	})
	drained(t, s, ctx)
	consuming.Wait()
	if t.Failed() {
		return
	}
	if n := got.Load(); n != int64(producers*each) {
		t.Fatalf("%d delivered of %d", n, producers*each)
	}
}
