package lockfree

import (
	"math"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// message is what a slot of an inbox holds. With a payload of one word it fills a cache
// line, together with the slot's sequence number.
type message[T any] struct {
	// Priority void: nothing, the task was refused; several: the tasks of an
	// EnqueueBatch, and Ticket is the batch's.
	task drr.Task[T]
}

// several is the priority of a message that stands for a batch.
const several firq.Priority = math.MaxUint8

// batch returns the batch that the message stands for.
func (m *message[T]) batch() *batch[T] {
	return (*batch[T])(unsafe.Pointer(m.task.Ticket)) // its first field
}

// set makes it stand for a task, or for a batch if there is one. It was zero.
func (m *message[T]) set(task *drr.Task[T], b *batch[T]) {
	if b != nil {
		m.task.Priority, m.task.Ticket = several, &b.ticket
	} else {
		m.task = *task
	}
}

// batch is several tasks of one tenant that took one ticket: one step on the
// tenant's word, one on the credits, one slot. The producer fills it; from E4 on
// it belongs to the lease holder, which recycles it.
type batch[T any] struct {
	ticket firq.Ticket // cancels nothing: by it a message knows the batch; the first field
	n      int
	plain  bool // they are in plains, and were enqueued at since; else in tasks
	since  int64
	plains [batchSize]drr.Plain[T]
	tasks  []drr.Task[T] // nil until the batch has had some
}

// batchSize is how many tasks go into one message at most.
const batchSize = 32

// admitBatch is admit for the first of ts: it returns how many it has taken in,
// 0 if there is something about them that admit has to see to: a limit, a ticket,
// an invalid task, a new tenant.
func (s *Scheduler[K, T]) admitBatch(k K, h *handle[K, T], ts []firq.Task[T], now int64) int {
	n, allPlain := together(ts)
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
	asks, conf := s.env.Asks && word&polledBit == 0, serve.TenantConfig{}
	if asks {
		conf = s.ask(t, k)
	}
	if allPlain && s.direct && t.shard.contention.none(now) && canSkip(word) {
		if asks {
			t.note(&conf)
		}
		if got := s.batchDirect(t, word, ts[:n], now); got > 0 {
			return got
		}
	}
	failpoint.At("E1 ticket")
	word, places, took := t.take(n) // [E1]
	if took != ticketTaken {
		return 0
	}
	if asks {
		t.note(&conf)
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
	if allPlain && s.bare {
		b.setPlain(ts[:got], now)
	} else {
		due, eager = s.fill(b, ts[:got], now)
	}
	s.publish(t, word, nil, b, due, eager)
	if got < places {
		s.env.Waiters.Released(k, places-got)
	}
	return got
}

// setPlain puts plain tasks into an empty batch, of a scheduler that pushes them as they
// are (bare).
func (b *batch[T]) setPlain(ts []firq.Task[T], now int64) {
	b.n, b.plain, b.since = len(ts), true, now
	for i := range ts {
		b.plains[i] = drr.Plain[T]{Payload: ts[i].Payload, Cost: max(ts[i].Cost, 1)}
	}
}

// fill puts tasks into an empty batch. It returns the first time at which one expires, and
// whether one jumps.
func (s *Scheduler[K, T]) fill(b *batch[T], ts []firq.Task[T], now int64) (due int64, eager bool) {
	if b.tasks == nil {
		b.tasks = make([]drr.Task[T], batchSize)
	}
	b.n, b.plain, due = len(ts), false, clock.Never
	for i := range ts {
		_ = s.env.Task(&b.tasks[i], &ts[i], now) // together has checked it
		due = min(due, b.tasks[i].Due)
		eager = eager || s.jumps(&b.tasks[i])
	}
	return due, eager
}

// batchDirect is enqueueDirect for plain tasks. It returns how many it has queued.
func (s *Scheduler[K, T]) batchDirect(t *tenant[K, T], word uint64, ts []firq.Task[T], now int64) (got int) {
	sh := t.shard
	if !sh.try() {
		sh.contention.note(now)
		return 0
	}
	sh.wakeUp()
	if got = sh.enterDirect(t, word, len(ts)); got > 0 {
		for i := range ts[:got] {
			sh.Queue.PushPlain(&t.Tenant.Tenant, &ts[i].Payload, max(ts[i].Cost, 1), now)
		}
		sh.Pushed(&t.Tenant, got)
	}
	sh.unlockFast(nil)
	return got
}

// together returns how many tasks ts starts with that are valid, need no ticket, and
// go into one message; and whether all of those are plain.
func together[T any](ts []firq.Task[T]) (n int, allPlain bool) {
	allPlain = true
	for i := range ts[:min(len(ts), batchSize)] {
		switch t := &ts[i]; {
		case plain(t):
		case t.Ticket != nil || t.Validate() != nil:
			return i, allPlain
		default:
			allPlain = false
		}
	}
	return min(len(ts), batchSize), allPlain
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
	if b.plain { // keep no payload alive
		clear(b.plains[:b.n])
	} else {
		clear(b.tasks[:b.n])
	}
	b.n = 0
	s.batches.Put(b)
}
