package baseline

import (
	"context"
	"math"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/park"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// TryDequeue returns the next item; false only when no deliverable task is
// queued.
func (s *Scheduler[K, T]) TryDequeue() (it firq.Item[K, T], ok bool) {
	ok = s.take(unsafe.Slice(&it, 1), true) == 1
	return it, ok
}

// Dequeue waits for the next item. (It is small, so that it is inlined into its
// wrapper for the type: an item is a hundred bytes to copy.)
func (s *Scheduler[K, T]) Dequeue(ctx context.Context) (it firq.Item[K, T], err error) {
	_, err = s.DequeueBatch(ctx, unsafe.Slice(&it, 1))
	return it, err
}

// DequeueBatch waits for at least one item.
func (s *Scheduler[K, T]) DequeueBatch(ctx context.Context, dst []firq.Item[K, T]) (int, error) {
	if ctx == nil {
		return 0, serve.ErrNilContext
	}
	if len(dst) == 0 {
		return 0, serve.ErrEmptyDst
	}
	if n := s.take(dst, true); n > 0 {
		return n, nil
	}
	return s.wait(ctx, dst)
}

// wait sleeps and takes again after the first take of DequeueBatch found nothing.
func (s *Scheduler[K, T]) wait(ctx context.Context, dst []firq.Item[K, T]) (int, error) {
	var w park.Waiter
	defer s.parker.Found(&w) // even if OnDrop panics
	for {
		if s.life.Over() {
			return 0, firq.ErrClosed
		}
		if err := s.parker.Sleep(ctx, &w); err != nil {
			return 0, err
		}
		if n := s.take(dst, false); n > 0 {
			return n, nil
		}
	}
}

// take fills dst with what is deliverable now. It goes on from shard to shard
// until dst is full or nothing is ready. first: the call begins.
func (s *Scheduler[K, T]) take(dst []firq.Item[K, T], first bool) int {
	if first { // a caller that has waited is not the next to call
		s.shared.Rethrow()
	}
	n := 0
	for n < len(dst) && s.life.State() != serve.Closed {
		m, more := s.takeSome(dst, n)
		n += m
		if !more && (n > 0 || s.nothing()) {
			break
		}
	}
	return n
}

// nothing reports whether there was an instant during the call at which nothing
// deliverable was queued: all shards are looked at, and none became ready meanwhile.
func (s *Scheduler[K, T]) nothing() bool {
	before, sure := s.rounds.Version()
	failpoint.At("take look")
	if sure && !s.rounds.AnyAsks() {
		failpoint.At("take sure?")
		if after, _ := s.rounds.Version(); after == before {
			return true
		}
	}
	failpoint.Gosched("take unsure") // a shard is just becoming ready
	return false
}

// takeSome serves one shard that may be served now. It reports false when no
// shard is ready. dst[:have] is what the call has to return already.
func (s *Scheduler[K, T]) takeSome(dst []firq.Item[K, T], have int) (n int, more bool) {
	if len(s.shards) == 1 {
		sh := s.shards[0]
		if !s.rounds.Asks(0) {
			return 0, false
		}
		failpoint.Lock(&sh.mu, "lock")
		return sh.serve(dst, have), true
	}
	cursor := s.cursors.Here()
	start, mask := int(cursor.Load()), len(s.shards)-1
	var busy, lingers *shard[K, T]
	for j, sh := range s.shards { // those that are ahead, but something of theirs has expired
		if s.due(j) && !s.rounds.InTime(j) && sh.mu.TryLock() {
			if n = sh.serve(dst, have); n > 0 {
				return n, true
			}
		}
	}
	for i := range s.shards {
		j := (start + i) & mask
		sh := s.shards[j]
		failpoint.At("take ready?")
		if !s.rounds.Ready(j) {
			if s.rounds.Asks(j) {
				lingers = sh
			}
			continue
		}
		more = true
		if !s.rounds.InTime(j) {
			continue
		}
		failpoint.At("lock try")
		if !sh.mu.TryLock() {
			busy = sh
			continue
		}
		if n = sh.serve(dst, have); n > 0 {
			if i > 0 {
				cursor.Store(uint32(j))
			}
			return n, true
		}
	}
	// All shards that may be served are being served by others: wait for one rather
	// than take from a shard that is ahead. Where there is none, one that lingers may have
	// become ready; and a consumer that finds nothing has seen off all tenants that linger.
	if busy == nil {
		busy = lingers
	}
	if busy != nil {
		more = true
		failpoint.Lock(&busy.mu, "lock busy")
		n = busy.serve(dst, have)
	}
	return n, more
}

// due reports whether a shard that is ahead is to be asked nevertheless.
func (s *Scheduler[K, T]) due(shard int) bool {
	due := s.rounds.Due(shard)
	return due != drr.NoDeadline && due < s.shared.Clock.Now()
}

// serve delivers into dst, of which the call has filled have already, until it is full, the
// shard is empty, the next delivery is in a round after the limit, or it has delivered
// serve.MaxHold. It returns how many it has delivered. It is called with mu held and unlocks it.
func (sh *shard[K, T]) serve(dst []firq.Item[K, T], have int) int {
	s, n, now := sh.s, have, int64(math.MinInt64)
	if s.life.State() != serve.Closed {
		now = s.shared.Clock.Now()
		if sh.SharesTime() { // else it never waits for a round
			sh.CatchUp()
			sh.Unwait(now)
		}
		sh.Queue.Control(s.life.State() == serve.Open)
		limit := sh.Limit() // it may have changed before the lock was ours
		for most := min(len(dst), have+serve.MaxHold); n < most; {
			t, token := sh.Next(&dst[n], now, limit)
			if t == nil {
				break // empty, ahead, or enough for one hold: the caller comes back
			}
			dst[n].Bind(ownerOf(&t.Tenant), token)
			if n++; n < most {
				limit = sh.Onward(limit)
			}
		}
		s.held.Add(int64(have - n))
		if s.shared.Waiters.Waiting() {
			for i := range dst[have:n] {
				s.shared.Waiters.Released(dst[have+i].Tenant, 1)
			}
		}
	}
	sh.unlockWith(dst[:n])
	s.sweep(now)
	return n - have
}

// SettleDone implements firq.Settler.
func (t *tenant[K, T]) SettleDone(token uint64) {
	sh := t.shard
	if !sh.s.shared.Flights {
		return
	}
	sh.lock()
	now := sh.s.shared.Clock.Now()
	sh.Done(&t.Tenant, token, now)
	sh.unlock()
	sh.s.sweep(now)
}

// SettleCharge implements firq.Settler.
func (t *tenant[K, T]) SettleCharge(token uint64, delta int64) { t.SettleFlow(token, 0, delta) }

// SettleFlow implements firq.FlowSettler. If the tenant was forgotten in between and is
// back, it is charged as it is now.
func (t *tenant[K, T]) SettleFlow(token, flow uint64, delta int64) {
	sh := t.shard
	sh.lock()
	if t = sh.tenants[t.Key]; t != nil {
		sh.Charge(&t.Tenant, token, flow, delta)
	}
	sh.unlock()
}

// CancelTicket takes a task of this tenant out of the queue.
func (t *tenant[K, T]) CancelTicket(tk *firq.Ticket) bool {
	sh := t.shard
	sh.lock()
	ok := sh.Cancel(&t.Tenant, tk)
	if ok {
		sh.s.held.Add(-1)
		sh.s.shared.Waiters.Released(t.Key, 1)
	}
	sh.unlock()
	sh.s.sweep(sh.s.shared.Clock.Now())
	return ok
}
