package lockfree

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// The tests of this package step through interleavings: the test itself takes the steps
// of a producer, or of the holder of a lease, one by one, and does something else in
// between, as if the other had been stopped there by the operating system.

type (
	scheduler = Scheduler[string, int]
	config    = firq.Config[string, int]
	task      = firq.Task[int]
	item      = firq.Item[string, int]
)

// patience is how long a test waits for what has to happen; moment is how long it
// gives others the chance to do what must not.
const (
	patience = 5 * time.Second
	moment   = 3 * time.Millisecond
)

// patient returns a context that is done when the test is lost.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// past and ahead are deadlines; far is one that no test lives to see.
func past() time.Time  { return time.Now().Add(-time.Second) }
func ahead() time.Time { return time.Now().Add(5 * time.Millisecond) }
func far() time.Time   { return time.Now().Add(time.Hour) }

func build(t *testing.T, cfg config) *scheduler {
	t.Helper()
	return buildAt(t, cfg, 0)
}

// buildAt makes a scheduler whose tickets start with first. In the end everything
// has to be at rest.
func buildAt(t *testing.T, cfg config, first uint32) *scheduler {
	t.Helper()
	if cfg.Shards == 0 {
		cfg.Shards = 1
	}
	s, err := newAt(cfg, first, inboxSize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // calls may be stuck
		}
		if err := atRest(s); err != nil {
			t.Errorf("in the end: %v", err)
		}
		if s.life.State() != serve.Open {
			return // the test has looked at the end itself
		}
		s.Close()
		if err := atRest(s); err != nil || s.Len() != 0 {
			t.Errorf("after Close: %v, %d queued", err, s.Len())
		}
	})
	return s
}

// quietly runs f and returns what it panicked with.
func quietly(f func()) (recovered any) {
	defer func() { recovered = recover() }()
	f()
	return nil
}

// eachStart runs a test with tickets from 0, which use their slots; with those that
// may come alone; and so that they wrap early on.
func eachStart(t *testing.T, f func(t *testing.T, first uint32)) {
	for _, first := range []uint32{0, lendSize, 1<<ring.TicketBits - 3} {
		t.Run(fmt.Sprintf("first=%#x", first), func(t *testing.T) { f(t, first) })
	}
}

func admit(t *testing.T, s *scheduler, k string, tasks ...task) {
	t.Helper()
	for _, x := range tasks {
		if err := s.Enqueue(k, x); err != nil {
			t.Fatalf("Enqueue(%q, %d): %v", k, x.Payload, err)
		}
	}
}

func refuse(t *testing.T, s *scheduler, k string, want error) {
	t.Helper()
	if err := s.Enqueue(k, task{}); !errors.Is(err, want) {
		t.Fatalf("Enqueue(%q): %v, want %v", k, err, want)
	}
}

// take dequeues items that have to come next, and returns the last.
func take(t *testing.T, s *scheduler, want ...int) (it item) {
	t.Helper()
	for i, p := range want {
		var ok bool
		if it, ok = s.TryDequeue(); !ok || it.Payload != p {
			t.Fatalf("after %v: %q %d, %t; want %d", want[:i], it.Tenant, it.Payload, ok, p)
		}
	}
	return it
}

func nothing(t *testing.T, s *scheduler) {
	t.Helper()
	if it, ok := s.TryDequeue(); ok {
		t.Fatalf("dequeued %q %d, want nothing", it.Tenant, it.Payload)
	}
}

// touch takes each lease once, as any call that needs one does.
func touch(s *scheduler) {
	for _, sh := range s.shards {
		sh.lock()
		sh.unlock()
	}
}

// polled makes a tenant polled: it gets two tasks that are drained.
func polled(t *testing.T, s *scheduler, k string, payloads ...int) *tenant[string, int] {
	t.Helper()
	for _, p := range payloads {
		admit(t, s, k, task{Payload: p})
	}
	touch(s)
	tn, _ := s.tenants.Load(k)
	if !tn.polled || tn.word.Load()&polledBit == 0 {
		t.Fatalf("%s is unpolled with %d tasks", k, tn.Len())
	}
	return tn
}

// producer is a call of Enqueue that was stopped on its way; see admit for the
// steps.
type producer struct {
	s      *scheduler
	t      *tenant[string, int]
	word   uint64 // that the ticket was drawn from
	ticket uint32
	task   drr.Task[int]
}

// stopped returns a producer that was stopped after E1: it has a ticket, and a
// place of the tenant.
func stopped(t *testing.T, s *scheduler, k string, x task) *producer {
	t.Helper()
	tn, err := s.lookUp(k, nil)
	if err != nil {
		t.Fatal(err)
	}
	word, _, took := tn.reserve(1)
	if took != ticketTaken {
		t.Fatalf("no ticket: %d", took)
	}
	if x.Ticket != nil && !x.Ticket.Acquire(&tn.Ticket) {
		t.Fatal("the ticket is in use")
	}
	return &producer{s, tn, word, tailOf(word), mustTask(t, s, x)}
}

// charge does E2 and E3.
func (p *producer) charge() error {
	_, err := p.s.takeCredit(1, 0)
	return err
}

// put does E4 and stops before E5.
func (p *producer) put() {
	p.t.deadline(p.task.Due)
	if p.task.Due != drr.NoDeadline {
		p.s.sawDeadline()
	}
	p.t.inbox.Load().Put(p.ticket, &p.task)
	p.t.inbox.Load().Publish(p.ticket)
}

// announce does the rest after put.
func (p *producer) announce() {
	if p.t.word.Load()&polledBit == 0 {
		p.t.shard.announce(p.t, p.ticket)
	}
}

// put publishes a value in the slot of a ticket.
func put[V any](s *ring.Slots[V], ticket uint32, v V) {
	*s.Slot(ticket) = v
	s.Publish(ticket)
}

// push puts a value into a ring; false: it is full.
func push[V any](r *ring.MPSC[V], v V) bool {
	ticket, ok := r.Draw()
	if ok {
		put(&r.Slots, ticket, v)
	}
	return ok
}

// publish does E4 to E6.
func (p *producer) publish() {
	p.s.publish(p.t, p.word, &p.task)
}

// inTurn returns in which order the task of a stopped call is served, and one that
// was announced before it was published: by their tickets, if both are in the
// inbox when it is drained.
func inTurn(p *producer, late, announced int) []int {
	if piggybacks(p.word) {
		return []int{announced, late}
	}
	return []int{late, announced}
}

// void gives up for want of a credit.
func (p *producer) void() {
	if p.task.Ticket != nil {
		p.task.Ticket.Abandon()
	}
	p.s.publishVoid(p.t, p.ticket, 1)
}

// published is a producer that was stopped between E4 and E5.
func published(t *testing.T, s *scheduler, k string, x task) *producer {
	t.Helper()
	p := stopped(t, s, k, x)
	if err := p.charge(); err != nil {
		t.Fatal(err)
	}
	p.put()
	return p
}

// private returns a private atomic field of another package's type, for steps of
// that package which a test cannot stop otherwise.
func private[A any](t *testing.T, of any, field string) *A {
	t.Helper()
	f := reflect.ValueOf(of).Elem().FieldByName(field)
	if !f.IsValid() || f.Type() != reflect.TypeFor[A]() {
		t.Fatalf("%T has no field %s of the type that this test knows", of, field)
	}
	return (*A)(unsafe.Pointer(f.UnsafeAddr()))
}

// reserve draws the next ticket of a shard's activation ring, and leaves a hole:
// a producer that was stopped inside Push.
func reserve(t *testing.T, sh *shard[string, int]) (ticket uint32) {
	t.Helper()
	ticket = sh.activations.Tail()
	private[atomic.Uint32](t, &sh.activations, "tail").Add(1)
	if sh.activations.Room(ticket) <= 0 {
		t.Fatal("the activation ring is full")
	}
	return ticket
}

// stopMover is a producer that was stopped while it moved credits from stripe to
// stripe. As long as it stands there, no call reports that there are none.
func stopMover(t *testing.T, s *scheduler) (goOn func()) {
	t.Helper()
	moving := private[atomic.Int32](t, s.credit, "moving")
	moving.Add(1)
	return func() { moving.Add(-1) }
}

// start runs f in its own goroutine; the result comes from the channel.
func start[R any](f func() R) <-chan R {
	done := make(chan R, 1)
	go func() { done <- f() }()
	return done
}

// result waits for what start started.
func result[R any](t *testing.T, what string, done <-chan R) R {
	t.Helper()
	select {
	case r := <-done:
		return r
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
		panic("unreachable")
	}
}

// waits fails if the call returns within a moment.
func waits[R any](t *testing.T, what string, done <-chan R) {
	t.Helper()
	for end := time.Now().Add(moment); time.Now().Before(end); runtime.Gosched() {
		select {
		case r := <-done:
			t.Fatalf("%s did not wait: %v", what, r)
		default:
		}
	}
}

// until waits for a state that others bring about.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// mustTask is what Enqueue makes of a task.
func mustTask(t *testing.T, s *scheduler, x task) drr.Task[int] {
	t.Helper()
	var d drr.Task[int]
	if err := s.shared.Task(&d, &x, s.shared.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	return d
}
