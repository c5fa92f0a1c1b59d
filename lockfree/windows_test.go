//go:build firq_failpoints

package lockfree

import (
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The tests of this file stop one goroutine at a mark while others come in between: windows that the
// search of TestSchedules comes to with two preemptions and more, which it does not try.

// windows is a Hook that calls a function when a goroutine first comes to a mark.
type windows struct {
	at    map[string]func()
	stuck chan struct{} // a goroutine waits for another one
	mu    sync.Mutex
}

func (w *windows) At(mark string) {
	w.mu.Lock()
	f := w.at[mark]
	delete(w.at, mark)
	w.mu.Unlock()
	if f != nil {
		f()
	}
}

func (w *windows) Stuck(string) {
	select {
	case w.stuck <- struct{}{}:
	default:
	}
}

func (*windows) Processor() (int, bool) { return 0, true }

func openWindows(t *testing.T, at map[string]func()) *windows {
	w := &windows{at: at, stuck: make(chan struct{}, 1)}
	t.Cleanup(failpoint.Set(w))
	return w
}

// TestTailBeforeRing: a producer has taken its place when the lane opens. While the lane is fetched it
// sends that task by the ring, and the next by the lane: they are served in this order.
func TestTailBeforeRing(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	admit(t, s, "a", task{Payload: 1})
	hasPlace, goOn := make(chan struct{}), make(chan struct{})
	var sent <-chan bool
	openWindows(t, map[string]func(){
		"ring draw": func() { close(hasPlace); <-goOn },
		"fetch lane": func() {
			close(goOn)
			result(t, "the producer", sent)
		},
	})
	sent = start(func() bool {
		return s.Enqueue("a", task{Payload: 3}) == nil && s.Enqueue("a", task{Payload: 4}) == nil
	})
	<-hasPlace
	tn := laneOf(t, s, "a", 2)
	s.Stats() // fetches what lanes hold
	if tn.Len() < 2 {
		t.Fatal("the lane was not fetched")
	}
	take(t, s, 1, 2, 3, 4)
	nothing(t, s)
}

// TestFlowBesideLane: the ring holds a task of a flow, for which the tenant's lane is closed. It was opened by
// the tasks before, and a producer uses it until then. What is in it may not be lent: the tenant has flows.
func TestFlowBesideLane(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	admit(t, s, "a", task{Payload: 1})
	for _, x := range []task{{Payload: 2}, {Payload: 3}, {Payload: 4, Flow: 5}} {
		admit(t, s, "a", x)
	}
	openWindows(t, map[string]func(){"fetch": func() {
		sent := start(func() bool { return s.Enqueue("a", task{Payload: 5}) == nil })
		result(t, "the producer", sent)
	}})
	s.Stats() // takes in the ring
	got := map[int]bool{}
	served := start(func() bool {
		for range 5 {
			if it, ok := s.TryDequeue(); ok {
				got[it.Payload] = true
			}
		}
		_, ok := s.TryDequeue()
		return !ok && len(got) == 5
	})
	if !result(t, "the consumer", served) {
		t.Errorf("served: %v", got)
	}
}

// TestFullThenExpired: a producer finds its tenant full, and then the task that has expired, which it could have
// replaced, leaves. There was no instant at which the producer had to be refused.
func TestFullThenExpired(t *testing.T) {
	s := build(t, config{MaxPerTenant: 1})
	admit(t, s, "a", task{Payload: 1, Deadline: time.Now().Add(10 * time.Millisecond)})
	refuse(t, s, "a", firq.ErrTenantFull) // the word says so from here on
	time.Sleep(20 * time.Millisecond)
	openWindows(t, map[string]func(){"surely full": func() {
		nothing(t, s) // drops it
	}})
	admit(t, s, "a", task{Payload: 2})
	take(t, s, 2)
}

// TestThresholdThenTenants: a call is refused by DynamicThreshold, and tries again. By then its tenant is
// forgotten and another has its place: that MaxTenants are known refuses it only if none of them is idle.
func TestThresholdThenTenants(t *testing.T) {
	s := build(t, config{MaxGlobal: 4, MaxTenants: 2, DynamicThreshold: 0.25})
	admit(t, s, "a", task{Payload: 1})
	admit(t, s, "b", task{Payload: 2})
	var w *windows
	w = openWindows(t, map[string]func(){"surely full": func() { // of the first try
		w.at["surely full"] = func() { // of the second
			take(t, s, 1, 2)
			admit(t, s, "c", task{Payload: 3}) // in the place of a, which has been idle for longer
		}
	}})
	admit(t, s, "a", task{Payload: 4})
	take(t, s, 3, 4)
}

// TestFreedBeyondTail: a producer has read the word when other tasks go by the lane and are taken out
// of it. Slots are free, so it draws a ticket.
func TestFreedBeyondTail(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	tn := laneOf(t, s, "a", 1, 2)
	openWindows(t, map[string]func(){"lane freed?": func() {
		for range laneSize - 1 {
			admit(t, s, "a", task{Payload: 3})
		}
		s.Stats() // copies them, as they are more than half of the lane
	}})
	admit(t, s, "a", task{Payload: 4})
	if n := between(tn.head, tn.load().tail()); n != 1 {
		t.Errorf("%d tickets are out, want 1", n)
	}
}

// TestReadyBeforeFree: a consumer comes when the holder has taken in a task, and is about to let
// consumers know of it.
func TestReadyBeforeFree(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	admit(t, s, "a", task{Payload: 1})
	take(t, s, 1)
	nothing(t, s)
	admit(t, s, "a", task{Payload: 2})
	var w *windows
	var found <-chan bool
	w = openWindows(t, map[string]func(){"publish": func() {
		found = start(func() bool { _, ok := s.TryDequeue(); return ok })
		select {
		case ok := <-found:
			t.Errorf("TryDequeue returns %t while a shard's holder has a task", ok)
		case <-w.stuck: // it waits for the lock
		}
	}})
	touch(s)
	if t.Failed() {
		take(t, s, 2)
	} else if !result(t, "TryDequeue", found) {
		t.Error("TryDequeue has found nothing")
	}
}

// TestDueBeforeFree: a producer comes when the holder has taken in a task that has expired, and is about to let producers
// know of it. It is not refused: the new task replaces that one.
func TestDueBeforeFree(t *testing.T) {
	s := build(t, config{MaxGlobal: 1})
	known(t, s, "a")
	s.crowd()
	admit(t, s, "a", task{Payload: 1, Deadline: past()})
	var w *windows
	var admitted <-chan error
	w = openWindows(t, map[string]func(){"due": func() {
		admitted = start(func() error { return s.Enqueue("b", task{Payload: 2}) })
		select {
		case err := <-admitted:
			t.Errorf("Enqueue returns %v while a shard's holder has an expired task", err)
		case <-w.stuck: // it waits for the lock
		}
	}})
	touch(s)
	if t.Failed() {
		return
	}
	if err := result(t, "Enqueue", admitted); err != nil {
		t.Fatal(err)
	}
	take(t, s, 2)
}

// TestPutAfterWhatCameBefore: a task that is put under the lock comes after those that were in the ring when it
// got its credit.
func TestPutAfterWhatCameBefore(t *testing.T) {
	s := build(t, config{Shards: 2, MaxGlobal: 2})
	var on [2][]string
	for n := 0; len(on[0]) < 2 || len(on[1]) < 1; n++ {
		k := string(rune('a' + n))
		sh := s.placer.Shard(k)
		on[sh] = append(on[sh], k)
	}
	a, b, other := on[0][0], on[0][1], on[1][0]
	known(t, s, a)
	known(t, s, b)
	nothing(t, s) // sees off b
	admit(t, s, other, task{Payload: 1}, task{Payload: 2})
	s.crowd()
	openWindows(t, map[string]func(){"credit": func() {
		take(t, s, 1)
		admit(t, s, b, task{Payload: 3})
		take(t, s, 2)
	}})
	if n, err := s.EnqueueBatch(a, numbered(4, 2)); n != 1 || err != firq.ErrGlobalFull {
		t.Fatalf("EnqueueBatch = %d, %v", n, err)
	}
	take(t, s, 3, 4)
}

// TestLimitTakesNoLock: a credit comes back while a producer of an open lane, which has found none, looks whether it has
// to be refused. It takes that one, and not the lock, for which it would keep consumers waiting.
func TestLimitTakesNoLock(t *testing.T) {
	s := build(t, config{MaxGlobal: 3})
	s.crowd()
	tn := laneOf(t, s, "a", 1, 2)
	if s.credit.TakeAt(0, 1) != 1 {
		t.Fatal("no credit")
	}
	openWindows(t, map[string]func(){"credit look": func() { s.credit.Give(1) }})
	tn.shard.mu.Lock()
	err := result(t, "Enqueue", start(func() error { return s.Enqueue("a", task{Payload: 3}) }))
	tn.shard.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	take(t, s, 1, 2, 3)
}

// TestCloseWhileRingIsFull: a task has its place and its credit, and finds the ring full. The scheduler is closed before
// its producer has the lock: the task is dropped all the same.
func TestCloseWhileRingIsFull(t *testing.T) {
	dropped := 0
	s := build(t, config{OnDrop: func(string, int, firq.DropReason) { dropped++ }})
	known(t, s, "a")
	known(t, s, "b")
	s.crowd()
	n := len(s.shards[0].ring.slots)
	for i := range n {
		admit(t, s, string(rune('a'+i%2)), task{})
	}
	openWindows(t, map[string]func(){"lock": func() { s.Close() }})
	admit(t, s, "a", task{})
	if dropped != n+1 {
		t.Errorf("%d of %d tasks were dropped", dropped, n+1)
	}
}

// TestTicketWithoutCredit: another call takes the last credit when a task has its place and its ticket. The task is
// refused, and its ticket is free.
func TestTicketWithoutCredit(t *testing.T) {
	s := build(t, config{MaxGlobal: 1})
	openWindows(t, map[string]func(){"credit": func() { s.credit.TakeAt(0, 1) }})
	var ticket firq.Ticket
	if err := s.Enqueue("a", task{Ticket: &ticket}); err != firq.ErrGlobalFull {
		t.Fatal(err)
	}
	s.credit.Give(1)
	admit(t, s, "a", task{Payload: 1, Ticket: &ticket})
	take(t, s, 1)
}

// TestLimitOfNewTenant: a call makes a tenant, by the limit for all that was there before. Until it has given the tenant
// the new one, no SetMaxPerTenant has returned.
func TestLimitOfNewTenant(t *testing.T) {
	s := build(t, config{MaxPerTenant: 3})
	s.crowd()
	var w *windows
	var set <-chan bool
	returned := false
	w = openWindows(t, map[string]func(){
		"credit": func() {
			set = start(func() bool { s.SetMaxPerTenant(1); return true })
			select {
			case returned = <-set:
			case <-w.stuck: // it waits for the lock
			}
		},
		"pay": func() {
			if !returned {
				return
			}
			second := start(func() error { return s.Enqueue("a", task{Payload: 2}) })
			select {
			case err := <-second:
				t.Errorf("Enqueue of a second task, after SetMaxPerTenant(1) has returned: %v", err)
			case <-w.stuck:
			}
		},
	})
	admit(t, s, "a", task{Payload: 1})
	if !returned {
		result(t, "SetMaxPerTenant", set)
	}
	refuse(t, s, "a", firq.ErrTenantFull)
	take(t, s, 1)
}
