package serve

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
)

// Every field arrives, and every zero value becomes its default.
func TestTask(t *testing.T) {
	e := newShared(t, config{})
	var tk firq.Ticket
	deadline := time.Now().Add(time.Hour)
	full := firq.Task[int]{Payload: 7, Cost: 9, Priority: firq.PriorityCritical, Deadline: deadline, Ticket: &tk}
	var d drr.Task[int]
	if err := e.Task(&d, &full, 123); err != nil {
		t.Fatal(err)
	}
	if d.Payload != 7 || d.Cost != 9 || d.Priority != firq.PriorityCritical || d.Ticket != &tk || d.Enqueued != 123 {
		t.Errorf("%+v", d)
	}
	if !e.Clock.Time(d.Due).Equal(deadline) {
		t.Errorf("due at %v, want %v", e.Clock.Time(d.Due), deadline)
	}
	if !tk.Acquire(new(firq.TicketOwner)) {
		t.Error("the ticket was acquired on the way")
	}
	if err := e.Task(&d, new(firq.Task[int]), 5); err != nil {
		t.Fatal(err)
	}
	if d.Cost != 1 || d.Priority != firq.PriorityNormal || d.Due != clock.Never || d.Ticket != nil || d.Enqueued != 5 {
		t.Errorf("zero task: %+v", d)
	}
}

func TestInvalidTask(t *testing.T) {
	e := newShared(t, config{})
	for _, task := range []firq.Task[int]{{Cost: -1}, {Cost: math.MinInt64}, {Priority: firq.PriorityCritical + 1}, {Priority: 255}} {
		if err := e.Task(new(drr.Task[int]), &task, 0); !errors.Is(err, firq.ErrInvalidTask) {
			t.Errorf("%+v: %v", task, err)
		}
	}
}

// A deadline comes before MaxQueueAge, even a later one; no sum of the two
// overflows.
func TestDue(t *testing.T) {
	const age = 10 * time.Second
	plain, aged := newShared(t, config{}), newShared(t, config{MaxQueueAge: age})
	far := firq.Task[int]{Deadline: time.Now().Add(time.Hour)}
	past := firq.Task[int]{Deadline: time.Now().Add(-time.Hour)}
	never := firq.Task[int]{Deadline: time.Now().AddDate(300, 0, 0)}
	none := new(firq.Task[int])
	for _, x := range []struct {
		what string
		e    *shared
		task *firq.Task[int]
		now  int64
		want int64
	}{
		{"no deadline, no age", plain, none, 1, clock.Never},
		{"no deadline, an age", aged, none, 1, 1 + int64(age)},
		{"a deadline, no age", plain, &far, 1, plain.Clock.Due(far.Deadline)},
		{"a deadline beyond the age", aged, &far, 1, aged.Clock.Due(far.Deadline)},
		{"a deadline in the past", aged, &past, 1, aged.Clock.Due(past.Deadline)},
		{"a deadline in 300 years", aged, &never, 1, clock.Never},
		{"the age just fits", aged, none, clock.Never - int64(age), clock.Never},
		{"the age does not fit", aged, none, clock.Never - int64(age) + 1, clock.Never},
	} {
		var d drr.Task[int]
		if err := x.e.Task(&d, x.task, x.now); err != nil || d.Due != x.want {
			t.Errorf("%s: due at %d, %v, want %d", x.what, d.Due, err, x.want)
		}
	}
}

func TestQuantum(t *testing.T) {
	e := newShared(t, config{Quantum: 3})
	if e.Ask("a").Quantum != 3 || e.Override("a", 8) != 8 {
		t.Error("every tenant has Config.Quantum at first")
	}
	e.SetQuantum("a", 5)
	if e.Ask("a").Quantum != 3 || e.Override("a", 8) != 5 || e.Override("b", 8) != 8 {
		t.Error("the override does not hold for its tenant alone")
	}
	if got := e.ResetQuantum("a"); got != 3 || e.Override("a", 8) != 8 {
		t.Errorf("after Reset: %d, %d", got, e.Override("a", 8))
	}
	e = newShared(t, config{Quantum: 3, QuantumFor: func(k string) int64 { return int64(len(k)) }})
	e.SetQuantum("aa", 9)
	if e.Override("aa", 8) != 9 || e.Ask("bbbb").Quantum != 4 || e.ResetQuantum("aa") != 2 {
		t.Error("what QuantumFor says is not what holds without an override")
	}
}

func TestOverThreshold(t *testing.T) {
	if e := newShared(t, config{}); e.OverThreshold(100, 0) {
		t.Error("over a threshold that is off")
	}
	e := newShared(t, config{DynamicThreshold: 0.5})
	for _, x := range []struct {
		held, free int
		want       bool
	}{{0, 1, false}, {4, 10, false}, {5, 10, true}, {6, 10, true}, {1, 1, true}} {
		if got := e.OverThreshold(x.held, x.free); got != x.want {
			t.Errorf("%d held, %d free: %t", x.held, x.free, got)
		}
	}
}
