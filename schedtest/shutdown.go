package schedtest

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Shutdown stops admitting and lets the backlog drain.
var shutdownChecks = []check{
	{name: "of an empty scheduler", run: shutdownEmpty},
	{name: "drains, then ErrClosed", run: sharded(shutdownDrains)},
	{name: "wakes parked consumers at the end", run: shutdownWakes},
	{name: "against racing enqueues", run: shutdownRace},
	{name: "ends with ctx, goes on draining", run: shutdownContext},
	{name: "interrupted by Close", run: shutdownClose},
	{name: "two together", run: shutdownTwice},
	{name: "with a context that is done, and nothing to wait for", run: shutdownIdleDone},
}

// shutting calls Shutdown in a goroutine.
func shutting(t *testing.T, s sched, ctx context.Context) <-chan error {
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(ctx) }()
	return stopped
}

// drained calls Shutdown, which must return nil.
func drained(t *testing.T, s sched, ctx context.Context) {
	t.Helper()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// shutdownIdleDone: with nothing to wait for, Shutdown returns nil even if ctx is done.
func shutdownIdleDone(t *testing.T, newSched maker) {
	for i := range 100 { // a choice at random would be right half of the time
		s := open(t, newSched, config{})
		if i%2 == 0 {
			load(t, s, "a", 1)
			take(t, s)
		}
		if err := s.Shutdown(canceled()); err != nil {
			t.Fatalf("Shutdown of an idle scheduler: %v, want nil", err)
		}
		if err := s.Shutdown(canceled()); err != nil {
			t.Fatalf("the second Shutdown: %v, want nil", err)
		}
	}
}

// refusing waits until a Shutdown in another goroutine has come into force.
func refusing(t *testing.T, s sched) {
	t.Helper()
	await(t, "Enqueue to answer ErrClosed", func() bool {
		err := s.Enqueue("probe", expired(0)) // until then it is admitted, and expires
		if err != nil && err != firq.ErrClosed {
			t.Fatalf("Enqueue: %v, want nil or ErrClosed", err)
		}
		return err == firq.ErrClosed
	})
}

// ended checks that a scheduler is empty and answers ErrClosed.
func ended(t *testing.T, s sched) {
	t.Helper()
	idle(t, s)
	length(t, s, 0)
	if _, err := s.Dequeue(patient(t)); err != firq.ErrClosed {
		t.Errorf("Dequeue: %v, want ErrClosed", err)
	}
	if n, err := s.DequeueBatch(patient(t), make([]item, 2)); n != 0 || err != firq.ErrClosed {
		t.Errorf("DequeueBatch: %d, %v, want 0, ErrClosed", n, err)
	}
	refuse(t, s, "a", task{}, firq.ErrClosed)
	if err := s.EnqueueWait(patient(t), "a", task{}); err != firq.ErrClosed {
		t.Errorf("EnqueueWait: %v, want ErrClosed", err)
	}
}

func shutdownEmpty(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	drained(t, s, patient(t))
	ended(t, s)
	used := open(t, newSched, config{})
	load(t, used, "a", 5)
	drain(t, used)
	drained(t, used, patient(t))
	ended(t, used)
}

func shutdownDrains(t *testing.T, newSched maker, shards int) {
	var log dropLog
	s := open(t, newSched, config{Shards: shards, OnDrop: log.onDrop})
	for i := range 100 {
		admit(t, s, "t"+strconv.Itoa(i%9), task{Payload: i})
	}
	stopped := shutting(t, s, patient(t))
	got := 0
	for {
		if _, err := s.Dequeue(patient(t)); err == firq.ErrClosed {
			break
		} else if err != nil {
			t.Fatalf("Dequeue after %d: %v", got, err)
		}
		if got++; got == 99 {
			select {
			case err := <-stopped:
				t.Errorf("Shutdown returned %v with a task queued", err)
			default:
			}
		}
		if got == 100 {
			gets(t, stopped, "the backlog is gone", nil)
		}
	}
	if got != 100 {
		t.Errorf("%d delivered, want 100", got)
	}
	ended(t, s)
	same(t, "drops", log.all(), "")
}

func shutdownWakes(t *testing.T, newSched maker) {
	for range reps(100) {
		s := open(t, newSched, config{Shards: 4})
		load(t, s, "a", 1)
		ctx := patient(t)
		var got atomic.Int64
		together(5, func(i int) {
			if i == 0 {
				drained(t, s, ctx)
				return
			}
			for {
				_, err := s.Dequeue(ctx)
				if err == firq.ErrClosed {
					return
				} else if err != nil {
					t.Errorf("Dequeue: %v", err)
					return
				}
				got.Add(1)
			}
		})
		if t.Failed() {
			return
		}
		if got.Load() != 1 {
			t.Fatalf("%d delivered, want 1", got.Load())
		}
	}
}

// shutdownRace: each accepted task is delivered, each other one got ErrClosed.
// The published failure is 4 in 119,000 trials, so there are many short ones.
func shutdownRace(t *testing.T, newSched maker) {
	const producers = 3
	for round := range reps(1500) {
		s := open(t, newSched, config{Shards: 1 << (round % 4), MaxPerTenant: 1 + round%50})
		ctx := patient(t)
		var in, out atomic.Int64
		together(producers+2, func(i int) {
			switch i {
			case producers:
				for in.Load() < int64(round%10) {
					runtime.Gosched()
				}
				if err := s.Shutdown(ctx); err != nil {
					t.Errorf("round %d: Shutdown: %v", round, err)
				}
			case producers + 1:
				for {
					_, err := s.Dequeue(ctx)
					if err != nil {
						if err != firq.ErrClosed {
							t.Errorf("round %d: Dequeue: %v", round, err)
						}
						return
					}
					out.Add(1)
				}
			default:
				for k := 0; ; k++ {
					err := s.Enqueue("t"+strconv.Itoa((i+k)%4), task{})
					if err == nil {
						in.Add(1)
					} else if err == firq.ErrClosed {
						return
					} else if !errors.Is(err, firq.ErrRejected) {
						t.Errorf("round %d: Enqueue: %v", round, err)
						return
					} else {
						runtime.Gosched()
					}
				}
			}
		})
		if t.Failed() {
			return
		}
		if in.Load() != out.Load() || s.Len() != 0 {
			t.Fatalf("round %d: %d accepted, %d delivered, Len is %d", round, in.Load(), out.Load(), s.Len())
		}
	}
}

func shutdownContext(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	load(t, s, "a", 3)
	ctx, stop := context.WithTimeout(context.Background(), time.Millisecond)
	defer stop()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Shutdown: %v, want context.DeadlineExceeded", err)
	}
	if err := s.Shutdown(canceled()); !errors.Is(err, context.Canceled) {
		t.Fatalf("Shutdown: %v, want context.Canceled", err)
	}
	refuse(t, s, "a", task{}, firq.ErrClosed)
	same(t, "still draining", drain(t, s), "a1 a2 a3")
	if err := s.Shutdown(patient(t)); err != nil {
		t.Errorf("Shutdown of a drained scheduler: %v", err)
	}
	ended(t, s)
}

func shutdownClose(t *testing.T, newSched maker) {
	var log dropLog
	s := open(t, newSched, config{Shards: 1, OnDrop: log.onDrop})
	load(t, s, "a", 2)
	stopped := shutting(t, s, patient(t))
	refusing(t, s)
	s.Close()
	gets(t, stopped, "Close", firq.ErrClosed)
	// The probes may be among them.
	if st := s.Stats(); st.Closed < 2 {
		t.Errorf("Closed is %d, want at least 2 (drops: %s)", st.Closed, log.all())
	}
}

func shutdownTwice(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	load(t, s, "a", 10)
	ctx := patient(t)
	first, second := shutting(t, s, ctx), shutting(t, s, ctx)
	refusing(t, s)
	drain(t, s)
	for _, stopped := range []<-chan error{first, second, shutting(t, s, ctx)} {
		gets(t, stopped, "the backlog is gone", nil)
	}
}
