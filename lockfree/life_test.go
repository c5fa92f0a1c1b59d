package lockfree

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/serve"
)

// draining starts a Shutdown that has something to wait for.
func draining(t *testing.T, s *scheduler) <-chan error {
	t.Helper()
	ctx := patient(t)
	shutdown := start(func() error { return s.Shutdown(ctx) })
	until(t, "Shutdown", func() bool { return s.life.State() != serve.Open })
	waits(t, "Shutdown", shutdown)
	return shutdown
}

// E3 against Shutdown: a producer that took its credit before the state changed
// is refused, and gives the credit back; Shutdown waits for that.
func TestShutdownBetweenE2AndE3(t *testing.T) {
	s := build(t, config{})
	p := stopped(t, s, "a", task{Payload: 1})
	if !s.credit.Take() { // E2
		t.Fatal("no credit")
	}
	shutdown := draining(t, s)
	s.credit.Give(1) // E3: takeCredit starts over
	if err := p.charge(); !errors.Is(err, firq.ErrClosed) {
		t.Errorf("E3 while draining: %v", err)
	}
	p.void()
	if err := result(t, "Shutdown", shutdown); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	nothing(t, s)
}

// A producer that passed E3 before Shutdown gets in, and its task is waited for.
func TestShutdownAfterE3(t *testing.T) {
	s := build(t, config{})
	p := stopped(t, s, "a", task{Payload: 1})
	if err := p.charge(); err != nil {
		t.Fatal(err)
	}
	shutdown := draining(t, s)
	nothing(t, s)
	p.publish()
	waits(t, "Shutdown", shutdown)
	take(t, s, 1)
	if err := result(t, "Shutdown", shutdown); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	refuse(t, s, "a", firq.ErrClosed)
}

// E6: a task that is published after Close has swept the shard, by a producer
// that passed E3 before, is swept too, once, and not delivered.
func TestPublishedAfterClose(t *testing.T) {
	for _, wasPolled := range []bool{false, true} {
		eachStart(t, func(t *testing.T, first uint32) {
			var dropped []int
			s := buildAt(t, config{OnDrop: func(_ string, p int, why firq.DropReason) {
				if why != firq.DropClosed {
					t.Errorf("%d: %v", p, why)
				}
				dropped = append(dropped, p)
			}}, first)
			want := []int{3, 4}
			if wasPolled {
				polled(t, s, "a", 1, 2)
				want = []int{1, 2, 3, 4}
			}
			calls := []*producer{stopped(t, s, "a", task{Payload: 3}), stopped(t, s, "a", task{Payload: 4})}
			for _, p := range calls {
				if err := p.charge(); err != nil {
					t.Fatal(err)
				}
			}
			s.Close()
			for _, p := range calls {
				p.publish()
			}
			if slices.Sort(dropped); !slices.Equal(dropped, want) {
				t.Errorf("OnDrop was told %v, want %v", dropped, want)
			}
			nothing(t, s)
			if st := s.Stats(); st.Closed != uint64(len(want)) || st.Enqueued != st.Closed || st.QueueLen != 0 {
				t.Errorf("Enqueued %d, Closed %d, QueueLen %d; want %d, all closed", st.Enqueued, st.Closed, st.QueueLen, len(want))
			}
		})
	}
}

// Close drops what is in the inbox of a polled tenant, too, without another call.
func TestCloseLooksIntoInboxes(t *testing.T) {
	var dropped []int
	s := build(t, config{OnDrop: func(_ string, p int, _ firq.DropReason) { dropped = append(dropped, p) }})
	polled(t, s, "a", 1, 2)
	admit(t, s, "a", task{Payload: 3}, task{Payload: 4})
	s.Close()
	if want := []int{1, 2, 3, 4}; !slices.Equal(dropped, want) || s.Len() != 0 {
		t.Errorf("OnDrop was told %v, want %v; %d left", dropped, want, s.Len())
	}
}

// Between its publishing and its sweep such a task is in sight. Consumers do not
// take it, nor spin.
func TestConsumerAfterClose(t *testing.T) {
	s := build(t, config{})
	p := stopped(t, s, "a", task{})
	if err := p.charge(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	p.put()
	p.announce()
	ctx := patient(t)
	got := start(func() error {
		if _, ok := s.TryDequeue(); ok {
			t.Error("delivered after Close")
		}
		_, err := s.Dequeue(ctx)
		return err
	})
	if err := result(t, "Dequeue", got); !errors.Is(err, firq.ErrClosed) {
		t.Errorf("Dequeue: %v", err)
	}
	p.t.shard.discardAll()
}

// A consumer that holds a lease when Close comes delivers nothing that it has not
// yet taken, and the next holder of the lease looks at the state.
func TestCloseAgainstLease(t *testing.T) {
	s := build(t, config{})
	sh := s.shards[0]
	admit(t, s, "a", task{})
	sh.lease.Lock() // takeSome, before serve
	closed := start(s.Close)
	until(t, "the state", s.life.Over)
	var dst [1]item
	if n := sh.serve(dst[:], 0, 0, s.shared.Clock.Now()); n != 0 {
		t.Error("delivered after Close")
	}
	if err := result(t, "Close", closed); err != nil {
		t.Error(err)
	}
}

// OnDrop panics in a consumer that was woken: the consumer is no longer on its
// way, and the next task wakes another one.
func TestPanicOfWokenConsumer(t *testing.T) {
	var armed atomic.Bool
	s := build(t, config{OnDrop: func(string, int, firq.DropReason) {
		if armed.CompareAndSwap(true, false) {
			panic("OnDrop")
		}
	}})
	ctx := patient(t)
	first := start(func() any { return quietly(func() { _, _ = s.Dequeue(ctx) }) })
	until(t, "a consumer asleep", func() bool { return s.parker.Parked() == 1 })
	armed.Store(true)
	admit(t, s, "a", task{Deadline: past()})
	if recovered := result(t, "Dequeue", first); recovered != "OnDrop" {
		t.Fatalf("recovered %v", recovered)
	}
	second := start(func() error { _, err := s.Dequeue(ctx); return err })
	until(t, "another consumer asleep", func() bool { return s.parker.Parked() == 1 })
	admit(t, s, "a", task{})
	if err := result(t, "Dequeue", second); err != nil {
		t.Errorf("asleep while there is a task: %v", err)
	}
}

// OnDrop panics in Close: every sleeper is woken nevertheless.
func TestPanicInClose(t *testing.T) {
	s := build(t, config{MaxGlobal: 2, MaxInFlightPerTenant: 1, OnDrop: func(string, int, firq.DropReason) { panic("OnDrop") }})
	admit(t, s, "a", task{}, task{})
	take(t, s, 0)
	admit(t, s, "a", task{})
	ctx := patient(t)
	consumer := start(func() error { _, err := s.Dequeue(ctx); return err })
	producer := start(func() error { return s.EnqueueWait(ctx, "b", task{}) })
	until(t, "both asleep", func() bool { return s.parker.Parked() == 1 && s.shared.Waiters.Waiting() })
	if recovered := quietly(func() { s.Close() }); recovered != "OnDrop" {
		t.Errorf("recovered %v", recovered)
	}
	for what, done := range map[string]<-chan error{"Dequeue": consumer, "EnqueueWait": producer} {
		if err := result(t, what, done); !errors.Is(err, firq.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Shutdown(context.Background()); !errors.Is(err, firq.ErrClosed) {
		t.Errorf("Shutdown: %v", err)
	}
}

// DropOldest that finds the scheduler closed, or draining, when it comes to evict, admits
// nothing.
func TestReplaceLooksAtTheState(t *testing.T) {
	s := build(t, config{MaxPerTenant: 1, Backpressure: firq.Backpressure{Policy: firq.DropOldest}})
	admit(t, s, "a", task{Payload: 1})
	tn, _ := s.tenants.Load("a")
	d := mustTask(t, s, task{Payload: 2})
	shutdown := draining(t, s)
	sh := tn.shard
	sh.lock()
	sh.drainAll(tn)
	sh.flush()
	done, ok, err := sh.replace(tn, &d, false)
	sh.unlock()
	if !done || ok || err != firq.ErrClosed {
		t.Errorf("replace: %t, %t, %v; want done, with ErrClosed", done, ok, err)
	}
	take(t, s, 1)
	if err := <-shutdown; err != nil {
		t.Error(err)
	}
}
