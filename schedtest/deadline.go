package schedtest

import (
	"strconv"
	"sync"
	"testing"
	"time"
)

// A task is never delivered once its deadline has passed, whatever it was
// enqueued with.
var deadlineChecks = []check{
	{name: "passed at Enqueue: accepted, then expires", run: deadlinePast},
	{name: "passes in the queue", run: deadlinePasses},
	{name: "far ahead", run: deadlineAhead},
	{name: "MaxQueueAge", run: deadlineAge},
	{name: "MaxQueueAge does not change a task's own deadline", run: deadlineAgeOwn},
	{name: "never delivered late", run: sharded(deadlineNeverLate)},
}

func deadlinePast(t *testing.T, newSched maker) {
	var log dropLog
	s := open(t, newSched, config{Shards: 1, OnDrop: log.onDrop})
	admit(t, s, "a", expired(1))
	admit(t, s, "a", task{Payload: 2})
	admit(t, s, "b", expired(3))
	same(t, "the live one", drain(t, s), "a2")
	length(t, s, 0)
	if st := s.Stats(); st.Enqueued != 3 || st.Expired != 2 || st.Dequeued != 1 || st.Dropped != 0 {
		t.Errorf("Enqueued %d, Expired %d, Dequeued %d, Dropped %d, want 3, 2, 1, 0", st.Enqueued, st.Expired, st.Dequeued, st.Dropped)
	}
	if got := log.all(); got != "a1 expired, b3 expired" && got != "b3 expired, a1 expired" {
		t.Errorf("OnDrop was told %q", got)
	}
}

func deadlinePasses(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	admit(t, s, "a", task{Payload: 1, Deadline: time.Now().Add(10 * time.Millisecond)})
	elapse(11 * time.Millisecond)
	idle(t, s)
	length(t, s, 0)
	admit(t, s, "a", task{Payload: 2, Deadline: time.Now().Round(0).Add(10 * time.Millisecond)}) // wall clock only
	elapse(12 * time.Millisecond)
	idle(t, s)
	if n := s.Stats().Expired; n != 2 {
		t.Errorf("Expired is %d, want 2", n)
	}
}

func deadlineAhead(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	far := []time.Time{
		time.Now().Add(time.Hour), time.Now().Round(0).Add(time.Hour), time.Now().UTC().AddDate(1, 0, 0),
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), // not representable in nanoseconds
		time.Unix(1<<55, 0),
	}
	for i, d := range far {
		admit(t, s, "a", task{Payload: i, Deadline: d})
	}
	for i, d := range far {
		it := take(t, s)
		// A core may drop a deadline centuries ahead, as it may count in nanoseconds.
		never := d.Year() > 2200 && it.Deadline.IsZero()
		if it.Payload != i || !it.Deadline.Equal(d) && !never {
			t.Errorf("delivered %d with deadline %v, want %d with %v", it.Payload, it.Deadline, i, d)
		}
	}
	for i, d := range []time.Time{time.Unix(-1<<55, 0), time.Unix(0, 0), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)} {
		admit(t, s, "a", task{Payload: i, Deadline: d})
		idle(t, s)
	}
}

func deadlineAge(t *testing.T, newSched maker) {
	const age = 10 * time.Millisecond
	s := open(t, newSched, config{MaxQueueAge: age})
	before := time.Now()
	admit(t, s, "a", task{Payload: 1})
	it, ok := s.TryDequeue()
	if ok && (it.Deadline.Before(before.Add(age-time.Millisecond)) || it.Deadline.After(time.Now().Add(age+time.Millisecond))) {
		t.Errorf("the item's deadline is %v after Enqueue, want %v", it.Deadline.Sub(before), age)
	} else if !ok && time.Since(before) < age {
		t.Error("a fresh task was not delivered")
	}
	admit(t, s, "a", task{Payload: 2})
	elapse(age)
	idle(t, s)
	if n := s.Stats().Expired; n == 0 {
		t.Error("a task above MaxQueueAge did not expire")
	}
}

func deadlineAgeOwn(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxQueueAge: time.Millisecond})
	own := time.Now().Add(time.Hour)
	admit(t, s, "a", task{Payload: 1, Deadline: own})
	elapse(2 * time.Millisecond)
	if it := take(t, s); !it.Deadline.Equal(own) {
		t.Errorf("the item's deadline is %v, want %v", it.Deadline, own)
	}
}

// clockSlack is by how much a scheduler's clock may differ from time.Now: a core may read a
// cheaper clock that it calibrates.
const clockSlack = 100 * time.Microsecond

func deadlineNeverLate(t *testing.T, newSched maker, shards int) {
	n := reps(2000)
	s := open(t, newSched, config{Shards: shards})
	ctx := patient(t)
	var consuming sync.WaitGroup
	for range 2 {
		consuming.Go(func() {
			dst := make([]item, 4)
			for {
				if d := s.Stats().Dequeued; d%3 == 0 {
					time.Sleep(50 * time.Microsecond) // let some expire
				}
				before := time.Now()
				k, err := s.DequeueBatch(ctx, dst)
				if err != nil {
					return
				}
				for _, it := range dst[:k] {
					// The call may have waited, so only the task's arrival
					// and the call's start bound the moment of choice.
					if late := before.Sub(it.Deadline); late > clockSlack {
						t.Errorf("delivered %v after its deadline", late)
					}
				}
			}
		})
	}
	for i := range n {
		admit(t, s, "t"+strconv.Itoa(i%7), task{Payload: i, Deadline: time.Now().Add(time.Duration(i%20) * 20 * time.Microsecond)})
	}
	drained(t, s, ctx)
	consuming.Wait()
	if t.Failed() {
		return
	}
	if st := s.Stats(); st.Expired == 0 || st.Dequeued+st.Expired != uint64(n) {
		t.Errorf("Expired %d, Dequeued %d of %d", st.Expired, st.Dequeued, n)
	}
}
