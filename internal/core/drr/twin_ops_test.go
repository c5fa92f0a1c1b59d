package drr

import "github.com/firq-go/firq"

// operation is something that is done to the Queue and to the model. Of all the
// operations that bytes choose, weight/operationWeights are this one.
type operation struct {
	name   string
	weight int
	do     func(*twin) error
}

var operations = []operation{
	{"push", 26, (*twin).push},
	{"serve", 20, (*twin).serve},
	{"tick", 2, (*twin).tick},
	{"set quantum", 2, (*twin).setQuantum},
	{"charge", 2, (*twin).charge},
	{"advance round", 1, (*twin).advanceRound},
	{"block or unblock", 3, (*twin).blockOrNot},
	{"remove", 3, (*twin).remove},
	{"evict", 2, (*twin).evict},
	{"reclaim", 2, (*twin).reclaim},
	{"retire or drain", 1, (*twin).retireOrDrain},
}

const operationWeights = 64

func operationOf(n int) operation {
	for _, op := range operations {
		if n -= op.weight; n < 0 {
			return op
		}
	}
	panic("the weights do not add up to operationWeights")
}

func (w *twin) tenant() (*Tenant[int, int], *modelTenant) {
	key := w.next("tenant", len(w.tenants))
	return w.tenants[key], w.m.tenants[key]
}

func (w *twin) priority() firq.Priority {
	return firq.Priority(1 + w.next("priority-1", levels))
}

// flow is one of six, some more often than others.
func (w *twin) flow() uint64 { return uint64(min(w.next("flow", 9), w.next("flow", 6))) }

func (w *twin) push() error {
	t, mt := w.tenant()
	w.pushed++
	task := Task[int]{
		Payload: w.pushed, Priority: firq.PriorityNormal, Cost: 1 + int64(w.next("cost-1", 20)), Enqueued: w.now, Due: NoDeadline,
	}
	if w.next("more than a slot has", 2) == 1 {
		w.dress(&task)
	}
	w.tickets[task.Payload] = task.Ticket
	w.enqueue(t, task)
	w.m.push(mt, task)
	return nil
}

// dress gives a task what plain ones do not have.
func (w *twin) dress(task *Task[int]) {
	task.Priority, task.Ticket = w.priority(), newTicket()
	if w.q.cfg.MaxFlows > 0 {
		task.Flow = w.flow()
	}
	if due := w.next("due-now+27, if above 25", 50); due > 25 {
		task.Due = w.now + int64(due) - 27
	}
}

func (w *twin) tick() error {
	w.now += int64(w.next("by", 30))
	return nil
}

func (w *twin) setQuantum() error {
	t, mt := w.tenant()
	quantum := int64(w.next("quantum+1", 15)) - 1
	w.q.SetQuantum(t, quantum)
	if quantum = max(quantum, 1); quantum == mt.quantum {
		return nil
	}
	for _, s := range mt.seats {
		w.m.settle(s, 0)
	}
	for _, x := range mt.flows {
		if x != nil {
			x.settle(mt.quantum)
		}
	}
	mt.quantum = quantum
	return nil
}

func (w *twin) charge() error {
	t, mt := w.tenant()
	p, delta := w.priority(), int64(w.next("delta+30", 60))-30
	if w.q.cfg.MaxFlows == 0 {
		w.q.Charge(t, p, delta)
		w.m.charge(mt, p, delta)
		return nil
	}
	id := w.flow()
	w.q.ChargeFlow(t, p, id, delta)
	w.m.chargeFlow(mt, p, id, delta)
	return nil
}

func (w *twin) advanceRound() error {
	by := uint64(w.next("by", 3))
	to := w.q.Round() + by
	w.m.advanceRound(to + w.q.lists[0].skipped)
	w.q.AdvanceRound(to)
	return nil
}

func (w *twin) blockOrNot() error {
	t, mt := w.tenant()
	if t.Blocked() {
		w.q.Unblock(t)
		w.m.unblock(mt)
	} else {
		w.block(t.Key)
	}
	return nil
}

func (w *twin) retireOrDrain() error {
	if w.next("drain", 16) == 1 {
		return w.drain()
	}
	t, mt := w.tenant()
	w.q.Retire(t)
	w.m.retire(mt)
	return nil
}
