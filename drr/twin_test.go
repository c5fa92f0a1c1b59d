package drr

import (
	"fmt"
	"slices"

	"github.com/firq-go/firq"
)

// testOwner owns every ticket of the tests.
var testOwner firq.TicketOwner

func newTicket() *firq.Ticket {
	tk := new(firq.Ticket)
	tk.Acquire(&testOwner)
	return tk
}

// twin drives a Queue and the model with the same operations, which it reads
// from bytes, and compares them after each. It is the Queue's host.
type twin struct {
	q       *Queue[int, int]
	tenants []*Tenant[int, int]
	m       *model
	fill    bool // push through inboxes
	inboxes [][]Task[int]
	expired []int // told by the Queue, not compared yet

	now     int64
	pushed  int
	tickets map[int]*firq.Ticket // of queued tasks, by payload

	ops  []byte
	done int // bytes of ops used
}

func (w *twin) Fill(t *Tenant[int, int]) {
	inbox := w.inboxes[t.Key]
	w.inboxes[t.Key] = nil
	for _, task := range inbox {
		w.q.Push(t, task)
	}
}

func (w *twin) Expired(_ *Tenant[int, int], task *Task[int]) {
	w.expired = append(w.expired, task.Payload)
}

// next returns the next byte below n, 0 once they are used up.
func (w *twin) next(n int) int {
	if w.done >= len(w.ops) {
		return 0
	}
	w.done++
	return int(w.ops[w.done-1]) % n
}

// configs is how many values newTwin's shape has.
const configs = 3 * 2 * 2 * 2 * 2

func newTwin(shape, tenants int, ops []byte) *twin {
	w := &twin{now: 1000, tickets: map[int]*firq.Ticket{}, ops: ops}
	digit := func(n int) int { d := shape % n; shape /= n; return d }
	cfg := Config{
		Order: firq.Order(digit(3)), LowWater: 2, HighWater: 4,
		Aging: int64(digit(2)) * 20, Across: digit(2) == 1, NewFirst: digit(2) == 1,
	}
	w.fill = digit(2) == 1
	w.q = New[int, int](cfg, w)
	quanta := make([]int64, tenants)
	for key := range quanta {
		quanta[key] = 1 + int64(w.next(12))
		t := new(Tenant[int, int])
		t.Init(key, quanta[key])
		w.tenants = append(w.tenants, t)
	}
	w.inboxes = make([][]Task[int], tenants)
	w.m = newModel(cfg, quanta, w.fill)
	return w
}

// run applies all operations.
func (w *twin) run() error {
	for w.done < len(w.ops) {
		at, op := w.done, w.next(64)
		if err := w.step(op); err != nil {
			return fmt.Errorf("byte %d, op %d: %w", at, op, err)
		}
		if err := w.compare(); err != nil {
			return fmt.Errorf("byte %d, after op %d: %w", at, op, err)
		}
	}
	if err := w.drain(); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	return w.compare()
}

func (w *twin) step(op int) error {
	key := w.next(len(w.tenants))
	t, mt := w.tenants[key], w.m.tenants[key]
	p := firq.Priority(1 + w.next(levels))
	switch {
	case op < 26:
		w.push(t, mt, p)
		return nil
	case op < 46:
		return w.serve(op%4 == 0)
	case op < 48:
		w.now += int64(w.next(30))
		return nil
	case op < 50:
		quantum := int64(w.next(15)) - 1
		t.SetQuantum(quantum)
		mt.quantum = max(quantum, 1)
		return nil
	case op < 52:
		delta := int64(w.next(60)) - 30
		w.q.Charge(t, p, delta)
		w.m.charge(mt, p, delta)
		return nil
	case op == 52:
		r := w.q.Round() + uint64(w.next(3))
		w.q.AdvanceRound(r)
		w.m.advanceRound(r)
		return nil
	}
	w.flush() // the rest looks at queued tasks
	switch {
	case op < 56 && t.Blocked():
		w.q.Unblock(t)
		w.m.unblock(mt)
	case op < 56:
		w.block(key)
	case op < 59:
		return w.remove()
	case op < 61:
		return w.evict(t, mt, p, op == 59)
	case op < 63:
		return w.reclaim()
	case w.next(16) == 0:
		return w.drain()
	default:
		w.q.Retire(t)
		w.m.retire(mt)
	}
	return nil
}

func (w *twin) push(t *Tenant[int, int], mt *modelTenant, p firq.Priority) {
	w.pushed++
	task := Task[int]{
		Payload: w.pushed, Cost: 1 + int64(w.next(20)), Enqueued: w.now,
		Due: NoDeadline, Ticket: newTicket(), Priority: p,
	}
	if due := w.next(50); due > 25 {
		task.Due = w.now + int64(due) - 27
	}
	w.tickets[task.Payload] = task.Ticket
	if w.fill && t.Active() {
		w.inboxes[t.Key] = append(w.inboxes[t.Key], task)
		mt.inbox = append(mt.inbox, task)
		return
	}
	w.q.Push(t, task)
	w.m.push(mt, task)
}

// flush fills everybody, so that inboxes do not matter for what follows.
func (w *twin) flush() {
	for key, t := range w.tenants {
		w.Fill(t)
		w.m.fill(w.m.tenants[key])
	}
}

func (w *twin) serve(block bool) error {
	t, task, verdict := w.q.Next(w.now)
	for verdict == Again {
		t, task, verdict = w.q.Next(w.now)
	}
	key, payload, ok := w.m.next(w.now)
	switch {
	case ok != (verdict == Delivered):
		return fmt.Errorf("verdict %d, the model delivers: %v", verdict, ok)
	case ok && (t.Key != key || task.Payload != payload):
		return fmt.Errorf("delivered task %d of tenant %d, want %d of %d", task.Payload, t.Key, payload, key)
	case ok:
		if err := w.ended(payload); err != nil {
			return err
		}
		if block {
			w.flush()
			w.block(key)
		}
	}
	return nil
}

func (w *twin) block(key int) {
	w.q.Block(w.tenants[key])
	w.m.block(w.m.tenants[key])
}

// ended forgets a task that left the Queue and looks at its ticket.
func (w *twin) ended(payload int) error {
	tk := w.tickets[payload]
	if tk == nil {
		return fmt.Errorf("task %d left twice", payload)
	}
	if tk.Place(&testOwner) != nil || !tk.Acquire(&testOwner) {
		return fmt.Errorf("task %d left, its ticket is not free", payload)
	}
	delete(w.tickets, payload)
	return nil
}

func (w *twin) remove() error {
	payloads := make([]int, 0, len(w.tickets))
	for payload := range w.tickets {
		payloads = append(payloads, payload)
	}
	if len(payloads) == 0 {
		return nil
	}
	slices.Sort(payloads)
	payload := payloads[w.next(len(payloads))]
	t, task := w.q.Remove(w.tickets[payload].Place(&testOwner))
	if task.Payload != payload {
		return fmt.Errorf("removed %d, want %d", task.Payload, payload)
	}
	w.m.take(w.m.tenants[t.Key], payload)
	w.m.purge()
	return w.ended(payload)
}

func (w *twin) evict(t *Tenant[int, int], mt *modelTenant, p firq.Priority, newest bool) error {
	task, ok := w.q.Evict(t, p, newest)
	payload, want := w.m.evict(mt, p, newest)
	if ok != want || task.Payload != payload {
		return fmt.Errorf("evicted %d %v, want %d %v", task.Payload, ok, payload, want)
	}
	if ok {
		return w.ended(payload)
	}
	return nil
}

func (w *twin) reclaim() error {
	due := w.m.due(w.now)
	most := w.next(8)
	bound := w.q.NextDue()
	more := w.q.Reclaim(w.now, most)
	if len(due) > 0 && bound >= w.now {
		return fmt.Errorf("NextDue %d, at %d %v have expired", bound, w.now, due)
	}
	if want := min(most, len(due)); len(w.expired) != want || !more && want < len(due) || more && want < most {
		return fmt.Errorf("reclaimed %v of %v, at most %d, more: %v", w.expired, due, most, more)
	}
	for _, payload := range w.expired {
		if !slices.Contains(due, payload) {
			return fmt.Errorf("reclaimed %d, which has not expired", payload)
		}
		for _, mt := range w.m.tenants {
			w.m.take(mt, payload)
		}
		w.m.expired = append(w.m.expired, payload)
	}
	w.m.purge()
	return nil
}

func (w *twin) drain() error {
	w.flush()
	for {
		t, task, ok := w.q.Drain()
		if !ok {
			break
		}
		if _, queued := w.m.tenants[t.Key].find(task.Payload); !queued {
			return fmt.Errorf("drained %d, which tenant %d does not hold", task.Payload, t.Key)
		}
		w.m.take(w.m.tenants[t.Key], task.Payload)
		if err := w.ended(task.Payload); err != nil {
			return err
		}
	}
	w.m.allLeave()
	if len(w.tickets) > 0 {
		return fmt.Errorf("drained, but %d tasks have not ended", len(w.tickets))
	}
	return nil
}
