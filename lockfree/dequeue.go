package lockfree

import (
	"context"
	"math"

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
		before, sure := s.version()
		failpoint.At("take look")
		m, more := s.takeSome(dst[n:min(len(dst), n+serve.MaxHold)])
		n += m
		if more {
			continue
		}
		if n > 0 || sure && s.nothing(before) {
			break
		}
		failpoint.Gosched("take unsure") // something is just turning up
	}
	return n
}

// version changes whenever work turns up, or leaves a ring.
func (s *Scheduler[K, T]) version() (v uint64, sure bool) {
	v, sure = s.rounds.Version()
	for _, sh := range s.shards {
		v += sh.activations.Version()
	}
	return v, sure
}

// nothing reports whether there was an instant at which nothing deliverable was
// queued. The caller has found no shard with work, and before is the version
// from before that look. The shards are not looked at in one instant: work may
// come to one that was passed while others take what is on the next. So all are
// looked at once more. If the version is the same after that, then no shard
// became ready and no activation was taken out meanwhile, and one that had been
// put in before the second look would have been seen by it: there was nothing
// between the two looks.
func (s *Scheduler[K, T]) nothing(before uint64) bool {
	for _, sh := range s.shards {
		failpoint.At("nothing?")
		if sh.work() {
			return false
		}
	}
	failpoint.At("nothing version")
	after, _ := s.version()
	return after == before
}

// takeSome serves one shard that may be served now. It reports false when no
// shard has work.
func (s *Scheduler[K, T]) takeSome(dst []firq.Item[K, T]) (n int, more bool) {
	if len(s.shards) == 1 {
		sh := s.shards[0]
		if !sh.work() && !sh.lingering.Load() {
			return 0, false
		}
		failpoint.Lock(&sh.lease, "L1 lease")
		return sh.serve(dst, math.MaxUint64), true
	}
	cursor := s.cursors.Here()
	start, mask := int(cursor.Load()), len(s.shards)-1
	view := s.rounds.Look()
	// First the shards that would not be served, being idle or ahead, but have
	// announcements: nobody knows yet when those can be served.
	var busy *shard[K, T]
	for _, news := range [2]bool{true, false} {
		for i := range s.shards {
			j := (start + i) & mask
			sh := s.shards[j]
			failpoint.At("take active?")
			active := sh.activations.Ready() // before ready; see shard.work
			failpoint.At("take ready?")
			ready := s.rounds.Ready(j)
			if !active && !ready && !sh.lingering.Load() {
				continue
			}
			more = true
			limit := view.Limit(j)
			current := ready && s.rounds.Tag(j) <= limit
			if news != (active && !current) || !active && ready && !current {
				continue
			}
			failpoint.At("L1 try")
			if !sh.lease.TryLock() {
				busy = sh
				continue
			}
			if n = sh.serve(dst, limit); n > 0 {
				if !news && i > 0 {
					cursor.Store(uint32(j))
				}
				return n, true
			}
		}
	}
	// Everybody who may be served is being served by others: wait for one rather
	// than take from a shard that is ahead.
	if busy != nil {
		failpoint.Lock(&busy.lease, "L1 busy")
		n = busy.serve(dst, view.Limit(busy.index))
	}
	return n, more
}
