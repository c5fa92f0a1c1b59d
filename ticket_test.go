package firq_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// fakeQueue is the smallest honest owner of tickets: a lock and the tasks that
// are queued.
type fakeQueue struct {
	owner  firq.TicketOwner
	mu     sync.Mutex
	queued map[*firq.Ticket]int
	calls  int
}

func newFakeQueue() *fakeQueue {
	q := &fakeQueue{queued: map[*firq.Ticket]int{}}
	q.owner.Canceler = q
	return q
}

// put queues n under tk, as Enqueue does; false: the ticket is in use.
func (q *fakeQueue) put(tk *firq.Ticket, n int) bool {
	if !tk.Acquire(&q.owner) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queued[tk] = n
	tk.SetPlace(n)
	return true
}

// take ends the task of tk if it is queued here.
func (q *fakeQueue) take(tk *firq.Ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, ok := q.queued[tk]
	if !ok || tk.Place(&q.owner) != n {
		return false
	}
	delete(q.queued, tk)
	tk.Release()
	return true
}

func (q *fakeQueue) CancelTicket(tk *firq.Ticket) bool {
	q.mu.Lock()
	q.calls++
	q.mu.Unlock()
	return q.take(tk)
}

func TestTicketStates(t *testing.T) {
	var tk firq.Ticket
	var a, b firq.TicketOwner
	step := func(name string, inA, inB any) {
		t.Helper()
		if tk.Place(&a) != inA || tk.Place(&b) != inB {
			t.Errorf("%s: place in a %v, in b %v; want %v, %v", name, tk.Place(&a), tk.Place(&b), inA, inB)
		}
	}
	step("zero value", nil, nil)
	if !tk.Acquire(&a) {
		t.Fatal("a free ticket was not acquired")
	}
	step("acquired", nil, nil)
	if tk.Acquire(&a) || tk.Acquire(&b) {
		t.Error("a ticket in use was acquired again")
	}
	tk.SetPlace("slot 7")
	step("placed", "slot 7", nil)
	tk.Release()
	step("released", nil, nil)
	if !tk.Acquire(&b) {
		t.Fatal("a ticket did not serve again")
	}
	step("acquired again", nil, nil)
	tk.Abandon()
	if !tk.Acquire(&a) {
		t.Error("an abandoned ticket did not serve again")
	}
}

func TestTicketCancelFree(t *testing.T) {
	var tk firq.Ticket
	if tk.Cancel() {
		t.Error("Cancel of an unused ticket reports true")
	}
	q := newFakeQueue()
	q.put(&tk, 1)
	q.take(&tk)
	if tk.Cancel() || q.calls != 0 {
		t.Errorf("Cancel after the task ended reports true or asked the owner (%d calls)", q.calls)
	}
}

func TestTicketCancel(t *testing.T) {
	a, b := newFakeQueue(), newFakeQueue()
	var tk firq.Ticket
	for i, q := range []*fakeQueue{a, b, a} {
		if !q.put(&tk, i) {
			t.Fatalf("task %d: the ticket is not free", i)
		}
		if !tk.Cancel() {
			t.Errorf("task %d: Cancel reports false while the task is queued", i)
		}
		if tk.Cancel() {
			t.Errorf("task %d: a second Cancel reports true", i)
		}
	}
	if a.calls != 2 || b.calls != 1 {
		t.Errorf("owners asked %d and %d times, want 2 and 1", a.calls, b.calls)
	}
	// Acquired but not yet placed: the owner says no, and Cancel passes it on.
	tk.Acquire(&a.owner)
	if tk.Cancel() || a.calls != 3 {
		t.Errorf("Cancel before the task is placed reports true (%d calls)", a.calls)
	}
}

// TestTicketAcquireRace: of those that hand in the same ticket at the same time
// one succeeds.
func TestTicketAcquireRace(t *testing.T) {
	const goroutines, rounds = 2, 10_000
	var tickets [rounds]firq.Ticket
	var arrived, wins [rounds]atomic.Int32
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			var o firq.TicketOwner
			for i := range rounds {
				arrived[i].Add(1)
				for arrived[i].Load() < goroutines {
					runtime.Gosched()
				}
				if tickets[i].Acquire(&o) {
					wins[i].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for i := range rounds {
		if n := wins[i].Load(); n != 1 {
			t.Fatalf("round %d: %d goroutines acquired the ticket, want 1", i, n)
		}
	}
}

// TestTicketHandOver passes one ticket between two owners with a lock each. Its
// place is a plain field: only Release and Acquire order the one owner's writes
// before the other's, and the race detector says so if they do not.
func TestTicketHandOver(t *testing.T) {
	var tk firq.Ticket
	var put, taken, cancelled atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		q := newFakeQueue()
		wg.Go(func() {
			for n := 0; n < 20_000; n++ {
				if q.put(&tk, n) {
					put.Add(1)
					if q.take(&tk) {
						taken.Add(1)
					}
				}
			}
		})
		wg.Go(func() {
			for range 20_000 {
				if tk.Cancel() {
					cancelled.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if p, e := put.Load(), taken.Load()+cancelled.Load(); p != e || p == 0 {
		t.Errorf("%d tasks were put, %d ended (%d taken, %d cancelled)", p, e, taken.Load(), cancelled.Load())
	}
	if !tk.Acquire(new(firq.TicketOwner)) {
		t.Error("the ticket is not free at the end")
	}
}
