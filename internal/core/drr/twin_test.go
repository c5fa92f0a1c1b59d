package drr

import (
	"fmt"
	"math"
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

// twin drives a Queue and the model with the same operations and compares them
// after each. What is done comes from bytes, or from draw. It is the Queue's host.
type twin struct {
	q       *Queue[int, int]
	tenants []*Tenant[int, int]
	m       *model
	rings   []lender[int] // by whose slots every other plain task is pushed
	expired []int         // told by the Queue, not compared yet

	now     int64
	pushed  int
	tickets map[int]*firq.Ticket // of queued tasks, by payload; nil: it has none

	draw func(what string, n int) int // a number below n
	ops  []byte                       // without draw
	done int                          // bytes of ops used
}

func (w *twin) enqueue(t *Tenant[int, int], task Task[int]) {
	if task.Payload%2 == 0 || !task.IsPlain() || !w.q.Lends(t) || w.rings[t.Key].lend(w.q, t, task) == 0 {
		push(w.q, t, task)
	}
}

func (w *twin) Expired(_ *Tenant[int, int], task *Task[int]) {
	w.expired = append(w.expired, task.Payload)
}

// next returns a number below n: the next byte, 0 once they are used up. What it
// is for shows in the script of a failed TestMachine.
func (w *twin) next(what string, n int) int {
	if w.draw != nil {
		return w.draw(what, n)
	}
	if w.done >= len(w.ops) {
		return 0
	}
	w.done++
	return int(w.ops[w.done-1]) % n
}

// configs is how many values newTwin's shape has.
const configs = 3 * 2 * 2 * 2 * 2

func newTwin(shape, tenants int, ops []byte) *twin {
	w := &twin{ops: ops}
	w.init(shape, tenants)
	return w
}

func (w *twin) init(shape, tenants int) {
	w.now, w.tickets = 1000, map[int]*firq.Ticket{}
	digit := func(n int) int { d := shape % n; shape /= n; return d }
	cfg := Config{
		Order: firq.Order(digit(3)), LowWater: 2, HighWater: 4,
		Aging: int64(digit(2)) * 20, Across: digit(2) == 1, NewFirst: digit(2) == 1,
	}
	cfg.MaxFlows = []int{0, 3}[digit(2)]
	w.q = New[int, int](cfg, w)
	quanta := make([]int64, tenants)
	for key := range quanta {
		quanta[key] = 1 + int64(w.next("quantum-1", 12))
		t := new(Tenant[int, int])
		t.Init(key, quanta[key])
		w.tenants = append(w.tenants, t)
	}
	w.rings = make([]lender[int], tenants)
	w.m = newModel(cfg, quanta)
	w.m.hash = w.q.hash
}

// run applies all operations.
func (w *twin) run() error {
	for w.done < len(w.ops) {
		at := w.done
		op := operationOf(w.next("operation", operationWeights))
		if err := op.do(w); err != nil {
			return fmt.Errorf("byte %d, %s: %w", at, op.name, err)
		}
		if err := w.compare(); err != nil {
			return fmt.Errorf("byte %d, after %s: %w", at, op.name, err)
		}
	}
	if err := w.drain(); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	return w.compare()
}

// serve asks for a task, now and then in the way of a caller that may serve only up to a
// certain round, and is let further bit by bit: the result is the same.
func (w *twin) serve() error {
	block, byRounds := w.next("block who is served", 4) == 1, !w.q.cfg.Across && w.next("by rounds", 4) == 1
	byRounds = byRounds && w.q.cfg.MaxFlows == 0 // what is chosen among flows depends on when it is asked for
	limit := uint64(math.MaxUint64)
	if byRounds {
		limit = w.q.Round()
	}
	within := within
	if w.next("roundabout", 2) == 1 {
		within = roundabout
	}
	t, task, verdict := within(w.q, w.now, limit)
	for verdict == Again || verdict == Ahead {
		if tag := w.q.Tag(); verdict == Ahead {
			if tag <= limit {
				return fmt.Errorf("ahead of round %d, the tag is %d", limit, tag)
			}
			limit = (limit + tag + 1) / 2
		}
		t, task, verdict = within(w.q, w.now, limit)
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
			w.block(key)
		}
	}
	return nil
}

// roundabout is within without its first branch.
func roundabout(q *Queue[int, int], now int64, limit uint64) (t *Tenant[int, int], task Task[int], v Verdict) {
	var h Head
	if t, v = q.NextOfAll(now, limit, &task.Payload, &h); v == Delivered {
		task.is(h)
	}
	return t, task, v
}

func (w *twin) block(key int) {
	w.q.Block(w.tenants[key])
	w.m.block(w.m.tenants[key])
}

// ended forgets a task that left the Queue and looks at its ticket.
func (w *twin) ended(payload int) error {
	tk, queued := w.tickets[payload]
	if !queued {
		return fmt.Errorf("task %d left twice", payload)
	}
	if tk != nil && (tk.Place(&testOwner) != nil || !tk.Acquire(&testOwner)) {
		return fmt.Errorf("task %d left, its ticket is not free", payload)
	}
	delete(w.tickets, payload)
	return nil
}

func (w *twin) remove() error {
	payloads := make([]int, 0, len(w.tickets))
	for payload, tk := range w.tickets {
		if tk != nil {
			payloads = append(payloads, payload)
		}
	}
	if len(payloads) == 0 {
		return nil
	}
	slices.Sort(payloads)
	payload := payloads[w.next("which of the queued", len(payloads))]
	t, task := w.q.Remove(w.tickets[payload].Place(&testOwner))
	if task.Payload != payload {
		return fmt.Errorf("removed %d, want %d", task.Payload, payload)
	}
	w.m.take(w.m.tenants[t.Key], payload)
	w.m.purge()
	return w.ended(payload)
}

func (w *twin) evict() error {
	t, mt := w.tenant()
	p, newest := w.priority(), w.next("newest", 2) == 1
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
	most := w.next("at most", 8)
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
	for {
		w.m.seeOff()
		t, task, ok := w.q.Drain()
		if !ok {
			break
		}
		if _, queued := w.m.tenants[t.Key].find(task.Payload); !queued {
			return fmt.Errorf("drained %d, which tenant %d does not hold", task.Payload, t.Key)
		}
		mt := w.m.tenants[t.Key]
		if s := w.m.seatOf(mt, task.Priority); s.where != parked { // then it was asked for
			w.m.front(s, 0)
		}
		w.m.take(mt, task.Payload)
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
