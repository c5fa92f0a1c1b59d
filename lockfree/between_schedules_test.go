//go:build firq_failpoints

package lockfree

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// once calls f when a mark is met for the first time, and reports whether it was.
func once(mark string, f func()) (met *bool, restore func()) {
	met = new(bool)
	return met, failpoint.AtMark(mark, func() {
		if !*met {
			*met = true
			f()
		}
	})
}

// A task with a ticket whose tenant dies before it has drawn a place goes to the tenant
// that comes after that one.
func TestSchedulesTicketOfDeadTenant(t *testing.T) {
	s := build(t, config{TenantIdle: time.Hour})
	admit(t, s, "a", task{Payload: 1})
	take(t, s, 1)
	nothing(t, s)
	first, _ := s.tenants.Load("a")
	var tk firq.Ticket
	met, restore := once("E1 ticket", func() {
		sh := first.shard
		sh.lock()
		sh.SweepSome(s.shared.Clock.Now()+int64(2*time.Hour), true, 10, sh.forget)
		sh.unlock()
	})
	err := s.Enqueue("a", task{Payload: 2, Ticket: &tk})
	restore()
	if now, _ := s.tenants.Load("a"); !*met || err != nil || now == first {
		t.Errorf("met %t: %v; the same tenant: %t", *met, err, now == first)
	}
	take(t, s, 2)
}

// The quantum that was asked for is there before a consumer can take the task in.
func TestSchedulesQuantumIsThereFirst(t *testing.T) {
	quantum := int64(2)
	s := build(t, config{QuantumFor: func(string) int64 { return quantum }})
	admit(t, s, "a", task{Payload: 1})
	take(t, s, 1)
	nothing(t, s)
	quantum = 9
	met, restore := once("E5 notify", func() { touch(s) })
	admit(t, s, "a", task{Payload: 2})
	restore()
	if tn, _ := s.tenants.Load("a"); !*met || tn.Quantum() != 9 || tn.Len() != 1 {
		t.Errorf("met %t: quantum %d with %d tasks, want 9 with 1", *met, tn.Quantum(), tn.Len())
	}
	take(t, s, 2)
}

// A polled tenant that becomes unpolled while a call gives up its slot is announced by that
// call: else no holder would ever drain the slot.
func TestSchedulesVoidOfUnpolledTenant(t *testing.T) {
	s := build(t, config{})
	tn := polled(t, s, "a", 1, 2)
	p := stopped(t, s, "a", task{Payload: 3})
	met, restore := once("void slot", func() {
		take(t, s, 1, 2)
		if tn.polled {
			t.Error("the tenant is polled: this test shows nothing")
		}
	})
	p.void()
	restore()
	touch(s)
	if head, tail := tn.taker.Head(), tailOf(tn.word.Load()); !*met || head != tail {
		t.Errorf("met %t: drained up to %d of %d", *met, head, tail)
	}
}

// A deadline is seen on its way from the inbox to the queue.
func TestSchedulesDueOnItsWay(t *testing.T) {
	for _, all := range []bool{false, true} {
		s := build(t, config{})
		tn := polled(t, s, "a", 1, 2)
		due := time.Now().Add(time.Hour)
		admit(t, s, "a", task{Payload: 3, Deadline: due})
		met, restore := once("due?", func() {
			sh := tn.shard
			sh.lock()
			sh.drainPolled()
			sh.unlock()
		})
		got := s.NextDueOf("a")
		if all {
			got = s.NextDue()
		}
		restore()
		if tn.Len() != 3 {
			t.Fatalf("%d tasks are in the queue: this test shows nothing", tn.Len())
		}
		if limit := s.shared.Clock.Now() + int64(time.Hour); !*met || got > limit {
			t.Errorf("all %t, met %t: nothing expires before %d, and a task does before %d", all, *met, got, limit)
		}
		take(t, s, 1, 2, 3)
	}
}

// A call that drains all inboxes of a shard takes over what they know of deadlines before it
// resets that, and resets it before it drains: what a producer publishes in between stays.
func TestSchedulesDrainPolledDue(t *testing.T) {
	s := build(t, config{})
	tn := polled(t, s, "a", 1, 2)
	sh := tn.shard
	admit(t, s, "a", task{Payload: 3, Deadline: time.Now().Add(time.Hour)})
	limit := s.shared.Clock.Now() + int64(time.Hour)
	var between int64
	met, restore := once("drain polled due", func() { between = s.NextDue() })
	sh.lock()
	sh.drainPolled()
	sh.unlock()
	restore()
	if !*met || between > limit {
		t.Errorf("met %t: nothing expires before %d, and a task does before %d", *met, between, limit)
	}

	admit(t, s, "a", task{Payload: 4, Deadline: time.Now().Add(time.Hour)})
	met, restore = once("drain all", func() { lower(&sh.boxDue, 7) })
	sh.lock()
	sh.drainPolled()
	sh.unlock()
	restore()
	if due := sh.boxDue.Load(); !*met || due != 7 {
		t.Errorf("met %t: what was said while inboxes were drained is forgotten: %d, want 7", *met, due)
	}
	take(t, s, 1, 2, 3, 4)
}

// When the next task expires is said before the lease is free: what the next holder says
// stays.
func TestSchedulesDueBeforeUnlock(t *testing.T) {
	s := build(t, config{})
	sh := s.shards[0]
	admit(t, s, "a", task{Payload: 1})
	limit := s.shared.Clock.Now() + 2*int64(time.Hour)
	met, restore := once("L4 draining?", func() {
		admit(t, s, "b", task{Payload: 2, Deadline: time.Now().Add(time.Hour)})
		touch(s)
	})
	touch(s)
	restore()
	if due := sh.due.Load(); !*met || due > limit {
		t.Errorf("met %t: nothing in the queue expires before %d, and a task does before %d", *met, due, limit)
	}
	take(t, s, 1, 2)
}

// A call that looks at the threshold while another call moves credits waits for that: those that are
// on their way are free, too.
func TestSchedulesThresholdWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // as many stripes
	s := build(t, config{MaxGlobal: 4, DynamicThreshold: 1})
	admit(t, s, "a", task{Payload: 1})
	take(t, s, 1)
	tn, _ := s.tenants.Load("a")
	if got := s.credit.TakeAt(1, 2); got != 2 {
		t.Fatalf("the second stripe has %d credits, want 2", got)
	}
	h := &onTheWay{arrives: make(chan struct{}), goes: make(chan struct{}), over: make(chan struct{})}
	restore := failpoint.Set(h)
	go func() {
		defer close(h.over)
		s.credit.TakeAt(1, 1) // moves one more
	}()
	<-h.arrives
	over := s.overThreshold(tn)
	restore()
	if over || !h.waited {
		t.Errorf("a tenant without a task is over the threshold while a credit is moved: %t; it waited: %t", over, h.waited)
	}
	h.goOn()
	<-h.over
	s.credit.GiveAt(1, 3)
}

// onTheWay holds up the call that moves credits until another one waits for that.
type onTheWay struct {
	arrives, goes, over chan struct{}
	met, waited         bool
}

func (h *onTheWay) At(point string) {
	if point == "credit arrive" && !h.met {
		h.met = true
		close(h.arrives)
		<-h.goes
	}
}

func (h *onTheWay) Stuck(point string) {
	if point == "threshold unsure" {
		h.waited = true
		h.goOn()
		<-h.over
	}
}

func (h *onTheWay) goOn() {
	select {
	case <-h.goes:
	default:
		close(h.goes)
	}
}

func (*onTheWay) Processor() (int, bool) { return 0, true }

// Of two deadlines that are noted at the same time the earlier one stays.
func TestSchedulesLowerTwice(t *testing.T) {
	var v atomic.Int64
	v.Store(100)
	met, restore := once("lower", func() { lower(&v, 10) })
	lower(&v, 20)
	restore()
	if !*met || v.Load() != 10 {
		t.Errorf("met %t: %d, want 10", *met, v.Load())
	}
}

// Whether some task goes before others is asked after the look at how far the ring goes:
// what was announced later than it is not taken in without its being seen.
func TestSchedulesEagerAfterTail(t *testing.T) {
	s := build(t, config{})
	polled(t, s, "a", 1, 2)
	met, restore := once("L1 tail", func() {
		admit(t, s, "a", task{Payload: 9, Priority: firq.PriorityCritical})
		admit(t, s, "b", task{Payload: 3})
	})
	var dst [4]firq.Item[string, int]
	n, err := s.DequeueBatch(t.Context(), dst[:])
	restore()
	first := 0
	for _, it := range dst[:n] {
		if it.Tenant == "a" && first == 0 {
			first = it.Payload
		}
	}
	if !*met || err != nil || n != 4 || first != 9 {
		t.Errorf("met %t: %d items, %v; the first of a is %d, want 9", *met, n, err, first)
	}
}

// A look at an inbox by an old announcement, which brings in nothing, forgets no deadline
// of what is in there.
func TestStaleDrainKeepsDue(t *testing.T) {
	s := build(t, config{})
	tn := polled(t, s, "a", 1, 2)
	admit(t, s, "a", task{Payload: 3, Deadline: time.Now().Add(time.Hour)})
	limit := s.shared.Clock.Now() + int64(time.Hour)
	tn.shard.lock()
	tn.shard.drain(tn, tn.taker.Head())
	tn.shard.unlock()
	if due := tn.boxDue.Load(); due > limit {
		t.Errorf("nothing in the inbox expires before %d, and a task does before %d", due, limit)
	}
	take(t, s, 1, 2, 3)
}
