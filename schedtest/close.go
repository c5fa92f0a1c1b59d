package schedtest

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// Close ends a scheduler and drops its backlog.
var closeChecks = []check{
	{name: "hands what is queued to OnDrop", run: sharded(closeDrops)},
	{name: "nothing works afterwards, and nothing hangs", run: closeAfter},
	{name: "wakes parked consumers", run: sharded(closeWakes)},
	{name: "a second call does nothing", run: closeTwice},
	{name: "many calls together", run: closeMany},
	{name: "against enqueues and dequeues", run: closeRace},
	{name: "against parking", run: closeParking},
	{name: "with a large backlog", run: closeLarge},
}

func closeDrops(t *testing.T, newSched maker, shards int) {
	book := newLedger(100)
	s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: 3, OnDrop: book.onDrop})
	for i := range 100 {
		tk := task{Payload: i, Priority: firq.Priority(i % 7)}
		if i%10 == 0 {
			tk.Ticket = new(firq.Ticket)
		}
		admit(t, s, "t"+strconv.Itoa(i%9), tk)
		book.note(i, accepted)
	}
	for range 20 {
		book.note(take(t, s).Payload, delivered)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	st := s.Stats()
	book.settle(t, st)
	if st.Closed != 80 || st.Dequeued != 20 {
		t.Errorf("Closed %d, Dequeued %d, want 80, 20", st.Closed, st.Dequeued)
	}
}

func closeAfter(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	load(t, s, "a", 5)
	s.Close()
	ctx := patient(t)
	idle(t, s)
	length(t, s, 0)
	refuse(t, s, "a", task{}, firq.ErrClosed)
	if err := s.EnqueueWait(ctx, "a", task{}); err != firq.ErrClosed {
		t.Errorf("EnqueueWait: %v, want ErrClosed", err)
	}
	admitBatch(t, s, "a", make([]task, 3), 0, firq.ErrClosed)
	if _, err := s.Dequeue(ctx); err != firq.ErrClosed {
		t.Errorf("Dequeue: %v, want ErrClosed", err)
	}
	if n, err := s.DequeueBatch(ctx, make([]item, 3)); n != 0 || err != firq.ErrClosed {
		t.Errorf("DequeueBatch: %d, %v, want 0, ErrClosed", n, err)
	}
	s.SetQuantum("a", 5)
	s.ResetQuantum("a")
	if st := s.Stats(); st.Enqueued != 5 || st.Closed != 5 || st.Dropped != 0 {
		t.Errorf("Enqueued %d, Closed %d, Dropped %d, want 5, 5, 0", st.Enqueued, st.Closed, st.Dropped)
	}
}

func closeWakes(t *testing.T, newSched maker, shards int) {
	const n = 6
	s := open(t, newSched, config{Shards: shards})
	ctx := patient(t)
	answers := make(chan error, n)
	for i := range n {
		go func() {
			var err error
			if i%2 == 0 {
				_, err = s.Dequeue(ctx)
			} else {
				_, err = s.DequeueBatch(ctx, make([]item, 4))
			}
			answers <- err
		}()
	}
	s.Close()
	for range n {
		gets(t, answers, "Close", firq.ErrClosed)
	}
}

func closeTwice(t *testing.T, newSched maker) {
	var log dropLog
	s := open(t, newSched, config{OnDrop: log.onDrop})
	load(t, s, "a", 1)
	for range 3 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v, want nil", err)
		}
	}
	same(t, "drops", log.all(), "a1 closed")
}

func closeMany(t *testing.T, newSched maker) {
	for range reps(100) {
		book := newLedger(50)
		s := open(t, newSched, config{Shards: 4, OnDrop: book.onDrop})
		for i := range 50 {
			admit(t, s, "t"+strconv.Itoa(i%5), task{Payload: i})
			book.note(i, accepted)
		}
		together(4, func(int) {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		book.settle(t, s.Stats())
	}
}

// closeRace: a task that was accepted while Close ran is delivered or handed to
// OnDrop; the others got ErrClosed.
func closeRace(t *testing.T, newSched maker) {
	const producers, each = 3, 40
	for round := range reps(300) {
		book := newLedger(producers * each)
		s := open(t, newSched, config{Shards: 1 << (round % 4), OnDrop: book.onDrop})
		ctx := patient(t)
		var total atomic.Int64
		together(producers+2, func(i int) {
			switch i {
			case producers: // closes after a while
				for total.Load() < int64(round%(producers*each)) {
					if s.Len() < 0 {
						t.Error("Len is negative")
					}
				}
				s.Close()
			case producers + 1:
				for {
					it, err := s.Dequeue(ctx)
					if err != nil {
						if err != firq.ErrClosed {
							t.Errorf("Dequeue: %v", err)
						}
						return
					}
					book.note(it.Payload, delivered)
				}
			default:
				for k := range each {
					id := i*each + k
					err := s.Enqueue("t"+strconv.Itoa(id%7), task{Payload: id})
					if err == nil {
						book.note(id, accepted)
					} else if err != firq.ErrClosed {
						t.Errorf("Enqueue: %v", err)
					}
					total.Add(1)
				}
			}
		})
		if t.Failed() {
			return
		}
		book.settle(t, s.Stats())
		idle(t, s)
	}
}

// closeParking: Close comes while consumers are on their way to sleep.
func closeParking(t *testing.T, newSched maker) {
	for round := range reps(1000) {
		s := open(t, newSched, config{Shards: 1 << (round % 4)})
		ctx := patient(t)
		together(3, func(i int) {
			if i == 0 {
				linger(round)
				s.Close()
			} else if _, err := s.Dequeue(ctx); !errors.Is(err, firq.ErrClosed) {
				t.Errorf("round %d: Dequeue: %v, want ErrClosed", round, err)
			}
		})
		if t.Failed() {
			return
		}
	}
}

func closeLarge(t *testing.T, newSched maker) {
	n := reps(30_000)
	var dropped atomic.Int64
	s := open(t, newSched, config{OnDrop: func(string, int, firq.DropReason) { dropped.Add(1) }})
	for i := range n {
		admit(t, s, "t"+strconv.Itoa(i%1000), task{Payload: i})
	}
	s.Close()
	if got := dropped.Load(); got != int64(n) {
		t.Errorf("OnDrop was called %d times, want %d", got, n)
	}
	if _, err := s.Dequeue(context.Background()); err != firq.ErrClosed {
		t.Errorf("Dequeue: %v, want ErrClosed", err)
	}
}
