package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
	"github.com/firq-go/firq/internal/clock"
	"github.com/firq-go/firq/internal/cpu"
	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/internal/serve"
)

// message is what a slot of an inbox holds.
type message[T any] struct {
	task  drr.Task[T] // priority void: nothing, the task was refused
	batch *batch[T]   // the tasks of an EnqueueBatch, instead of task; nil: none
}

// set makes it stand for a task, or for a batch if there is one. It was zero.
func (m *message[T]) set(task *drr.Task[T], b *batch[T]) {
	if b != nil {
		m.batch = b
	} else {
		m.task = *task
	}
}

// batch is several tasks of one tenant that took one ticket: one step on the
// tenant's word, one on the credits, one slot. The producer fills it; from E4 on
// it belongs to the lease holder, who recycles it.
type batch[T any] struct {
	tasks [batchSize]drr.Task[T]
	n     int
}

// batchSize is how many tasks go into one message at most.
const batchSize = 32

// admitBatch is admit for the first of ts: it returns how many it has taken in,
// 0 if there is something about them that admit has to see to: a limit, a ticket,
// an invalid task, a new tenant.
func (s *Scheduler[K, T]) admitBatch(k K, h *handle[K, T], ts []firq.Task[T], now int64) int {
	n := plain(ts)
	if n < 2 || s.env.Config.DynamicThreshold != 0 {
		return 0
	}
	failpoint.At("E0 state")
	if s.life.State() != serve.Open || s.credit.None() {
		return 0
	}
	t := s.find(k, h)
	if t == nil {
		return 0
	}
	word := t.word.Load()
	if word&roomBit == 0 {
		return 0
	}
	asks, says := s.env.Asks && word&quietBit == 0, serve.Says{}
	if asks {
		says = s.ask(t, k)
	}
	failpoint.At("E1 ticket")
	word, places, took := t.take(n) // [E1]
	if took != ticketTaken {
		return 0
	}
	if asks {
		t.note(&says)
	}
	got, err := s.takeCredit(places, cpu.Hint()) // [E2], [E3]
	if err != nil {
		s.publishVoid(t, tailOf(word), places)
		return 0
	}
	if got < places {
		s.giveBack(t, places-got)
	}
	b := s.newBatch()
	due, eager := int64(clock.Never), false
	for i := range ts[:got] {
		_ = s.env.Task(&b.tasks[i], &ts[i], now) // plain has checked it
		due = min(due, b.tasks[i].Due)
		eager = eager || b.tasks[i].Priority != firq.PriorityNormal
	}
	b.n = got
	s.publish(t, word, nil, b, due, eager)
	if got < places {
		s.env.Room.Released(k, places-got)
	}
	return got
}

// plain returns how many tasks ts starts with that are valid, need no ticket, and
// go into one message.
func plain[T any](ts []firq.Task[T]) int {
	for i := range ts[:min(len(ts), batchSize)] {
		if ts[i].Ticket != nil || ts[i].Validate() != nil {
			return i
		}
	}
	return min(len(ts), batchSize)
}

// newBatch returns an empty batch.
func (s *Scheduler[K, T]) newBatch() *batch[T] {
	if b, ok := s.batches.Get().(*batch[T]); ok {
		return b
	}
	return new(batch[T])
}

// recycle takes back a batch whose tasks are queued.
func (s *Scheduler[K, T]) recycle(b *batch[T]) {
	clear(b.tasks[:b.n]) // keep no payload alive
	b.n = 0
	s.batches.Put(b)
}
