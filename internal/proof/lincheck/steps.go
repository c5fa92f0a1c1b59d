package lincheck

import (
	"cmp"
	"errors"

	"github.com/firq-go/firq"
)

// step is a part of a call that happens at one instant. All steps of a call lie
// between its start and its end.
type step struct {
	call  int
	what  string
	after []int // steps of the same call that come before
	do    func(*state) bool
}

// steps cuts the calls of a history into steps. Strictly, a call is one step, or
// a batch one for each task. Loosely, which is what the contract promises, a call
// takes its places before its task can be seen and gives them back after it has
// left; see the package comment.
type steps struct {
	*rules
	list []step
	call int // whose steps are added
	last int // the step that the next one follows; -1: none
}

func cut(r *rules) []step {
	b := &steps{rules: r}
	for i := range r.Calls {
		b.call, b.last = i, -1
		b.add(&r.Calls[i])
	}
	return b.list
}

// then adds a step that follows the last one.
func (b *steps) then(what string, do func(*state) bool) {
	b.last = b.beside(what, b.last, do)
}

// beside adds a step that follows a given one, and perhaps others that are given
// too; -1 is none.
func (b *steps) beside(what string, after int, do func(*state) bool, others ...int) int {
	s := step{call: b.call, what: what, do: do}
	for _, a := range append(others, after) {
		if a >= 0 {
			s.after = append(s.after, a)
		}
	}
	b.list = append(b.list, s)
	return len(b.list) - 1
}

func (b *steps) add(c *Call) {
	switch c.Kind {
	case Enqueue:
		if c.Err == nil {
			b.accept(c.Tasks[0])
		} else {
			b.refuse(c.Tasks[0], c.Err)
		}
	case EnqueueBatch:
		b.acceptAll(c.Tasks[:c.N])
		if c.N < len(c.Tasks) {
			b.refuse(c.Tasks[c.N], c.Err)
		}
	case TryDequeue, Dequeue, DequeueBatch:
		b.dequeue(c)
	case Cancel:
		b.cancel(c)
	case Done:
		b.then("done", func(s *state) bool { return b.settle(s, c.Tasks[0]) })
	case SetQuantum:
		b.quantum(c.Tenant, int64(c.Most))
	case ResetQuantum:
		b.quantum(c.Tenant, b.Config.Quantum)
	case SetMaxGlobal:
		b.then("max global", func(s *state) bool { s.most = uint8(c.Most); return true })
	case SetLimit:
		b.then("limit", func(s *state) bool {
			s.tenants[c.Tenant].limit = uint8(cmp.Or(c.Most, b.Config.MaxPerTenant))
			return true
		})
	case Len:
		b.then("len", func(s *state) bool { return b.lenAt(s, c.N) })
	case Stats:
		if b.oneShard || c.Alone {
			b.then("stats", func(s *state) bool {
				// Alone is after the last task was taken out.
				return s.counters == c.Counters && (!c.Alone || s.credits == 0)
			})
		}
	case Close:
		b.closing()
	case Shutdown:
		b.shutdown(c)
	}
}

func (b *steps) quantum(t int, quantum int64) {
	b.then("quantum", func(s *state) bool {
		s.tenants[t].quantum = int16(quantum)
		return true
	})
}

func (b *steps) dequeue(c *Call) {
	if b.loose && c.Kind != TryDequeue { // it may have looked each time that it was woken
		b.inVain()
		b.inVain()
	}
	if errors.Is(c.Err, firq.ErrClosed) {
		b.then("over", func(s *state) bool { return s.life == closed || b.drained(s) })
		return
	}
	place, credit := -1, -1
	for _, id := range c.Got {
		if b.loose {
			b.inVain()
			b.turns()
		}
		b.then("take", func(s *state) bool {
			return b.take(s, id) && (b.loose || b.freeAll(s, id))
		})
		if b.loose {
			place, credit = b.giveBack(id, b.last, place, credit)
		}
	}
	switch {
	case len(c.Got) == 0:
		b.then("nothing", b.nothing)
	case len(c.Got) < c.Most && b.oneShard:
		b.then("nothing more", b.nothing)
	}
}

// inVain is a look that found nothing, at some time during the call. It is optional: at an
// instant at which something is deliverable it changes nothing.
func (b *steps) inVain() {
	b.beside("come in vain", -1, func(s *state) bool { return b.deliverable(s) || b.nothing(s) })
}

// turns are those that deliver nothing, before the one that delivers the task: tenants may
// become active between them. There may also have been fewer, or none.
func (b *steps) turns() {
	for n := 0; b.oneShard && b.Relaxation.Turns && n < mostTurns; n++ {
		b.then("turn", func(s *state) bool { b.turn(s); return true })
	}
}

// mostTurns is how many such turns one dequeue may need: five, with three tenants whose tasks
// cost three at most. Each further step makes the search longer.
const mostTurns = 5

func (b *steps) freeAll(s *state, id int) bool { b.free(s, id); return true }

// giveBack adds the steps that free a task's places, after the step in which it
// left and those of the task before.
func (b *steps) giveBack(id, left, place, credit int) (int, int) {
	place = b.beside("free its tenant's place", left, func(s *state) bool { b.freePlace(s, id); return true }, place)
	credit = b.beside("free the place", place, func(s *state) bool { s.credits--; return true }, credit)
	return place, credit
}

func (b *steps) cancel(c *Call) {
	id := c.Tasks[0]
	if !c.OK {
		b.then("not queued", func(s *state) bool {
			copied := *s
			return s.life == closed || !b.remove(&copied, id)
		})
		return
	}
	b.then("cancel", func(s *state) bool {
		if !b.remove(s, id) {
			return false
		}
		s.counters.Cancelled++
		return b.loose || b.freeAll(s, id)
	})
	if b.loose {
		b.giveBack(id, b.last, -1, -1)
	}
}

// lenAt reports whether Len may be n: places on the way between stripes count as taken.
func (b *steps) lenAt(s *state, n int) bool {
	if b.loose {
		return n >= int(s.credits) && n <= b.largest
	}
	return n == int(s.credits)
}

func (b *steps) closing() {
	call := b.call
	mine := func(s *state) bool { return int(s.closer) == call+1 }
	if !b.loose {
		b.then("close", func(s *state) bool {
			b.shut(s, call)
			s.stopped = everybody
			return !mine(s) || b.sweep(s)
		})
		return
	}
	b.then("close", func(s *state) bool { b.shut(s, call); return true })
	b.stop(mine)
	from, others := b.last, make([]int, 0, len(b.Closed))
	for _, id := range b.Closed { // one after another, as it comes to their shards
		others = append(others, b.beside("drop", from, func(s *state) bool {
			if mine(s) && b.remove(s, id) {
				b.free(s, id)
				s.counters.Closed++
			}
			return true
		}))
	}
	b.last = b.beside("swept", from, func(s *state) bool { return !mine(s) || b.sweep(s) }, others...)
}

// stop closes the door to producers, at the same instant as the last step.
func (b *steps) stop(mine func(*state) bool) {
	do := b.list[b.last].do
	b.list[b.last].do = func(s *state) bool {
		if !do(s) {
			return false
		}
		if mine(s) {
			s.stopped |= everybody
		}
		return true
	}
}

func (b *steps) shutdown(c *Call) {
	call := b.call
	b.then("drain", func(s *state) bool { b.drain(s, call); return true })
	b.stop(func(s *state) bool { return int(s.drainer) == call+1 })
	switch {
	case c.Err == nil:
		b.then("drained", func(s *state) bool {
			ok := (s.drained || b.drained(s)) && !s.saidClosed
			s.saidNil = true
			return ok
		})
	case errors.Is(c.Err, firq.ErrClosed):
		b.then("closed first", func(s *state) bool {
			s.saidClosed = true
			return s.life == closed && !s.saidNil
		})
	}
}
