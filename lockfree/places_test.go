package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/waitq"
)

// The parts of a word do not touch each other, wherever they are.
func TestWord(t *testing.T) {
	for _, room := range []int{-3, 0, 1, 1000, firq.MaxTasks} {
		for _, tail := range []uint32{0, 1, ticketMask - 1, ticketMask} {
			w := word(0).put(room).opened(tail)
			for n := range 5 {
				x := w.tickets(n)
				if want := (tail + uint32(n)) & ticketMask; x.room() != room-n || x.tail() != want || between(tail, x.tail()) != n || !x.open() || x.full() || x.dead() {
					t.Errorf("room %d, tail %d: %d tickets: %x", room, tail, n, x)
				}
				if y := (w | fullBit).take(n).put(1); y.room() != room-n+1 || y.tail() != tail || !y.open() || !y.full() {
					t.Errorf("room %d, tail %d: %d taken: %x", room, tail, n, y)
				}
			}
			if x := w.opened(7); x.room() != room || x.tail() != 7 || !x.open() {
				t.Errorf("room %d, tail %d: opened again: %x", room, tail, x)
			}
			if w.hasRoom() != (room > 0) || (w | deadBit).hasRoom() {
				t.Errorf("room %d: free %t, dead %t", room, w.hasRoom(), (w | deadBit).hasRoom())
			}
			if after(tail) != (tail+1)&ticketMask {
				t.Errorf("after %d: %d", tail, after(tail))
			}
		}
	}
}

// known returns a tenant that has no task.
func known(t *testing.T, s *scheduler, k string) *tenant[string, int] {
	t.Helper()
	admit(t, s, k, task{Payload: 1})
	take(t, s, 1)
	tn, _ := s.tenants.Load(k)
	return tn
}

// What comes free is owed until it is a quarter of the limit; once a producer was refused the word
// says it immediately.
func TestOwed(t *testing.T) {
	s := build(t, config{MaxPerTenant: 8})
	tn := known(t, s, "a")
	says := func(owed, room int, full bool) {
		t.Helper()
		if w := tn.load(); int(tn.owed) != owed || w.room() != room || w.full() != full {
			t.Fatalf("%d owed, room %d, full %t; want %d, %d, %t", tn.owed, w.room(), w.full(), owed, room, full)
		}
	}
	says(1, 7, false)
	admit(t, s, "a", make([]task, 8)...)
	says(0, 0, false) // what was owed was taken first
	take(t, s, 0, 0)
	says(2, 0, false)
	take(t, s, 0)
	says(0, 3, false)
	admit(t, s, "a", make([]task, 3)...)
	says(0, 0, false)
	refuse(t, s, "a", firq.ErrTenantFull)
	says(0, 0, true)
	tn.shard.mu.Lock() // producers are refused without it
	refused := start(func() error { return s.Enqueue("a", task{}) })
	if err := result(t, "Enqueue for a full tenant", refused); err != firq.ErrTenantFull {
		t.Error(err)
	}
	tn.shard.mu.Unlock()
	take(t, s, 0)
	says(0, 1, false)
	take(t, s, 0)
	says(1, 1, false)
	s.SetLimit("a", 4)
	says(0, -2, false)
	take(t, s, 0)
	says(0, -1, false)
	refuse(t, s, "a", firq.ErrTenantFull)
	says(0, -1, true)
	take(t, s, 0)
	says(0, 0, false)
	take(t, s, 0)
	says(1, 0, false)
	s.SetLimit("a", 9)
	says(0, 6, false)
	take(t, s, 0, 0, 0)
}

// While a call in progress has the last place, the word does not say full, a call under the lock is unsure, and the
// tenant is not forgotten: the call may give its place back.
func TestPlaceInProgress(t *testing.T) {
	s := build(t, config{MaxPerTenant: 1})
	tn := known(t, s, "a")
	if !tn.takeClosed() {
		t.Fatal("no place")
	}
	tn.shard.lock()
	if v := tn.takeLocked(); v != errUnsure || tn.load().full() {
		t.Errorf("%v, full %t", v, tn.load().full())
	}
	if tn.shard.forget(&tn.Tenant) {
		t.Error("forgotten")
	}
	tn.shard.unlock()
	tn.giveBack(1)
	tn.shard.lock()
	if v := tn.takeLocked(); v != nil {
		t.Errorf("%v", v)
	}
	tn.freePlaces(1)
	tn.shard.unlock()
}

// A dead tenant gives no place, by no way.
func TestDead(t *testing.T) {
	s := build(t, config{MaxPerTenant: 8})
	tn := known(t, s, "a")
	h := s.Tenant("a").(*handle[string, int])
	if h.tenant() != tn {
		t.Fatal("another tenant")
	}
	tn.shard.lock()
	if tn.owed == 0 || !tn.shard.forget(&tn.Tenant) {
		t.Errorf("not forgotten, %d owed", tn.owed)
	}
	tn.shard.unlock()
	for _, crowded := range []bool{false, true} {
		if crowded {
			s.crowd()
		}
		for n := 1; n < 3; n++ {
			if got, _ := tn.enter(make([]task, n), s.shared.Clock.Now()); got != 0 {
				t.Errorf("%d tasks for a dead tenant, crowded %t: %d admitted", n, crowded, got)
			}
		}
	}
	if h.tenant() != nil {
		t.Error("the handle still knows it")
	}
}

// A batch gets the places and credits that there are. If there are more places than credits it gives the rest
// of the places back, and the other way round.
func TestBatchGetsPart(t *testing.T) {
	for _, cfg := range []config{{MaxPerTenant: 5}, {MaxPerTenant: 9, MaxGlobal: 5}} {
		for _, crowded := range []bool{false, true} {
			s := build(t, cfg)
			if known(t, s, "a"); crowded {
				s.crowd()
				laneOf(t, s, "a", 0, 1)
			} else {
				admit(t, s, "a", task{Payload: 0}, task{Payload: 1})
			}
			n, err := s.EnqueueBatch("a", []task{{Payload: 2}, {Payload: 3}, {Payload: 4}, {Payload: 5}, {Payload: 6}, {Payload: 7}})
			if n != 3 || err == nil {
				t.Errorf("%+v, crowded %t: %d, %v", cfg, crowded, n, err)
			}
			take(t, s, 0, 1, 2, 3, 4)
			nothing(t, s)
		}
	}
}

// A call that has a place, and finds no credit, gives the place back. While the lane is open no call gets a place
// for the ring: its task could come before those in the lane.
func TestPlaceForTheRing(t *testing.T) {
	s := build(t, config{MaxGlobal: 2})
	s.crowd()
	tn := known(t, s, "a")
	admit(t, s, "b", task{}, task{})
	if !tn.takeClosed() {
		t.Fatal("no place")
	}
	if err := s.credited(tn); err != firq.ErrGlobalFull || tn.held() != 0 {
		t.Errorf("%v, and %d places are held", err, tn.held())
	}
	take(t, s, 0, 0)
	if laneOf(t, s, "a", 0, 0).takeClosed() {
		t.Error("a place for the ring, beside an open lane")
	}
	take(t, s, 0, 0)
}

// Without the lock no producer is refused because of a task that may have expired, even one that has just come by the
// ring: under the lock the new task replaces it.
func TestFullOfExpired(t *testing.T) {
	s := build(t, config{MaxPerTenant: 1})
	tn := known(t, s, "a")
	s.crowd()
	admit(t, s, "a", task{Payload: 1, Deadline: past()})
	tn.shard.lock()
	if v := tn.takeLocked(); v != firq.ErrTenantFull || !tn.load().full() {
		t.Fatalf("%v, full %t", v, tn.load().full())
	}
	if err := s.surelyFull("a", s.shared.Clock.Now()); err != nil {
		t.Errorf("refused: %v", err)
	}
	tn.shard.unlock()
	admit(t, s, "a", task{Payload: 2})
	take(t, s, 2)
}

// A tenant is forgotten while a producer waits for a place of it, and is back with more room: the producer is woken.
func TestBackWithMoreRoom(t *testing.T) {
	limit := 1
	s := build(t, config{MaxTenants: 1, MaxPerTenantFor: func(string) int { return limit }})
	admit(t, s, "a", task{Payload: 1})
	var first, second waitq.Waiter[string]
	s.shared.Waiters.Enter(&first, "a", waitq.Tenant)
	s.shared.Waiters.Enter(&second, "a", waitq.Tenant)
	take(t, s, 1) // wakes the first, which has not come yet
	admit(t, s, "b", task{Payload: 2})
	take(t, s, 2)
	if _, known := s.tenants.Load("a"); known {
		t.Fatal("the tenant is not forgotten: this test shows nothing")
	}
	limit = 3
	admit(t, s, "a", task{Payload: 3})
	if s.shared.Waiters.Waiting() {
		t.Error("the second waits beside a free place")
	}
	take(t, s, 3)
}
