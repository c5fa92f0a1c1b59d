package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// batchSize is how many tasks take their tickets in one step at most.
const batchSize = 32

// admitBatch is admit for the first of ts: it returns how many it has taken in,
// 0 if there is something about them that admit has to see to: a limit, a ticket,
// an invalid task, a new tenant.
func (s *Scheduler[K, T]) admitBatch(k K, h *handle[K, T], ts []firq.Task[T], now int64) int {
	n, allPlain := together(ts)
	if n < 2 || s.shared.Config.DynamicThreshold != 0 {
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
	limit := t.limit.word.Load()
	word := t.word.Load()
	if word&roomBit == 0 {
		return 0
	}
	asks, conf := s.shared.Asks && word&polledBit == 0, serve.TenantConfig{}
	if asks {
		conf = s.ask(t, k)
	}
	if allPlain && s.direct && t.shard.contention.none(now) && canSkip(word) {
		if asks {
			t.noteFirst(&conf, word, limit)
		}
		if got := s.batchDirect(t, word, ts[:n], now); got > 0 {
			return got
		}
	}
	failpoint.At("E1 ticket")
	word, places, took := t.reserve(n) // [E1]
	if took != ticketTaken {
		return 0
	}
	if asks {
		t.noteFirst(&conf, word, limit)
	}
	got, err := s.takeCredit(places, cpu.Hint()) // [E2], [E3]
	if err != nil {
		s.publishVoid(t, tailOf(word), places)
		return 0
	}
	if got < places {
		s.giveBack(t, places-got)
	}
	s.publishBatch(t, tailOf(word), places, ts[:got], now, allPlain && s.bare)
	if got < places {
		s.shared.Waiters.Released(k, places-got)
	}
	return got
}

// publishBatch is publish for tasks of which together has said that they are valid. They have
// places tickets from one on, of which the last ones are those of tasks that were refused.
// bare: they go into slots as they are.
func (s *Scheduler[K, T]) publishBatch(t *tenant[K, T], ticket uint32, places int, ts []firq.Task[T], now int64, bare bool) {
	box, due, overtakes := t.inbox.Load(), int64(clock.Never), false
	for i := len(ts); i < places; i++ {
		box.PutVoid(ring.Cut(ticket + uint32(i)))
	}
	for i := range ts {
		at := ring.Cut(ticket + uint32(i))
		if bare {
			box.PutPlain(at, &ts[i].Payload, max(ts[i].Cost, 1), now)
			continue
		}
		var task drr.Task[T]
		_ = s.shared.Task(&task, &ts[i], now)
		due = min(due, task.Due)
		overtakes = overtakes || s.overtakes(&task)
		box.Put(at, &task)
	}
	s.foretell(t, due, overtakes)
	failpoint.At("E4 put")
	t.handOver(box, ticket, places)
	s.published(t, due)
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
// take their places in one step; and whether all of those are plain.
func together[T any](ts []firq.Task[T]) (n int, allPlain bool) {
	allPlain = true
	for i := range ts[:min(len(ts), batchSize)] {
		switch t := &ts[i]; {
		case serve.IsPlain(t):
		case t.Ticket != nil || t.Validate() != nil:
			return i, allPlain
		default:
			allPlain = false
		}
	}
	return min(len(ts), batchSize), allPlain
}
