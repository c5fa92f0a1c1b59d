package lockfree

import (
	"context"
	"math"
	"runtime"
	"testing"

	"github.com/firq-go/firq"
)

// behind makes a scheduler as direct does, and queues tasks of "a" past the inbox, from 2 on,
// of which some are served: the word of "a" is behind by their places.
func behind(t *testing.T, cfg config, queued, served int) (*scheduler, *tenant[string, int]) {
	t.Helper()
	s := direct(t, cfg)
	for i := range queued {
		pushed(t, s, "a", task{Payload: 2 + i})
	}
	for i := range served {
		take(t, s, 2+i)
	}
	tn, _ := s.tenants.Load("a")
	if want := served < queued; tn.behind != want || want && int(tn.at) != served {
		t.Fatalf("after %d of %d: behind is %t, by %d places", served, queued, tn.behind, tn.at)
	}
	rests(t, s)
	return s, tn
}

// meet says that goroutines meet at the leases from now on, or have never met.
func meet(s *scheduler, yes bool) {
	at := int64(never)
	if yes {
		at = math.MaxInt64 / 2
	}
	for _, sh := range s.shards {
		sh.contention.at.Store(at)
	}
}

func rests(t *testing.T, s *scheduler) {
	t.Helper()
	if err := atRest(s); err != nil {
		t.Fatal(err)
	}
}

// The word of a tenant that was served stays behind while it has tasks. Then a caller that needs
// to know brings it up to date.
func TestBehind(t *testing.T) {
	const inbox, past = false, true
	for name, test := range map[string]struct {
		cfg            config
		queued, served int
		way            bool
		accepts        int // tasks that there is room for
		next           int // that are in the queue then
	}{
		"the next task says it":            {config{}, 4, 2, past, 1, 3},
		"a tenant that looks full":         {config{MaxPerTenant: 3}, 3, 2, inbox, 2, 3},
		"a tenant that looks full, direct": {config{MaxPerTenant: 3}, 3, 2, past, 2, 3},
		"a tenant with one place":          {config{MaxPerTenant: 2}, 2, 1, inbox, 1, 2},
		"a tenant that is full":            {config{MaxPerTenant: 3}, 3, 0, inbox, 0, 3},
		"its only slot looks used":         {config{}, 3, 1, inbox, 1, 3},
		"the last task":                    {config{MaxPerTenant: 3}, 3, 3, inbox, 3, 3},
		"its own limit": {config{
			MaxPerTenantFor: func(string) int { return 3 }, MaxPerTenant: 9,
		}, 3, 2, inbox, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s, tn := behind(t, test.cfg, test.queued, test.served)
			meet(s, test.way == inbox)
			payload := 2 + test.queued
			for range test.accepts {
				admit(t, s, "a", task{Payload: payload})
				payload++
			}
			if limit := tn.limit.get(); limit < 9 {
				if err := s.Enqueue("a", task{}); err != firq.ErrTenantFull {
					t.Errorf("%v, of a tenant that has its %d tasks", err, limit)
				}
			}
			if n := s.Len(); n != test.next {
				t.Errorf("%d are queued, want %d", n, test.next)
			}
			rests(t, s)
			for i := 2 + test.served; i < payload; i++ {
				take(t, s, i)
			}
			if w := tn.word.Load(); tn.behind || usedIn(w) != 0 || tn.held(w) != 0 {
				t.Errorf("without tasks: behind is %t, %d slots, %d places", tn.behind, usedIn(w), tn.held(w))
			}
			rests(t, s)
		})
	}
}

// A slot that only looks used is no reason for a larger inbox.
func TestBehindKeepsItsInbox(t *testing.T) {
	s := buildSmall(t, config{}, lendSize)
	s.direct = s.bare
	admit(t, s, "a", task{Payload: 1})
	take(t, s, 1)
	tn, _ := s.tenants.Load("a")
	for i := range 3 {
		pushed(t, s, "a", task{Payload: 2 + i})
		meet(s, true)
		admit(t, s, "a", task{Payload: 10 + i})
		meet(s, false)
		if n := tn.inbox.Load().Size(); n != firstBox || tn.behind {
			t.Fatalf("%d slots, behind is %t", n, tn.behind)
		}
		take(t, s, 2+i, 10+i)
	}
	rests(t, s)
}

// A batch takes its places by a step that also says those which have come free, and leaves the
// word behind.
func TestBehindBatch(t *testing.T) {
	s, tn := behind(t, config{MaxPerTenant: 8}, 4, 3)
	if n, err := s.EnqueueBatch("a", tasks(6, 4)); n != 4 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if !tn.behind || tn.at != 0 {
		t.Errorf("behind is %t, by %d places", tn.behind, tn.at)
	}
	items := make([]item, 3)
	if n, err := s.DequeueBatch(context.Background(), items); n != 3 || err != nil || items[2].Payload != 7 {
		t.Fatalf("%d, %v: %+v", n, err, items)
	}
	if !tn.behind || tn.at != 3 {
		t.Errorf("behind is %t, by %d places", tn.behind, tn.at)
	}
	rests(t, s)
	if n, err := s.EnqueueBatch("a", tasks(10, 8)); n != 6 || err != firq.ErrTenantFull {
		t.Errorf("%d, %v, of a tenant with two tasks of eight", n, err)
	}
	rests(t, s)
	take(t, s, 8, 9, 10, 11, 12, 13, 14, 15)
	nothing(t, s)
	rests(t, s)
}

// Nothing is evicted as long as there is a place.
func TestBehindEvictsNothing(t *testing.T) {
	s, _ := behind(t, config{MaxPerTenant: 2, Backpressure: firq.Backpressure{Policy: firq.DropOldest}}, 2, 1)
	meet(s, true)
	admit(t, s, "a", task{Payload: 4})
	rests(t, s)
	admit(t, s, "a", task{Payload: 5}) // in the place of 3
	take(t, s, 4, 5)
	rests(t, s)
}

// A producer that waits for a place gets it, though the word says so only to the lease holder.
func TestBehindWaits(t *testing.T) {
	s, _ := behind(t, config{MaxPerTenant: 2}, 2, 0)
	done := start(func() error { return s.EnqueueWait(t.Context(), "a", task{Payload: 4}) })
	for !s.shared.Waiters.Waiting() {
		runtime.Gosched()
	}
	take(t, s, 2)
	if err := result(t, "EnqueueWait", done); err != nil {
		t.Fatal(err)
	}
	take(t, s, 3, 4)
	rests(t, s)
}

// A limit that changes in between counts from the tasks that there are.
func TestBehindAndLimits(t *testing.T) {
	s, tn := behind(t, config{MaxPerTenant: 5}, 4, 2)
	s.SetLimit("a", 2)
	rests(t, s)
	if err := s.Enqueue("a", task{}); err != firq.ErrTenantFull {
		t.Errorf("%v, of a tenant with two tasks of two", err)
	}
	s.SetLimit("a", 3)
	admit(t, s, "a", task{Payload: 6})
	if err := s.Enqueue("a", task{}); err != firq.ErrTenantFull {
		t.Errorf("%v, of a tenant with three tasks of three", err)
	}
	take(t, s, 4, 5, 6)
	if held := tn.held(tn.word.Load()); held != 0 {
		t.Errorf("%d places are taken, of none", held)
	}
	rests(t, s)
}

// Close counts each task, and its place, once.
func TestBehindClose(t *testing.T) {
	s, tn := behind(t, config{MaxPerTenant: 5}, 4, 2)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if stats := s.Stats(); stats.Closed != 2 || stats.QueueLen != 0 || tn.held(tn.word.Load()) != 0 || tn.behind {
		t.Errorf("%d closed, %d queued, %d places taken, behind is %t",
			stats.Closed, stats.QueueLen, tn.held(tn.word.Load()), tn.behind)
	}
}

// The word of a polled tenant is not behind: a producer looks at it for what is free.
func TestBehindPolled(t *testing.T) {
	s := direct(t, config{})
	meet(s, true)
	admit(t, s, "a", task{Payload: 2}, task{Payload: 3})
	s.Stats() // takes them in
	meet(s, false)
	tn, _ := s.tenants.Load("a")
	if !tn.polled {
		t.Fatal("not polled")
	}
	spill(tn)
	pushed(t, s, "a", task{Payload: 4})
	if tn.behind || usedIn(tn.word.Load()) != 0 {
		t.Errorf("behind is %t, %d slots", tn.behind, usedIn(tn.word.Load()))
	}
	rests(t, s)
	take(t, s, 2, 3, 4)
	rests(t, s)
}

// spill has the tasks of a tenant copied that are in slots of its inbox.
func spill(tn *tenant[string, int]) {
	tn.shard.lock()
	tn.shard.empty(tn)
	tn.shard.unlock()
}

// A tenant whose word is behind can become polled: it says what is missing first.
func TestBehindBecomesPolled(t *testing.T) {
	s, tn := behind(t, config{}, 4, 2)
	meet(s, true)
	admit(t, s, "a", task{Payload: 6})
	s.Stats()
	if !tn.polled || tn.behind || tn.held(tn.word.Load()) != 3 {
		t.Errorf("polled is %t, behind %t, %d places", tn.polled, tn.behind, tn.held(tn.word.Load()))
	}
	rests(t, s)
	take(t, s, 4, 5, 6)
	rests(t, s)
}
