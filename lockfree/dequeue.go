package lockfree

import (
	"context"
	"runtime"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/internal/park"
	"github.com/firq-go/firq/internal/serve"
)

// TryDequeue returns the next item; false only when nothing deliverable is
// queued. Where others hold the only leases that matter, it waits for one.
func (s *Scheduler[K, T]) TryDequeue() (firq.Item[K, T], bool) {
	var it [1]firq.Item[K, T]
	n := s.take(it[:])
	return it[0], n == 1
}

// Dequeue waits for the next item.
func (s *Scheduler[K, T]) Dequeue(ctx context.Context) (firq.Item[K, T], error) {
	var it [1]firq.Item[K, T]
	_, err := s.DequeueBatch(ctx, it[:])
	return it[0], err
}

// DequeueBatch waits for at least one item.
func (s *Scheduler[K, T]) DequeueBatch(ctx context.Context, dst []firq.Item[K, T]) (int, error) {
	if ctx == nil {
		return 0, serve.ErrNilContext
	}
	if len(dst) == 0 {
		return 0, serve.ErrEmptyDst
	}
	var w park.Waiter
	defer s.parker.Found(&w) // even if OnDrop panics
	for {
		if n := s.take(dst); n > 0 {
			return n, nil
		}
		if s.life.Over() {
			return 0, firq.ErrClosed
		}
		if err := s.parker.Sleep(ctx, &w); err != nil {
			return 0, err
		}
	}
}

// take fills dst with what is deliverable now. It goes on from shard to shard
// until dst is full or there is no work.
func (s *Scheduler[K, T]) take(dst []firq.Item[K, T]) int {
	n := 0
	for n < len(dst) && s.life.State() != serve.Closed {
		m, more := s.takeSome(dst[n:min(len(dst), n+serve.MaxHold)])
		n += m
		if !more && (n > 0 || s.nothing()) {
			break
		}
	}
	return n
}

// nothing reports whether there was an instant during the call at which nothing
// deliverable was queued. The shards are not looked at in one instant: work may
// come to one that was passed while others take what is on the next. So all are
// looked at twice, and those who were served their last task have to be seen off
// (lingering). If the version is the same before and after, then no shard
// became ready and no activation was taken out meanwhile, and one that had been
// put in before the second look would have been seen by it: there was nothing
// between the two looks.
func (s *Scheduler[K, T]) nothing() bool {
	before, sure := s.version()
	if sure && !s.anyWork("nothing first?") && !s.anyWork("nothing?") && !s.anyLingers() {
		failpoint.At("nothing version")
		if after, _ := s.version(); after == before {
			return true
		}
	}
	failpoint.Gosched("take unsure") // something is just turning up
	return false
}

// anyLingers reports whether on some shard somebody has still to be seen off. It
// comes after a look at whether the shards are ready, as it is said before.
func (s *Scheduler[K, T]) anyLingers() bool {
	for _, sh := range s.shards {
		if sh.lingering.Load() {
			return true
		}
	}
	return false
}

// version changes whenever work turns up, or leaves a ring.
func (s *Scheduler[K, T]) version() (v uint64, sure bool) {
	v, sure = s.rounds.Version()
	for _, sh := range s.shards {
		v += sh.activations.Version()
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

// leaseTries is how often a consumer that finds every lease taken that matters
// lets others run and looks again, before it waits for one. A lease is held for a
// fraction of a microsecond; to sleep and be woken takes tens of it.
const leaseTries = 64

// takeSome serves one shard that may be served now. It reports false when no
// shard has work.
func (s *Scheduler[K, T]) takeSome(dst []firq.Item[K, T]) (n int, more bool) {
	for tries := 0; ; tries++ {
		busy, n, more := s.tryShards(dst)
		if busy == nil {
			return n, more
		}
		if failpoint.On || tries == leaseTries {
			failpoint.Lock(&busy.lease, "L1 busy")
			return busy.serve(dst), true
		}
		runtime.Gosched()
	}
}

// tryShards serves one shard that may be served now. If all of those are being
// served by others it returns one of them: to wait for, rather than take from a
// shard that is ahead. It reports more false when no shard has work.
func (s *Scheduler[K, T]) tryShards(dst []firq.Item[K, T]) (busy *shard[K, T], n int, more bool) {
	if len(s.shards) == 1 {
		sh := s.shards[0]
		if !sh.work() && !sh.lingering.Load() {
			return nil, 0, false
		}
		n = s.tryServe(sh, dst, &busy)
		return busy, n, true
	}
	cursor := s.cursors.Here()
	start, mask := int(cursor.Load()), len(s.shards)-1
	// First the shards that would not be served, being idle or ahead, but have
	// announcements: nobody knows yet when those can be served.
	for i := range s.shards {
		j := (start + i) & mask
		sh := s.shards[j]
		failpoint.At("take active?")
		if !sh.activations.Ready() { // before ready; see shard.work
			continue
		}
		more = true
		failpoint.At("take news?")
		if s.rounds.InTime(j) {
			continue // its turn comes below
		}
		if n = s.tryServe(sh, dst, &busy); n > 0 {
			return nil, n, true
		}
	}
	for i := range s.shards {
		j := (start + i) & mask
		sh := s.shards[j]
		failpoint.At("take ready?")
		if s.rounds.Ready(j) {
			more = true
			if !s.rounds.InTime(j) {
				continue
			}
		} else if !sh.lingering.Load() {
			continue
		}
		more = true
		if n = s.tryServe(sh, dst, &busy); n > 0 {
			if i > 0 {
				cursor.Store(uint32(j))
			}
			return nil, n, true
		}
	}
	return busy, 0, more
}

// tryServe serves the shard unless somebody else does, or another processor is at
// it; then it notes the shard in busy.
func (s *Scheduler[K, T]) tryServe(sh *shard[K, T], dst []firq.Item[K, T], busy **shard[K, T]) int {
	failpoint.At("L1 try")
	if sh.warm.elsewhere(s.env.Clock) || !sh.lease.TryLock() {
		*busy = sh
		return 0
	}
	return sh.serve(dst)
}
