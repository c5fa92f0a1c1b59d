package schedtest

import (
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Shutdown with a backlog that ends in other ways than by delivery, or waits for Done.
var shutdownLeftChecks = []check{
	{name: "what is left expires", run: shutdownExpires},
	{name: "what is left is cancelled", run: shutdownCancelled},
	{name: "what is left is cancelled, and OnDrop panics", run: shutdownPanics},
	{name: "waits for a blocked tenant's backlog", run: shutdownBlocked},
}

func shutdownExpires(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	soon := time.Now().Add(5 * time.Millisecond)
	for i := range 10 {
		admit(t, s, "a", task{Payload: i, Deadline: soon})
	}
	elapse(6 * time.Millisecond)
	ctx := patient(t)
	var consuming sync.WaitGroup
	consuming.Go(func() {
		if it, err := s.Dequeue(ctx); err != firq.ErrClosed {
			t.Errorf("Dequeue: %s, %v, want ErrClosed", show(it), err)
		}
	})
	drained(t, s, ctx)
	consuming.Wait()
}

func shutdownCancelled(t *testing.T, newSched maker) {
	for range reps(200) {
		s := open(t, newSched, config{Shards: 2})
		var tks [3]firq.Ticket
		for i := range tks {
			admit(t, s, "a", task{Payload: i, Ticket: &tks[i]})
		}
		stopped := shutting(t, s, patient(t))
		for i := range tks {
			mustCancel(t, &tks[i])
		}
		gets(t, stopped, "the backlog was cancelled", nil)
		ended(t, s)
	}
}

func shutdownPanics(t *testing.T, newSched maker) {
	s := open(t, newSched, config{OnDrop: func(string, int, firq.DropReason) { panic("OnDrop") }})
	var tk firq.Ticket
	admit(t, s, "a", task{Ticket: &tk})
	if err := s.Shutdown(canceled()); err == nil {
		t.Error("Shutdown does not wait for what is left")
	}
	func() {
		defer func() { _ = recover() }()
		tk.Cancel()
	}()
	drained(t, s, patient(t))
	ended(t, s)
}

func shutdownBlocked(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxInFlightPerTenant: 1})
	load(t, s, "a", 3)
	it := take(t, s)
	ctx := patient(t)
	stopped := shutting(t, s, ctx)
	refusing(t, s)
	for range 2 {
		idle(t, s)
		it.Done()
		var err error
		if it, err = s.Dequeue(ctx); err != nil {
			t.Fatalf("Dequeue: %v", err)
		}
	}
	gets(t, stopped, "the backlog is gone", nil)
	ended(t, s) // although the last one is not Done
	it.Done()
}
