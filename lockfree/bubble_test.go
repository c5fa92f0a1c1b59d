package lockfree

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// A consumer may sleep in a synctest bubble, and another one later in another
// bubble, or outside: nothing that it slept on is shared.
func TestSleepInBubble(t *testing.T) {
	check := func(t *testing.T) {
		s, err := New(firq.Config[string, int]{})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan int)
		go func() {
			it, err := s.Dequeue(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- it.Payload
		}()
		for s.parker.Parked() == 0 {
			if err := t.Context().Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Enqueue("a", firq.Task[int]{Payload: 1}); err != nil {
			t.Fatal(err)
		}
		if n := <-got; n != 1 {
			t.Errorf("got %d", n)
		}
	}
	for range 3 {
		synctest.Test(t, check)
		check(t)
	}
}

// In a bubble deadlines, ages and waiting times go by the bubble's time; outside
// they go on as before.
func TestBubbleTime(t *testing.T) {
	outside := build(t, config{})
	admit(t, outside, "a", task{Payload: 1, Deadline: far()})
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
		outside.shared.Clock.Now() // until the time stamp counter is in use, where it can be
	}
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			s := build(t, config{MaxQueueAge: 2 * time.Hour})
			admit(t, s, "a", task{Payload: 1, Deadline: time.Now().Add(time.Hour)}, task{Payload: 2})
			time.Sleep(30 * time.Minute)
			it, ok := s.TryDequeue()
			if !ok || it.Payload != 1 || it.Wait != 30*time.Minute {
				t.Fatalf("half an hour before its deadline: %+v, %t", it, ok)
			}
			time.Sleep(91 * time.Minute) // 2 is too old
			admit(t, s, "a", task{Payload: 3, Deadline: time.Now().Add(time.Hour)})
			time.Sleep(59 * time.Minute)
			if it, ok := s.TryDequeue(); !ok || it.Payload != 3 {
				t.Fatalf("a minute before its deadline: %+v, %t", it, ok)
			}
			if st := s.Stats(); st.Expired != 1 || st.Dequeued != 2 {
				t.Errorf("%+v", st)
			}
		})
	}
	take(t, outside, 1)
}

// OnDrop takes its time on one shard: what expires in that time on the next one is not
// delivered any more, whether it has to be taken in first or not.
func TestDeadlineBehindSlowOnDrop(t *testing.T) {
	for way := range 4 {
		drained, batch := way&1 != 0, way&2 != 0
		synctest.Test(t, func(t *testing.T) {
			s := build(t, config{Shards: 2, OnDrop: func(string, int, firq.DropReason) { time.Sleep(time.Second) }})
			var on [2]string
			for i := 0; on[0] == "" || on[1] == ""; i++ {
				k := fmt.Sprint("tenant ", i)
				on[s.placer.Shard(k)] = k
			}
			for hint := range runtime.GOMAXPROCS(0) {
				s.cursors.At(hint).Store(0)
			}
			admit(t, s, on[0], task{Payload: 1, Deadline: time.Now().Add(time.Millisecond)})
			admit(t, s, on[1], task{Payload: 2, Deadline: time.Now().Add(100 * time.Millisecond)})
			if drained {
				s.Stats()
			}
			time.Sleep(10 * time.Millisecond)
			var it [1]firq.Item[string, int]
			n := 0
			if batch {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				n, _ = s.DequeueBatch(ctx, it[:])
			} else if x, ok := s.TryDequeue(); ok {
				it[0], n = x, 1
			}
			if n > 0 {
				t.Errorf("drained %t, batch %t: delivered %d, 0.9 s after its deadline", drained, batch, it[0].Payload)
			}
			if st := s.Stats(); st.Expired != 2 {
				t.Errorf("drained %t, batch %t: %d expired, want 2", drained, batch, st.Expired)
			}
		})
	}
}
