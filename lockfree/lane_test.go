package lockfree

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// Tasks in a lane come in order, whatever its length and wherever its tickets begin again, and a
// lane that is closed keeps none of them alive.
func TestLaneOrder(t *testing.T) {
	for _, depth := range []int{2, 5, inPlace - 1, inPlace + 3, laneSize, 3 * laneSize} {
		s := build(t, config{})
		sh := s.shards[0]
		l := new(lane[int])
		sh.freeLanes = l
		in, out := 1, 0
		admit(t, s, "a", task{Payload: 1, Cost: 1})
		tn, _ := s.tenants.Load("a")
		tn.head = ticketMask - 70 // as after billions of tasks
		s.crowd()
		for ; in < depth; in++ {
			admit(t, s, "a", task{Payload: in + 1, Cost: int64(in%3 + 1)})
		}
		for range 1000 {
			it := take(t, s, out+1)
			if want := int64(out%3 + 1); it.Cost != want {
				t.Fatalf("depth %d: task %d costs %d, want %d", depth, out, it.Cost, want)
			}
			out++
			for ; in < out+depth; in++ {
				admit(t, s, "a", task{Payload: in + 1, Cost: int64(in%3 + 1)})
			}
		}
		if tn.head == ticketMask-70 {
			t.Fatalf("depth %d: the lane was not used", depth)
		}
		for ; out < in; out++ {
			take(t, s, out+1)
		}
		nothing(t, s)
		if tn.laned != noLane || tn.load().open() || sh.freeLanes != l {
			t.Fatalf("depth %d: the lane is open, with nothing in it", depth)
		}
		for i := range l.slots {
			if slot := &l.slots[i]; slot.Payload != 0 || slot.Mark != 0 {
				t.Fatalf("depth %d: slot %d keeps %d, with mark %d", depth, i, slot.Payload, slot.Mark)
			}
		}
	}
}

// Calls with several tasks have one mark each. A tenant that ran dry is lent whole calls, of which the
// first is copied if it is too long.
func TestLaneOfCalls(t *testing.T) {
	for size := 1; size <= laneSize; size++ {
		s := build(t, config{})
		s.crowd()
		tn := laneOf(t, s, "a", 1, 2)
		in, out := 2, 0
		for range 20 {
			for tn.load().open() {
				n, _ := tn.put(numbered(in+1, size), 1)
				if in += n; n < size {
					break // full
				}
			}
			take(t, s, out+1)
			for out++; out < in-2; out++ {
				take(t, s, out+1)
				if lent := tn.Lent(); lent > inPlace || size == 40 && lent > 40 {
					t.Fatalf("calls with %d tasks: %d are lent", size, lent)
				}
			}
		}
		if !tn.load().open() || tn.head == 0 {
			t.Fatalf("calls with %d tasks: the lane is not used", size)
		}
		take(t, s, out+1, out+2)
		nothing(t, s)
	}
}

// A tenant gets a lane with its second task, if all are plain and goroutines meet.
func TestLaneOpens(t *testing.T) {
	s := build(t, config{})
	laned := func(want bool, tasks ...task) {
		t.Helper()
		admit(t, s, "a", tasks...)
		touch(s)
		tn, _ := s.tenants.Load("a")
		if tn.load().open() != want {
			t.Errorf("%d tasks, mixed %t: open %t", tn.Len(), tn.mixed, !want)
		}
		for range tn.Len() {
			if _, ok := s.TryDequeue(); !ok {
				t.Fatal("nothing")
			}
		}
		nothing(t, s)
	}
	laned(false, task{}, task{}, task{})
	s.crowd()
	laned(false, task{})
	laned(true, task{}, task{})
	laned(false, task{Priority: firq.PriorityHigh}, task{}, task{}, task{})
	laned(true, task{}, task{}, task{})
	laned(false, task{}, task{}, task{Deadline: far()}) // by the ring, behind what opens the lane
	s.uncontended()
	admit(t, s, "a", task{Priority: firq.PriorityHigh}, task{Priority: firq.PriorityHigh})
	s.crowd()
	touch(s)
	laned(false, task{}, task{})
}

// A lane is not closed while a ticket is out, though no task is in it yet.
func TestLaneOfTicket(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	tn := laneOf(t, s, "a", make([]int, 2)...)
	for n := range 2 * laneSize { // until each slot has had a mark
		admit(t, s, "a", task{Payload: max(0, n-2*laneSize+3)})
		take(t, s, 0)
	}
	sh := tn.shard
	s.credit.Bring(0)
	w, n, _ := tn.drawTickets(1, 0)
	if n != 1 {
		t.Fatalf("%d tickets", n)
	}
	sh.lock()
	if sh.closeLane(tn) {
		t.Fatal("closed with a ticket out")
	}
	sh.unlock()
	if s.credit.TakeOwn(0, 1) != 1 {
		t.Fatal("no credit")
	}
	take(t, s, 1)
	last := start(func() item { it, _ := s.TryDequeue(); return it })
	waits(t, "the delivery of the last task", last)
	slot := tn.lane.Load().at(w.tail())
	slot.Cost, slot.Payload = 1, 3
	atomic.StoreUint32(&slot.Mark, 1)
	if it := result(t, "TryDequeue", last); it.Payload != 2 {
		t.Errorf("delivered %d", it.Payload)
	}
	take(t, s, 3)
	nothing(t, s)
}

// Tickets whose producer got no credit, or found the scheduler closed, are passed over.
func TestLaneVoid(t *testing.T) {
	s := build(t, config{MaxPerTenant: 20})
	s.crowd()
	tn := laneOf(t, s, "a", 1, 2)
	for round := range 2 {
		s.credit.Bring(0)
		w, n, _ := tn.drawTickets(3, 0)
		if n != 3 || s.credit.TakeOwn(0, 1) != 1 {
			t.Fatalf("%d tickets", n)
		}
		at := w.tail()
		for i := range n {
			slot := tn.lane.Load().at(at)
			if slot.Cost = 0; i == round {
				slot.Cost, slot.Payload = 1, 3+round
			}
			at = after(at)
		}
		atomic.StoreUint32(&tn.lane.Load().at(w.tail()).Mark, uint32(n))
		tn.giveBack(2)
	}
	if n := s.Len(); n != 4 {
		t.Errorf("Len is %d", n)
	}
	take(t, s, 1, 2, 3, 4)
	nothing(t, s)
	if st := s.Stats(); st.Enqueued != 4 || st.Dequeued != 4 {
		t.Errorf("%d in, %d out, want 4", st.Enqueued, st.Dequeued)
	}

	laneOf(t, s, "a", 1, 2)
	for n := 3; n < 3+2*laneSize; n++ { // until each slot has held a task
		admit(t, s, "a", task{Payload: n})
		take(t, s, n-2)
	}
	s.life.Close()
	if got, lack := tn.put(make([]task, 2), 1); got != 0 || lack != ofCredits {
		t.Errorf("closed: %d admitted, lack %d", got, lack)
	}
	if n := s.Len(); n != 2 {
		t.Errorf("Len is %d after a call that was refused", n)
	}
	s.shards[0].discard()
	if st := s.Stats(); st.Closed != 2 || s.Len() != 0 {
		t.Errorf("%d tasks were dropped, and Len is %d; want 2 and 0", st.Closed, s.Len())
	}
}

// A producer that knows of no free slot looks whether the holder has freed some: it needs no lock.
func TestLaneIsFreed(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	tn := laneOf(t, s, "a", make([]int, 2)...)
	for range 3 * laneSize {
		if n, lack := tn.put(make([]task, 1), 1); n != 1 || lack != noLack {
			t.Fatalf("%d admitted, lack %d, with %d queued", n, lack, s.Len())
		}
		take(t, s, 0)
	}
	take(t, s, 0, 0)
}

// Producers draw as many tickets as there are slots, places and credits, and no more.
func TestLaneFull(t *testing.T) {
	s := build(t, config{MaxPerTenant: 1000})
	s.crowd()
	tn := laneOf(t, s, "a", 0, 0)
	total := 0
	for {
		n, lack := tn.put(make([]task, 50), 1)
		if total += n; lack == ofSlots {
			break
		}
		if n == 0 || total > 1000 {
			t.Fatalf("%d after %d", n, total)
		}
	}
	if total < laneSize-freeEvery || total > laneSize {
		t.Errorf("%d in a lane", total)
	}
	for range 2 + total {
		take(t, s, 0)
	}
	nothing(t, s)
}

// Lanes of several tenants are closed in any order.
func TestLanesOfMany(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	for _, k := range []string{"a", "b", "c", "d"} {
		laneOf(t, s, k, 1, 2, 3)
	}
	for _, k := range []string{"b", "d", "a", "c"} {
		admit(t, s, k, task{Priority: firq.PriorityHigh, Payload: 4})
		touch(s)
		if tn, _ := s.tenants.Load(k); tn.laned != noLane {
			t.Errorf("%s has a lane", k)
		}
		for _, sh := range s.shards {
			if err := sh.check(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 16 {
		s.TryDequeue()
	}
	nothing(t, s)
}

// numbered returns n plain tasks, with payloads from first on.
func numbered(first, n int) []task {
	ts := make([]task, n)
	for i := range ts {
		ts[i].Payload = first + i
	}
	return ts
}

// putAll writes tasks into the lane of a tenant, and fails if it has not room for all of them.
func putAll(t *testing.T, tn *tenant[string, int], ts []task) {
	t.Helper()
	s := tn.shard.s
	for len(ts) > 0 {
		s.credit.Bring(0)
		n, lack := tn.put(ts, s.shared.Clock.Now())
		if n == 0 {
			t.Fatalf("%d have no room, lack %d", len(ts), lack)
		}
		ts = ts[n:]
	}
}

// Slots that are lent to the engine are not the producers' before their tasks are delivered.
func TestLaneKeepsLent(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	tn := laneOf(t, s, "a", 0, 1)
	putAll(t, tn, numbered(2, 45))
	next := 2 + 45
	for out := range 3 * laneSize {
		take(t, s, out)
		for { // as full as it gets
			n, lack := tn.put(numbered(next, 1), s.shared.Clock.Now())
			if next += n; lack == ofSlots {
				break
			}
		}
	}
	for out := 3 * laneSize; out < next; out++ {
		take(t, s, out)
	}
	nothing(t, s)
}

// A fetch that does not come from a tenant that ran dry copies what is more than half of the slots.
func TestLaneFetchedByStats(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	tn := laneOf(t, s, "a", 0, 0)
	putAll(t, tn, make([]task, 100))
	s.Stats()
	putAll(t, tn, make([]task, 100))
	take(t, s, make([]int, 202)...)
}

// A task that is not plain closes the lane, whether it comes after the others or in place of one.
func TestLaneClosed(t *testing.T) {
	for _, limit := range []int{9, 2} {
		s := build(t, config{MaxPerTenant: limit, Backpressure: firq.Backpressure{Policy: firq.DropOldest}})
		s.crowd()
		tn := laneOf(t, s, "a", 1, 2)
		admit(t, s, "a", task{Payload: 3, Priority: firq.PriorityHigh})
		if tn.laned != noLane || tn.load().open() {
			t.Errorf("at most %d tasks: the lane is open", limit)
		}
		take(t, s, 3)
		if limit == 9 {
			take(t, s, 1)
		}
		take(t, s, 2)
		nothing(t, s)
	}
}

// A lane that is closed goes to another tenant, and what the engine was lent of it stays as it is.
func TestLentAndClosed(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	tn := laneOf(t, s, "a", 1, 2)
	putAll(t, tn, numbered(3, 30))
	take(t, s, 1, 2, 3)
	if tn.Lent() == 0 {
		t.Fatal("nothing is lent")
	}
	admit(t, s, "a", task{Payload: 1, Priority: firq.PriorityHigh})
	other := laneOf(t, s, "b", -1, -1)
	putAll(t, other, slices.Repeat([]task{{Payload: -1}}, laneSize))
	var got []int
	for {
		it, ok := s.TryDequeue()
		if !ok {
			break
		}
		if it.Tenant == "a" {
			got = append(got, it.Payload)
		}
	}
	want := []int{1}
	for i := range 29 {
		want = append(want, 4+i)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// What a goroutine has sent by the ring comes before what it has written into the lane after that.
func TestRingThenLane(t *testing.T) {
	s := build(t, config{})
	admit(t, s, "a", task{Payload: 1}, task{Payload: 2})
	s.crowd()
	tn, _ := s.tenants.Load("a")
	sh := tn.shard
	sh.lock()
	admit(t, s, "a", task{Payload: 3}) // by the ring, which this hold has taken in already
	sh.openIfBusy(tn, s.shared.Clock.Now())
	admit(t, s, "a", task{Payload: 4})
	sh.fetch(tn)
	sh.unlock()
	if tn.laned == noLane {
		t.Error("there is no lane: this test shows nothing")
	}
	take(t, s, 1, 2, 3, 4)
}

// At the scheduler's limit a task for a lane takes the credit of one that has expired, on any shard. It is refused
// for the limit only while the scheduler is open.
func TestLaneAtLimit(t *testing.T) {
	s := build(t, config{Shards: 2, MaxGlobal: 4})
	s.crowd()
	laneOf(t, s, "a", 1, 2)
	for n := 0; s.Len() < 4; n++ {
		if k := string(rune('b' + n)); s.shardOf(k) != s.shardOf("a") {
			admit(t, s, k, task{Payload: 3, Deadline: past()})
			touch(s)
		}
	}
	admit(t, s, "a", task{Payload: 4}, task{Payload: 5})
	refuse(t, s, "a", firq.ErrGlobalFull)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); err != context.Canceled {
		t.Fatal(err)
	}
	refuse(t, s, "a", firq.ErrClosed)
	take(t, s, 1, 2, 4, 5)
}
