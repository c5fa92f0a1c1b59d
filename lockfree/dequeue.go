package lockfree

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/park"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// TryDequeue returns the next item; false only when no deliverable task is
// queued. Where others hold the only locks that matter, it waits for one; and where
// another processor has served a shard within the last microsecond, for that to pass.
// (It is small, so that it is inlined into its wrapper for the type: an item is a
// hundred bytes to copy.)
func (s *Scheduler[K, T]) TryDequeue() (it firq.Item[K, T], ok bool) {
	ok = s.takeOne(&it)
	return
}

// Dequeue waits for the next item.
func (s *Scheduler[K, T]) Dequeue(ctx context.Context) (it firq.Item[K, T], err error) {
	err = s.dequeue(ctx, &it)
	return
}

func (s *Scheduler[K, T]) dequeue(ctx context.Context, it *firq.Item[K, T]) (err error) {
	if ctx == nil {
		return serve.ErrNilContext
	}
	if !s.takeOne(it) {
		_, err = s.wait(ctx, unsafe.Slice(it, 1))
	}
	return err
}

// DequeueBatch waits for at least one item.
func (s *Scheduler[K, T]) DequeueBatch(ctx context.Context, dst []firq.Item[K, T]) (int, error) {
	if ctx == nil {
		return 0, serve.ErrNilContext
	}
	if len(dst) == 0 {
		return 0, serve.ErrEmptyDst
	}
	s.shared.Rethrow()
	if n := s.take(dst); n > 0 {
		return n, nil
	}
	return s.wait(ctx, dst)
}

// wait sleeps and takes again after a first take has found nothing.
func (s *Scheduler[K, T]) wait(ctx context.Context, dst []firq.Item[K, T]) (int, error) {
	var w park.Waiter
	defer s.parker.Found(&w) // even if OnDrop panics
	now := s.shared.Clock.Now()
	for _, sh := range s.shards { // of any shard: it is not known which will have work
		sh.contention.note(now) // a consumer that waits and the producer that wakes it are two
	}
	for {
		if s.life.Over() {
			return 0, firq.ErrClosed
		}
		if err := s.parker.Sleep(ctx, &w); err != nil {
			return 0, err
		}
		if n := s.take(dst); n > 0 {
			return n, nil
		}
	}
}

// take fills dst, which is not empty, with what is deliverable now. It goes on from
// shard to shard until dst is full or there is no work.
func (s *Scheduler[K, T]) take(dst []firq.Item[K, T]) (n int) {
	for s.life.State() != serve.Closed {
		m, more := s.takeSome(dst, n)
		n += m
		if n == len(dst) || !more && (n > 0 || s.nothing()) {
			break
		}
	}
	return n
}

// nothing reports whether there was an instant during the call at which nothing
// deliverable was queued. The shards are not looked at in one instant: work may
// come to one that was passed while others take what is on the next. So all are
// looked at twice, and those that were served their last task have to be seen off
// (lingering). If the version is the same before and after, then no shard
// became ready and nothing was taken out of a ring in between, and one that had been
// put in before the second look would have been seen by it: there was nothing
// between the two looks.
func (s *Scheduler[K, T]) nothing() bool {
	// Pairs with the steps by which work turns up: a ticket is drawn (ring.draw), or a shard becomes ready
	// (Rounds.set, odd while it is about to), and by which it leaves a ring (ring.freeSlots, after ready).
	before, sure := s.version()
	if sure && !s.anyWork("nothing first?") && !s.anyWork("nothing?") && !s.rounds.AnyAsks() {
		failpoint.At("nothing version")
		if after, _ := s.version(); after == before {
			return true
		}
	}
	failpoint.Gosched("take unsure") // something is just turning up
	return false
}

// version changes whenever work turns up, or leaves a ring.
func (s *Scheduler[K, T]) version() (v uint64, sure bool) {
	v, sure = s.rounds.Version()
	for _, sh := range s.shards {
		v += sh.ring.version()
	}
	return v, sure
}

// anyWork reports whether some shard has something to serve, or to look at.
func (s *Scheduler[K, T]) anyWork(mark string) bool {
	for _, sh := range s.shards {
		failpoint.At(mark)
		if sh.work() {
			return true
		}
	}
	return false
}

// lockTries is how often a consumer that finds every lock taken that matters, or
// another processor at the shard, lets others run and looks again, before it waits
// for one; and a producer that finds a lane full. A lock is held for a
// fraction of a microsecond; to sleep and be woken takes tens of it.
const lockTries = 64

// takeSome serves one shard that may be served now. It reports false when no
// shard has work. dst[:have] is what the call has to return already.
func (s *Scheduler[K, T]) takeSome(dst []firq.Item[K, T], have int) (n int, more bool) {
	for tries := 0; ; tries++ {
		hint := cpu.Hint()
		busy, n, more := s.tryShards(dst, have, hint)
		if busy == nil {
			return n, more
		}
		// Another goroutine has the lock, or is about to take it again. It may be the only one that matters, so
		// after a while this one waits for it: false would say that nothing is queued.
		if failpoint.On || tries == lockTries {
			failpoint.Lock(&busy.mu, "L1 busy")
			return busy.serve(dst, have, hint, s.shared.Clock.Now()), true
		}
		runtime.Gosched()
	}
}

// tryShards serves one shard that may be served now. If all of those are being
// served by others it returns one of them: to wait for, rather than take from a
// shard that is ahead. It reports more false when no shard has work.
//
// A shard that another processor has just served counts as one that is being
// served, whether it has work or not: to ask takes cache lines from the consumer that
// serves it. A call that has something to return asks.
func (s *Scheduler[K, T]) tryShards(dst []firq.Item[K, T], have, hint int) (busy *shard[K, T], n int, more bool) {
	now := s.shared.Clock.Now()
	if len(s.shards) == 1 {
		sh := s.shards[0]
		switch {
		case sh.affinity.elsewhere(hint, now) && (have == 0 || sh.work()):
			sh.contention.note(now)
			return sh, 0, true
		case !sh.ring.ready() && !s.rounds.Asks(0): // in this order; see shard.work
			return nil, 0, false
		case !sh.try():
			sh.contention.note(now)
			return sh, 0, true
		}
		return nil, sh.serve(dst, have, hint, now), true
	}
	cursor := s.cursors.At(hint)
	start, mask := int(cursor.Load()), len(s.shards)-1
	// First the shards that would not be served, being idle or ahead, but have
	// tasks in the ring, as it is not known yet when those can be served, or something that has
	// expired.
	for i := range s.shards {
		j := (start + i) & mask
		sh := s.shards[j]
		failpoint.At("take active?")
		if sh.affinity.elsewhere(hint, now) {
			continue // the consumer that serves it takes in the ring
		}
		if !sh.ring.ready() && s.rounds.AskAt(j) >= now { // before ready; see shard.work
			continue
		}
		more = true
		failpoint.At("take pending?")
		if s.rounds.InTime(j) {
			continue // its turn comes below
		}
		if !sh.try() {
			sh.contention.note(now)
			busy = sh
		} else if n = sh.serve(dst, have, hint, now); n > 0 {
			return nil, n, true
		} else {
			now = s.shared.Clock.Now() // OnDrop may have taken its time
		}
	}
	for i := range s.shards {
		j := (start + i) & mask
		sh := s.shards[j]
		// Before its round and its lock: the consumer that serves it should not lose those cache lines.
		if sh.affinity.elsewhere(hint, now) && (have == 0 || sh.work()) {
			sh.contention.note(now)
			busy, more = sh, true
			continue
		}
		failpoint.At("take ready?")
		if s.rounds.Ready(j) {
			more = true
			if !s.rounds.InTime(j) {
				continue
			}
		} else if !s.rounds.Asks(j) {
			more = more || have > 0 && sh.ring.ready() // another consumer served it a moment ago
			continue
		}
		more = true
		if !sh.try() {
			sh.contention.note(now)
			busy = sh
		} else if n = sh.serve(dst, have, hint, now); n > 0 {
			if i > 0 {
				cursor.Store(uint32(j))
			}
			return nil, n, true
		} else {
			now = s.shared.Clock.Now()
		}
	}
	return busy, 0, more
}
