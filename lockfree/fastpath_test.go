package lockfree

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/core/waitq"
)

// fast takes one item by the fast path.
func fast(t *testing.T, s *scheduler, want int) {
	t.Helper()
	var it item
	if !s.takeFast(&it) || it.Payload != want {
		t.Fatalf("fast path: %d, want %d", it.Payload, want)
	}
}

// serveOne takes one item out of the shard, whose lease the caller has.
func serveOne(sh *shard[string, int], it *item, now int64, limit uint64) bool {
	t := sh.next(it, now, limit)
	if t != nil {
		sh.servedOne(t)
	}
	return t != nil
}

// pushed enqueues past the inbox.
func pushed(t *testing.T, s *scheduler, k string, x task) {
	t.Helper()
	if !s.enqueueDirect(s.find(k, nil), &x, s.shared.Clock.Now()) {
		t.Fatalf("%d did not go past the inbox", x.Payload)
	}
}

// woken fails if the waiter was not woken.
func woken(t *testing.T, s *scheduler, w *waitq.Waiter[string]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if s.shared.Waiters.Wait(ctx, w, nil, nil) != waitq.Woken {
		t.Error("a place came free, and the producer that waits for it sleeps on")
	}
}

// A producer that waits for room gets the place of a task that is delivered by the
// fast path, and of one that was taken on the way past the inbox and given back.
func TestFastPathReleases(t *testing.T) {
	for _, cause := range []waitq.Cause{waitq.Tenant, waitq.Global} {
		s := direct(t, config{})
		pushed(t, s, "a", task{Payload: 2})
		var w waitq.Waiter[string]
		s.shared.Waiters.Enter(&w, "a", cause)
		fast(t, s, 2)
		woken(t, s, &w)
	}
	s := direct(t, config{})
	var w waitq.Waiter[string]
	s.shared.Waiters.Enter(&w, "a", waitq.Tenant)
	giveBack := exhaust(s)
	if s.enqueueDirect(s.find("a", nil), &task{}, s.shared.Clock.Now()) {
		t.Error("there was no credit")
	}
	woken(t, s, &w)
	giveBack()
}

// A task that passes by its inbox wakes a consumer.
func TestDirectWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := direct(t, config{})
		got := start(func() int {
			it, err := s.Dequeue(t.Context())
			if err != nil {
				return -1
			}
			return it.Payload
		})
		synctest.Wait()
		s.shards[0].contention.at.Store(never) // the consumer came to wait long ago
		pushed(t, s, "a", task{Payload: 2})
		synctest.Wait()
		select {
		case n := <-got:
			if n != 2 {
				t.Errorf("got %d, want 2", n)
			}
		default:
			t.Error("the consumer sleeps while there is work")
			touch(s) // wakes it
		}
	})
}

// The tasks of a tenant come in the order in which they were enqueued, whichever way each
// of them takes.
func TestDirectThenInbox(t *testing.T) {
	for _, cfg := range []config{{}, {MaxPerTenant: 6}, {Shards: 2}} {
		s := direct(t, cfg)
		for n := range 60 {
			s.direct = n%3 != 0
			admit(t, s, "a", task{Payload: n}, task{Payload: n + 100}, task{Payload: n + 200})
			s.direct = n%2 != 0
			admit(t, s, "a", task{Payload: n + 300})
			take(t, s, n, n+100, n+200, n+300)
		}
		nothing(t, s)
	}
}

// The fast path ends a hold that is not plain as the other one does.
func TestFastPathUnlocks(t *testing.T) {
	t.Run("something was announced", func(t *testing.T) {
		s := direct(t, config{})
		pushed(t, s, "a", task{Payload: 2})
		s.direct = false
		admit(t, s, "a", task{Payload: 3})
		if !s.shards[0].activations.Ready() {
			t.Fatal("nothing was announced")
		}
		fast(t, s, 2)
		if s.shards[0].activations.Ready() {
			t.Error("the ring was not freed")
		}
		take(t, s, 3)
	})
	t.Run("a polled tenant is served its last task", func(t *testing.T) {
		s := direct(t, config{})
		s.direct = false
		tn := polled(t, s, "a", 2, 3)
		fast(t, s, 2)
		fast(t, s, 3)
		if tn.polled {
			t.Error("it is still polled")
		}
	})
	t.Run("a deadline has left", func(t *testing.T) {
		s := direct(t, config{})
		admit(t, s, "a", task{Payload: 2, Deadline: far()})
		touch(s)
		fast(t, s, 2)
		if due, next := s.shards[0].due.Load(), s.shards[0].Queue.NextDue(); due != next {
			t.Errorf("due %d, want %d", due, next)
		}
	})
	t.Run("draining", func(t *testing.T) {
		s := direct(t, config{})
		pushed(t, s, "a", task{Payload: 2})
		sh := s.shards[0]
		sh.lock()
		var it item
		if !serveOne(sh, &it, s.shared.Clock.Now(), sh.Limit()) {
			t.Fatal("nothing is delivered")
		}
		shutdown := draining(t, s)
		s.credit.GiveAt(0, 1)
		sh.unlockFast([]item{it})
		if err := result(t, "Shutdown", shutdown); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	t.Run("draining, dropped for CoDel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := late(t)
			shutdown := start(func() error { return s.Shutdown(t.Context()) })
			synctest.Wait()
			if s.life.State() != serve.Draining {
				t.Fatal("not draining")
			}
			take(t, s, 2, 3, 4) // while draining no tenant is dropped
			synctest.Wait()
			if err := result(t, "Shutdown", shutdown); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
	})
	t.Run("dropped for CoDel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := late(t)
			fast(t, s, 3)
			if n := s.Len(); n != 1 {
				t.Errorf("%d are queued, want 1", n)
			}
			take(t, s, 4)
		})
	})
	t.Run("dropped for CoDel, of a polled tenant", func(t *testing.T) { // whose visit says what is owed
		synctest.Test(t, func(t *testing.T) {
			s := late(t)
			sh := s.shards[0]
			tn, _ := s.tenants.Load("a")
			sh.lease.Lock()
			sh.endDrain(tn) // makes it polled
			sh.unlock()
			if !tn.polled {
				t.Fatal("it is not polled")
			}
			fast(t, s, 3)
			if n := s.Len(); n != 1 {
				t.Errorf("%d are queued, want 1", n)
			}
			take(t, s, 4)
		})
	})
	t.Run("idle tenants make room", func(t *testing.T) {
		s := direct(t, config{MaxTenants: 1})
		pushed(t, s, "a", task{Payload: 2})
		touch(s) // publishes that no tenant is idle
		fast(t, s, 2)
		if !s.roomForTenant() {
			t.Error("the tenant is not known to be idle")
		}
	})
}

// late makes a scheduler with three tasks, of which CoDel drops the next one.
func late(t *testing.T) *scheduler {
	t.Helper()
	s := direct(t, config{TargetWait: time.Second, Interval: time.Second})
	for n := 1; n <= 4; n++ {
		admit(t, s, "a", task{Payload: n})
	}
	time.Sleep(10 * time.Second)
	take(t, s, 1) // from now on the waits are too long
	time.Sleep(2 * time.Second)
	return s
}

// What a tenant wants is one word of two parts: to change the one leaves the other.
func TestWants(t *testing.T) {
	s := direct(t, config{})
	tn, _ := s.tenants.Load("a")
	for _, n := range []int{7, 0, firq.MaxTasks} {
		tn.wants.Store(0)
		tn.setInFlight(n)
		if tn.inFlight() != n || tn.eager() {
			t.Errorf("limit %d, eager %t; want %d", tn.inFlight(), tn.eager(), n)
		}
		tn.setEager()
		if tn.inFlight() != n || !tn.eager() {
			t.Errorf("limit %d, eager %t; want %d, and eager", tn.inFlight(), tn.eager(), n)
		}
		tn.setInFlight(n / 2)
		if tn.inFlight() != n/2 || !tn.eager() {
			t.Errorf("limit %d, eager %t; want %d, and eager", tn.inFlight(), tn.eager(), n/2)
		}
	}
}

// A call that draws a ticket after the first look is seen by the second one: its task goes first.
func TestEnterDirectLooksAgain(t *testing.T) {
	s := direct(t, config{})
	tn, _ := s.tenants.Load("a")
	sh := s.shards[0]
	sh.lock()
	p := stopped(t, s, "a", task{Payload: 2})
	if err := p.charge(); err != nil {
		t.Fatal(err)
	}
	if sh.enterDirect(tn, tn.word.Load(), 1) > 0 {
		t.Error("a task overtook one whose ticket is out")
	}
	sh.unlock()
	p.publish()
	take(t, s, 2)
}

// A tenant that Sweep does not know yet is known once a task has passed by its inbox, and
// when one was refused.
func TestDirectIsKnown(t *testing.T) {
	for _, refused := range []bool{false, true} {
		s := direct(t, config{})
		tn, err := s.lookUp("b", nil)
		if err != nil {
			t.Fatal(err)
		}
		undo := func() {}
		if refused {
			undo = exhaust(s)
		}
		if got := s.enqueueDirect(s.find("b", nil), &task{Payload: 2}, s.shared.Clock.Now()); got == refused {
			t.Errorf("direct: %v", got)
		}
		if !tn.registered {
			t.Errorf("refused %t: it will never be forgotten", refused)
		}
		undo()
	}
}

// A task that says no cost costs one.
func TestDirectCost(t *testing.T) {
	s := direct(t, config{})
	pushed(t, s, "a", task{Payload: 2})
	pushed(t, s, "a", task{Payload: 3, Cost: 5})
	if it := take(t, s, 2); it.Cost != 1 {
		t.Errorf("it costs %d, want 1", it.Cost)
	}
	if it := take(t, s, 3); it.Cost != 5 {
		t.Errorf("it costs %d, want 5", it.Cost)
	}
}

// After Shutdown no task goes past the inbox.
func TestDirectDraining(t *testing.T) {
	s := direct(t, config{})
	pushed(t, s, "a", task{Payload: 2})
	shutdown := draining(t, s)
	if s.enqueueDirect(s.find("a", nil), &task{Payload: 3}, s.shared.Clock.Now()) {
		t.Error("a task was admitted while draining")
	}
	take(t, s, 2)
	if err := result(t, "Shutdown", shutdown); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// An inbox that is half full of tasks which are no plain ones when its tenant is served, or
// nearly full of those, is looked at with the next visit.
func TestFastPathNeedsFill(t *testing.T) {
	for _, plain := range []bool{true, false} {
		for _, behind := range []bool{true, false} {
			s := direct(t, config{})
			s.firstBox = inboxSize
			pushed(t, s, "a", task{Payload: 2})
			pushed(t, s, "a", task{Payload: 3})
			tn, _ := s.tenants.Load("a")
			if !behind {
				tn.shard.lease.Lock()
				tn.settle()
				tn.shard.lease.Unlock()
			}
			if tn.behind != behind {
				t.Fatalf("the word is behind: %v", tn.behind)
			}
			last, n := task{Payload: 4}, fillAt
			if plain {
				n = inboxSize - inboxSize/4
			} else {
				last.Deadline = far()
			}
			var ps []*producer
			for range n {
				ps = append(ps, published(t, s, "a", last))
				last.Payload++
			}
			fast(t, s, 2)
			if !tn.NeedsFill {
				t.Errorf("plain %v, the word is behind %v: the inbox will not be looked at", plain, behind)
			}
			for _, p := range ps {
				p.announce()
			}
			take(t, s, count(3, 1+n)...)
		}
	}
}

// A task that goes before others is served first, also of a polled tenant, which no producer
// announces.
func TestEagerQuietly(t *testing.T) {
	s := direct(t, config{})
	s.direct = false
	polled(t, s, "a", 2, 3)
	admit(t, s, "a", task{Payload: 4, Priority: firq.PriorityHigh})
	if s.shards[0].activations.Ready() {
		t.Fatal("it was announced")
	}
	take(t, s, 4, 2, 3)
}

// What the fast path has delivered moves the shard's tag.
func TestFastPathTag(t *testing.T) {
	s, k := twoShards(t)
	for n := range 4 {
		pushed(t, s, k, task{Payload: n})
	}
	q, first := s.shards[0].Queue, s.rounds.Tag(0)
	for n := range 3 {
		fast(t, s, n)
		if got, want := s.rounds.Tag(0), q.Tag(); got != want {
			t.Errorf("after %d: tag %d, want %d", n, got, want)
		}
	}
	if s.rounds.Tag(0) == first {
		t.Error("the tag has not moved")
	}
	take(t, s, 3)
}

// onShard returns the name of a tenant on that shard.
func onShard(s *scheduler, shard int) string {
	k := "a"
	for ; s.placer.Shard(k) != shard; k += "a" {
	}
	return k
}

// twoShards makes a scheduler of two shards whose tasks may pass by the inboxes, and
// returns a tenant of shard 0 that is known and idle.
func twoShards(t *testing.T) (s *scheduler, k string) {
	t.Helper()
	s = buildAt(t, config{Shards: 2, Quantum: 1}, lendSize)
	k = onShard(s, 0)
	admit(t, s, k, task{})
	take(t, s, 0)
	nothing(t, s)
	s.direct = true
	return s, k
}

// What others have said since the shard was chosen limits the fast path.
func TestFastPathLimit(t *testing.T) {
	s, k := twoShards(t)
	s.rounds.Served(50)
	pushed(t, s, k, task{Payload: 2})
	sh := s.shards[0]
	sh.lease.Lock()
	s.rounds.Publish(1, 3, true)
	var it item
	if serveOne(sh, &it, s.shared.Clock.Now(), sh.Limit()) {
		t.Errorf("delivered %d in round %d, the limit is %d", it.Payload, sh.Queue.Round(), sh.Limit())
	}
	s.rounds.Publish(1, 0, false)
	sh.unlock()
	take(t, s, 2)
}
