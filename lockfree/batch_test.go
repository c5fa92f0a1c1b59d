package lockfree

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// tasks returns n tasks with payloads counting from first.
func tasks(first, n int) []task {
	ts := make([]task, n)
	for i := range ts {
		ts[i].Payload = first + i
	}
	return ts
}

// count returns n payloads counting from first.
func count(first, n int) []int {
	ps := make([]int, n)
	for i := range ps {
		ps[i] = first + i
	}
	return ps
}

// idle makes a tenant known that has nothing queued.
func idle(t *testing.T, s *scheduler, k string) *tenant[string, int] {
	t.Helper()
	tn, err := s.lookUp(k, nil)
	if err != nil {
		t.Fatal(err)
	}
	tn.shard.lock()
	tn.shard.register(tn)
	tn.shard.unlock()
	return tn
}

func batched(t *testing.T, s *scheduler, k string, want int, why error, ts ...task) {
	t.Helper()
	if n, err := s.EnqueueBatch(k, ts); n != want || !errors.Is(err, why) {
		t.Fatalf("EnqueueBatch(%q) of %d: %d, %v; want %d, %v", k, len(ts), n, err, want, why)
	}
}

// Tasks that there are slots for are announced together, but for a new tenant's first one,
// which comes alone; and all come in order.
func TestBatch(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		for _, n := range []int{0, 1, 2, inboxSize, inboxSize + 1, batchSize, batchSize + 1, lendSize, lendSize + 1, 3*lendSize + 5} {
			for _, known := range []bool{true, false} {
				s := buildAt(t, config{}, first)
				announced := min(n, 1)
				if known {
					idle(t, s, "a")
				} else {
					announced = min(n, 2)
				}
				tail := s.shards[0].activations.Tail()
				batched(t, s, "a", n, nil, tasks(0, n)...)
				if got := ring.Distance(s.shards[0].activations.Tail(), tail); n <= inboxSize && got != announced {
					t.Errorf("%d tasks, known %t: announced %d times, want %d", n, known, got, announced)
				}
				if tn, _ := s.tenants.Load("a"); tn != nil && n <= inboxSize {
					if used := usedIn(tn.word.Load()); int(used) != n {
						t.Errorf("%d tasks, known %t: %d slots are in use", n, known, used)
					}
				}
				if touch(s); known && n <= inboxSize { // one look brings in all
					if tn, _ := s.tenants.Load("a"); tn.Len() != n {
						t.Errorf("%d tasks: %d are in the queue", n, tn.Len())
					}
				}
				take(t, s, count(0, n)...)
				nothing(t, s)
				if st := s.Stats(); int(st.Enqueued) != n || int(st.Dequeued) != n {
					t.Errorf("%d tasks: Enqueued %d, Dequeued %d", n, st.Enqueued, st.Dequeued)
				}
			}
		}
	})
}

// With the inbox full, behind a hole or not, the others go under the lease, one by
// one, and stay in order.
func TestBatchBehindFullInbox(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		for _, hole := range []bool{false, true} {
			s := buildAt(t, config{}, first)
			tn := polled(t, s, "a", 0, 1)
			var p *producer
			admitted := 2
			if hole {
				p = stopped(t, s, "a", task{Payload: -1})
				if err := p.charge(); err != nil {
					t.Fatal(err)
				}
			}
			for usedIn(tn.word.Load()) < inboxSize-1 {
				admit(t, s, "a", task{Payload: admitted})
				admitted++
			}
			batched(t, s, "a", 100, nil, tasks(admitted, 100)...)
			batched(t, s, "a", 40, nil, tasks(admitted+100, 40)...)
			take(t, s, count(0, admitted+140)...)
			if hole {
				p.publish()
				take(t, s, -1)
			}
			nothing(t, s)
		}
	})
}

// A batch gets as many places as there are, exactly, whichever limit it is.
func TestBatchLimits(t *testing.T) {
	for _, x := range []struct {
		what                     string
		global, tenant           int // limits
		others, own, batch, want int
		err                      error
	}{
		{"the tenant", 100, 10, 3, 0, 40, 10, firq.ErrTenantFull},
		{"the tenant, exactly", 100, 10, 3, 2, 8, 8, nil},
		{"the tenant has some", 100, 10, 0, 7, 5, 3, firq.ErrTenantFull},
		{"the tenant is full", 100, 4, 0, 4, 5, 0, firq.ErrTenantFull},
		{"all", 10, 10, 4, 0, 10, 6, firq.ErrGlobalFull},
		{"all, exactly", 50, 50, 4, 3, 43, 43, nil},
		{"all, and some more than a message", 50, 50, 4, 3, 60, 43, firq.ErrGlobalFull},
		{"all are out", 10, 10, 10, 0, 5, 0, firq.ErrGlobalFull},
		{"more than a message", 1000, 40, 1, 1, 60, 39, firq.ErrTenantFull},
	} {
		t.Run(x.what, func(t *testing.T) {
			for _, isPolled := range []bool{false, true} {
				s := build(t, config{MaxGlobal: x.global, MaxPerTenant: x.tenant})
				idle(t, s, "a")
				for i := range x.others {
					admit(t, s, "b", task{Payload: -1 - i})
				}
				for i := range x.own {
					admit(t, s, "a", task{Payload: i})
				}
				if isPolled {
					touch(s)
				}
				for again := range 3 { // nothing is lost on the way
					n, err := s.EnqueueBatch("a", tasks(x.own, x.batch))
					if n != x.want || !errors.Is(err, x.err) {
						t.Fatalf("EnqueueBatch, time %d: %d, %v; want %d, %v", again+1, n, err, x.want, x.err)
					}
					if out := s.Len(); out != x.others+x.own+n {
						t.Errorf("Len = %d, want %d", out, x.others+x.own+n)
					}
					if err := atRest(s); err != nil {
						t.Error(err)
					}
					got := 0
					for got < n+x.own {
						it, ok := s.TryDequeue()
						if !ok {
							t.Fatalf("%d of %d come out", got, n+x.own)
						}
						if it.Tenant == "b" {
							admit(t, s, "b", task{Payload: it.Payload})
							continue
						}
						if it.Payload != got {
							t.Fatalf("%d after %d", it.Payload, got-1)
						}
						got++
					}
					for i := range x.own {
						admit(t, s, "a", task{Payload: i})
					}
				}
			}
		})
	}
}

// asked builds a scheduler that calls back between a batch's first look and E1.
func asked(t *testing.T, cfg config, meanwhile func(s *scheduler)) *scheduler {
	t.Helper()
	var s *scheduler
	called := false
	cfg.QuantumFor = func(string) int64 {
		if s != nil && !called {
			called = true
			meanwhile(s)
		}
		return 1
	}
	built := build(t, cfg)
	idle(t, built, "a")
	s = built
	return s
}

// A batch that has its ticket and finds no credit gives back all of its places.
func TestBatchVoid(t *testing.T) {
	var giveBack func()
	s := asked(t, config{MaxPerTenant: 8}, func(s *scheduler) { giveBack = exhaust(s) })
	batched(t, s, "a", 0, firq.ErrGlobalFull, tasks(0, 5)...)
	giveBack()
	if err := atRest(s); err != nil {
		t.Error(err)
	}
	batched(t, s, "a", 8, firq.ErrTenantFull, tasks(0, 9)...)
	take(t, s, count(0, 8)...)
	nothing(t, s)
}

// After Close, or Shutdown, nothing is taken in, also when that comes after the
// first look: credits and places are back.
func TestBatchAfterClose(t *testing.T) {
	for _, x := range []struct {
		what string
		stop func(s *scheduler)
	}{
		{"Close", func(s *scheduler) { s.Close() }},
		{"Shutdown", func(s *scheduler) { go s.Shutdown(t.Context()); runtime.Gosched() }},
	} {
		s := asked(t, config{}, func(s *scheduler) {
			x.stop(s)
			for s.life.State() == 0 {
				runtime.Gosched()
			}
		})
		batched(t, s, "a", 0, firq.ErrClosed, tasks(0, 5)...)
		batched(t, s, "a", 0, firq.ErrClosed, tasks(0, 5)...)
		if free, sure := s.credit.Free(); free != s.shared.Config.MaxGlobal || !sure {
			t.Errorf("after %s %d credits are out", x.what, s.shared.Config.MaxGlobal-free)
		}
		if tn, _ := s.tenants.Load("a"); tn.held(tn.word.Load()) != 0 {
			t.Errorf("after %s %d places are taken", x.what, tn.held(tn.word.Load()))
		}
	}
}

// A task with a ticket goes alone, in its turn, and can be cancelled. One whose
// ticket is in use ends the batch.
func TestBatchTickets(t *testing.T) {
	s := build(t, config{})
	idle(t, s, "a")
	var tk firq.Ticket
	ts := tasks(0, 40)
	ts[20].Ticket = &tk
	batched(t, s, "a", 40, nil, ts...)
	again := tasks(100, 5)
	again[3].Ticket = &tk
	batched(t, s, "a", 3, firq.ErrInvalidTask, again...)
	if !tk.Cancel() || tk.Cancel() {
		t.Error("the task with the ticket has to be cancelled, once")
	}
	again = tasks(103, 3)
	again[2].Ticket = &tk
	batched(t, s, "a", 3, nil, again...)
	take(t, s, count(0, 20)...)
	take(t, s, count(21, 19)...)
	take(t, s, count(100, 6)...)
	nothing(t, s)
}

// What is before an invalid task is taken in.
func TestBatchInvalid(t *testing.T) {
	for at := range 5 {
		for _, bad := range []task{{Cost: -1}, {Priority: firq.PriorityCritical + 1}} {
			s := build(t, config{})
			idle(t, s, "a")
			ts := tasks(0, 5)
			ts[at] = bad
			batched(t, s, "a", at, firq.ErrInvalidTask, ts...)
			take(t, s, count(0, at)...)
			nothing(t, s)
		}
	}
}

// With a threshold a batch gets as much as its tasks would one by one.
func TestBatchThreshold(t *testing.T) {
	for _, global := range []int{4, 9, 60} {
		cfg := config{MaxGlobal: global, DynamicThreshold: 1}
		single, s := build(t, cfg), build(t, cfg)
		idle(t, s, "a")
		want, err := 0, error(nil)
		for ; err == nil; want++ {
			err = single.Enqueue("a", task{})
		}
		batched(t, s, "a", want-1, firq.ErrTenantThreshold, tasks(0, global)...)
	}
}

// An idle tenant gets the quantum that QuantumFor says for the batch.
func TestBatchQuantum(t *testing.T) {
	quantum := int64(2)
	s := build(t, config{QuantumFor: func(string) int64 { return quantum }})
	tn := idle(t, s, "a")
	for ; quantum < 6; quantum++ {
		batched(t, s, "a", 3, nil, tasks(0, 3)...)
		touch(s)
		if tn.Quantum() != quantum {
			t.Errorf("quantum %d, want %d", tn.Quantum(), quantum)
		}
		take(t, s, 0, 1, 2)
		nothing(t, s)
	}
}

// Whichever task of a batch has expired, it makes room for others, also while it
// is in the inbox of a polled tenant.
func TestBatchDeadlines(t *testing.T) {
	for at := range 3 {
		for _, by := range []string{"a", "b"} {
			s := build(t, config{MaxGlobal: 5, MaxPerTenant: 5})
			polled(t, s, "a", 0, 1)
			ts := tasks(2, 3)
			ts[at].Deadline = past()
			batched(t, s, "a", 3, nil, ts...)
			admit(t, s, by, task{Payload: 9})
			if st := s.Stats(); st.Expired != 1 {
				t.Errorf("task %d: Expired %d; want 1", at, st.Expired)
			}
		}
	}
	s := build(t, config{MaxQueueAge: time.Nanosecond})
	batched(t, s, "a", 40, nil, tasks(0, 40)...)
	time.Sleep(time.Millisecond)
	nothing(t, s)
	if st := s.Stats(); st.Expired != 40 {
		t.Errorf("Expired %d, want 40", st.Expired)
	}
}

// The most urgent task goes first, though it came in the middle of a batch, to a
// tenant that had others.
func TestBatchPriorities(t *testing.T) {
	s := build(t, config{})
	polled(t, s, "a", 0, 1, 2)
	ts := tasks(3, 3)
	ts[1].Priority = firq.PriorityHigh
	batched(t, s, "a", 3, nil, ts...)
	take(t, s, 4, 0, 1, 2, 3, 5)
	nothing(t, s)
}
