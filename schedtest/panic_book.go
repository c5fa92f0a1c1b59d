package schedtest

import (
	"sync"

	"github.com/firq-go/firq"
)

// anyBook records which tasks were offered, what became of them, and which items are not Done.
// Safe for concurrent use.
type anyBook struct {
	mu       sync.Mutex
	next     int
	accepted map[int]bool // offered: true once Enqueue has said so, false if it has not returned
	ends     map[int]int
	items    []anyItem
	closing  bool // nothing is admitted any more
}

func (b *anyBook) init() { b.accepted, b.ends = map[int]bool{}, map[int]int{} }

// number returns the next payload.
func (b *anyBook) number() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	b.accepted[b.next] = false
	return b.next
}

func (b *anyBook) answered(payload int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.accepted[payload] = true
	} else {
		delete(b.accepted, payload)
	}
}

func (b *anyBook) ended(payload int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends[payload]++
}

func (b *anyBook) got(items ...anyItem) {
	for i := range items {
		b.ended(items[i].Payload)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, items...)
}

// release calls Done of all items that were delivered.
func (b *anyBook) release() {
	b.mu.Lock()
	items := b.items
	b.items = nil
	b.mu.Unlock()
	for i := range items {
		items[i].Done()
	}
}

// check compares with the counters.
func (b *anyBook) check(w *world) {
	st := w.s.Stats()
	st.QueueTime, st.TopTenants = firq.QueueTime{}, nil // too much to print
	out := st.Dequeued + st.Expired + st.Cancelled + st.DroppedPolicy + st.Closed
	if st.Enqueued != out || st.QueueLen != 0 || st.InFlight != 0 || w.s.Len() != 0 {
		w.t.Errorf("the books do not add up: %d out, Len %d, %+v", out, w.s.Len(), st)
	}
	if sum := st.RejectedGlobal + st.RejectedTenant + st.TimeoutRejected + st.DroppedPolicy; st.Dropped != sum || st.TimeoutRejected != 0 {
		w.t.Errorf("the rejections do not add up: %+v", st)
	}
	sure := uint64(0)
	lost := 0
	for payload, accepted := range b.accepted {
		if accepted {
			sure++
		}
		if n := b.ends[payload]; n > 1 || n == 0 && accepted {
			lost++
		}
		delete(b.ends, payload)
	}
	if most := uint64(len(b.accepted)); st.Enqueued < sure || st.Enqueued > most {
		w.t.Errorf("Enqueued is %d, want %d to %d", st.Enqueued, sure, most)
	}
	// What was delivered to a goroutine that then was ended goes with it.
	if lost > 0 && (w.how.fits != nil || w.where != onExpired) {
		w.t.Errorf("%d tasks did not end once", lost)
	}
	if len(b.ends) > 0 {
		w.t.Errorf("these were refused, and yet delivered or dropped: %v", b.ends)
	}
}

// offer is Enqueue.
func (w *world) offer(k any, x firq.Task[int]) error {
	x.Payload = w.book.number()
	err := w.s.Enqueue(k, x)
	w.book.answered(x.Payload, err)
	return err
}

// wait is EnqueueWait.
func (w *world) wait(k any, tk *firq.Ticket) {
	n := w.book.number()
	err := w.s.EnqueueWait(w.ctx, k, firq.Task[int]{Payload: n, Ticket: tk})
	w.book.answered(n, err)
	if err != nil && !w.book.closing {
		w.t.Errorf("EnqueueWait: %v", err)
	}
}

// batch is EnqueueBatch of two.
func (w *world) batch(k any) {
	ts := []firq.Task[int]{{Payload: w.book.number(), Ticket: &w.ticket2}, {Payload: w.book.number()}}
	n, err := w.s.EnqueueBatch(k, ts)
	for i := range ts {
		if i < n {
			w.book.answered(ts[i].Payload, nil)
		} else {
			w.book.answered(ts[i].Payload, err)
		}
	}
}

// dequeue is Dequeue.
func (w *world) dequeue() bool {
	it, err := w.s.Dequeue(w.ctx)
	if err == nil {
		w.book.got(it)
	} else if !w.book.closing {
		w.t.Errorf("Dequeue: %v", err)
	}
	return err == nil
}
