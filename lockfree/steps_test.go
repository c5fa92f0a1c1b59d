package lockfree

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/serve"
)

// The tests of this package step through interleavings: the test itself takes the steps
// of a producer, or of the holder of a lock, one by one, and does something else in
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

// past and ahead are deadlines; far is one that no test lives to see.
func past() time.Time  { return time.Now().Add(-time.Second) }
func ahead() time.Time { return time.Now().Add(5 * time.Millisecond) }
func far() time.Time   { return time.Now().Add(time.Hour) }

// build makes a scheduler. In the end everything has to be at rest.
func build(t *testing.T, cfg config) *scheduler {
	t.Helper()
	if cfg.Shards == 0 {
		cfg.Shards = 1
	}
	s, err := New(cfg)
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

// touch takes each lock once, as any call that needs one does.
func touch(s *scheduler) {
	for _, sh := range s.shards {
		sh.lock()
		sh.unlock()
	}
}

// crowd makes the scheduler believe that goroutines meet at its shards, for an hour.
func (s *Scheduler[K, T]) crowd() {
	for _, sh := range s.shards {
		sh.contention.at.Store(s.shared.Clock.Now() + int64(time.Hour))
	}
}

// uncontended makes it forget that goroutines have met.
func (s *Scheduler[K, T]) uncontended() {
	for _, sh := range s.shards {
		sh.contention.at.Store(never)
	}
}

// laneOf gives a tenant tasks, at least two, so that it has an open lane. The scheduler is crowded.
func laneOf(t *testing.T, s *scheduler, k string, payloads ...int) *tenant[string, int] {
	t.Helper()
	for _, p := range payloads {
		admit(t, s, k, task{Payload: p})
	}
	touch(s)
	tn, _ := s.tenants.Load(k)
	if tn.laned == noLane || !tn.load().open() {
		t.Fatalf("%s has no lane with %d tasks", k, tn.Len())
	}
	return tn
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
