package schedtest

import (
	"errors"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// Cancel against everything that ends a task: exactly one wins.
var cancelRaceChecks = []check{
	{name: "against TryDequeue", run: sharded(cancelDequeue)},
	{name: "against DequeueBatch of many", run: sharded(cancelDequeueBatch)},
	{name: "against another Cancel", run: cancelTwice},
	{name: "against eviction", run: cancelEvict},
	{name: "against Close", run: cancelClose},
	{name: "against Enqueue with the same ticket", run: sharded(cancelEnqueue)},
	{name: "the freed place is there when Cancel returns", run: sharded(cancelFreed)},
	{name: "a ticket in use refuses no other task", run: sharded(cancelRefusedAlone, 1, 4)},
}

func cancelDequeue(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards})
	var tk firq.Ticket
	for i := range reps(3000) {
		admit(t, s, "t"+strconv.Itoa(i%5), task{Payload: i, Ticket: &tk})
		var won [2]bool
		together(2, func(side int) {
			if side == 0 {
				won[0] = tk.Cancel()
			} else if it, ok := s.TryDequeue(); ok {
				won[1] = true
				if it.Payload != i {
					t.Errorf("delivered %d, want %d", it.Payload, i)
				}
			}
		})
		if won[0] == won[1] {
			t.Fatalf("shards %d, round %d: cancelled %v, delivered %v", shards, i, won[0], won[1])
		}
		length(t, s, 0)
	}
}

func cancelDequeueBatch(t *testing.T, newSched maker, shards int) {
	const n = 20
	tks := make([]firq.Ticket, n)
	book := newLedger(n * reps(300))
	s := open(t, newSched, config{Shards: shards, OnDrop: book.onDrop})
	for round := range reps(300) {
		for i := range tks {
			id := round*n + i
			admit(t, s, "t"+strconv.Itoa(i%3), task{Payload: id, Ticket: &tks[i]})
			book.note(id, accepted)
		}
		var cancelled, got atomic.Int64
		together(3, func(side int) {
			switch side {
			case 0:
				for i := range tks {
					if tks[n-1-i].Cancel() {
						cancelled.Add(1)
					}
				}
			default:
				for {
					it, ok := s.TryDequeue()
					if !ok {
						return
					}
					got.Add(1)
					book.note(it.Payload, delivered)
				}
			}
		})
		if sum := cancelled.Load() + got.Load(); sum != n {
			t.Fatalf("%d cancelled and %d delivered of %d", cancelled.Load(), got.Load(), n)
		}
	}
	book.settle(t, s.Stats())
}

func cancelTwice(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 2})
	var tk firq.Ticket
	for i := range reps(3000) {
		admit(t, s, "a", task{Payload: i, Ticket: &tk})
		var wins atomic.Int64
		together(2, func(int) {
			if tk.Cancel() {
				wins.Add(1)
			}
		})
		if wins.Load() != 1 {
			t.Fatalf("round %d: %d Cancels were true", i, wins.Load())
		}
	}
}

func cancelEvict(t *testing.T, newSched maker) {
	book := newLedger(2 * reps(2000))
	s := open(t, newSched, config{Shards: 2, MaxPerTenant: 1, Backpressure: policy(firq.DropOldest), OnDrop: book.onDrop})
	var tk firq.Ticket
	for i := range reps(2000) {
		admit(t, s, "a", task{Payload: 2 * i, Ticket: &tk})
		book.note(2*i, accepted)
		together(2, func(side int) {
			if side == 0 {
				tk.Cancel()
			} else if err := s.Enqueue("a", task{Payload: 2*i + 1}); err == nil {
				book.note(2*i+1, accepted)
			} else {
				t.Errorf("round %d: %v", i, err)
			}
		})
		it := take(t, s)
		book.note(it.Payload, delivered)
		if it.Payload != 2*i+1 {
			t.Fatalf("round %d: delivered %d", i, it.Payload)
		}
	}
	book.settle(t, s.Stats())
}

func cancelClose(t *testing.T, newSched maker) {
	for i := range reps(500) {
		book := newLedger(2)
		s := open(t, newSched, config{Shards: 2, OnDrop: book.onDrop})
		var tk firq.Ticket
		for id, own := range []*firq.Ticket{&tk, nil} {
			admit(t, s, "a", task{Payload: id, Ticket: own})
			book.note(id, accepted)
		}
		var cancelled bool
		together(2, func(side int) {
			if side == 0 {
				cancelled = tk.Cancel()
			} else {
				s.Close()
			}
		})
		st := s.Stats()
		book.settle(t, st)
		if cancelled != (st.Cancelled == 1) {
			t.Fatalf("round %d: Cancel is %v, Cancelled %d, Closed %d", i, cancelled, st.Cancelled, st.Closed)
		}
	}
}

// cancelEnqueue: a Cancel that comes while the task is on its way in may hit it
// or be early, but not both.
func cancelEnqueue(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards})
	var tk firq.Ticket
	for i := range reps(3000) {
		var cancelled bool
		var in atomic.Bool
		together(2, func(side int) {
			if side == 0 {
				for !cancelled && !in.Load() {
					cancelled = tk.Cancel()
				}
				return
			}
			if err := s.Enqueue("t"+strconv.Itoa(i%5), task{Payload: i, Ticket: &tk}); err != nil {
				t.Errorf("Enqueue: %v", err)
			}
			in.Store(true)
		})
		if it, ok := s.TryDequeue(); ok == cancelled {
			t.Fatalf("round %d: Cancel is %v, then TryDequeue gives %s, %v", i, cancelled, show(it), ok)
		}
		if tk.Cancel() {
			t.Fatalf("round %d: the task is gone, but Cancel is true", i)
		}
	}
}

// cancelFreed: several goroutines share the capacity so that each always has one
// place. Cancel has to give it back before it returns.
func cancelFreed(t *testing.T, newSched maker, shards int) {
	const n = 4
	s := open(t, newSched, config{Shards: shards, MaxGlobal: n})
	together(n, func(i int) {
		var tk firq.Ticket
		for k := range reps(2000) {
			if err := s.Enqueue("t"+strconv.Itoa((i+k)%7), task{Ticket: &tk}); err != nil {
				t.Errorf("shards %d: %v with %d places for %d goroutines", shards, err, n, n)
				return
			}
			if !tk.Cancel() {
				t.Error("Cancel is false")
				return
			}
		}
	})
	length(t, s, 0)
}

// cancelRefusedAlone: a call that is refused because its ticket is in use must not
// stand in the way of others, not even for a moment.
func cancelRefusedAlone(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxGlobal: 2})
	var held firq.Ticket
	admit(t, s, "holder", task{Ticket: &held})
	var done atomic.Bool
	together(4, func(side int) {
		for side > 0 && !done.Load() {
			err := s.Enqueue("t"+strconv.Itoa(side), task{Ticket: &held})
			if !errors.Is(err, firq.ErrInvalidTask) && !errors.Is(err, firq.ErrGlobalFull) {
				t.Errorf("a ticket in use: %v", err)
			}
			runtime.Gosched() // a processor for the caller that must not be refused
		}
		if side > 0 {
			return
		}
		defer done.Store(true)
		var own firq.Ticket
		for range reps(100_000) {
			if err := s.Enqueue("own", task{Ticket: &own}); err != nil {
				t.Errorf("shards %d: one of two places is free: %v", shards, err)
				return
			}
			own.Cancel()
		}
	})
	length(t, s, 1)
}
