package lockfree

import (
	"fmt"

	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// atRest checks everything that has to hold while no call is in progress, first
// as the last calls have left it, then with all inboxes drained.
func atRest[K comparable, T any](s *Scheduler[K, T]) error { return withStopped(s, 0, 0) }

// withStopped is atRest with calls that were stopped before the lease holder can
// know of them: tickets is how many of them have one, credits how many have a
// credit.
func withStopped[K comparable, T any](s *Scheduler[K, T], tickets, credits int) error {
	for _, sh := range s.shards {
		sh.lease.Lock()
		err := sh.check()
		sh.lease.Unlock()
		if err != nil {
			return err
		}
	}
	queued, held, err := s.tally()
	if err != nil {
		return err
	}
	if held != queued+tickets {
		return fmt.Errorf("%d places are taken; %d queued, %d stopped", held, queued, tickets)
	}
	if out := s.credit.Out(); out != queued+credits || s.credit.Home() != (out == 0) {
		return fmt.Errorf("%d credits are out (home: %t); %d queued, %d stopped", out, s.credit.Home(), queued, credits)
	}
	if n := s.known.Load(); s.shared.Config.MaxTenants > 0 && int(n) != s.tenants.Size() {
		return fmt.Errorf("known is %d, %d tenants are in the map", n, s.tenants.Size())
	}
	if s.shared.Waiters.Waiting() {
		return fmt.Errorf("a producer waits for capacity")
	}
	return s.parkerAtRest()
}

// tally drains everything and returns the tasks queued and the places taken by
// the tenants' words.
func (s *Scheduler[K, T]) tally() (queued, held int, err error) {
	for _, sh := range s.shards {
		sh.lock()
		defer sh.unlock()
		sh.drainPolled()
		sh.flush()
	}
	s.tenants.Range(func(_ K, t *tenant[K, T]) bool {
		w := t.word.Load() + t.missing()
		held += t.held(w)
		if t.held(w) < t.Len() {
			err = fmt.Errorf("%v: %d places taken, %d queued", t.Key, t.held(w), t.Len())
		}
		if s.life.State() == serve.Open && !t.registered && w&deadBit == 0 && t.held(w) == 0 {
			err = fmt.Errorf("%v: it will never be forgotten", t.Key)
		}
		return err == nil
	})
	for _, sh := range s.shards {
		queued += sh.Queue.Len()
	}
	return queued, held, err
}

// parkerAtRest checks that no consumer sleeps while there is work.
func (s *Scheduler[K, T]) parkerAtRest() error {
	if n := s.parker.Parked(); n != 0 && s.work() {
		return fmt.Errorf("%d consumers sleep while there is work", n)
	}
	return nil
}

// check is for a goroutine that has just taken the lease, and has not begun: it looks at what
// the last holder has left. Producers may be at work.
func (sh *shard[K, T]) check() error {
	if sh.owing != nil || sh.owed != 0 {
		return fmt.Errorf("shard %d: a tenant is owed %#x", sh.index, sh.owed)
	}
	if n := len(sh.emptied) + len(sh.freed); n != 0 {
		return fmt.Errorf("shard %d: %d tenants left over in emptied and freed", sh.index, n)
	}
	for i, t := range sh.polled {
		switch {
		case !t.polled || int(t.at) != i || t.shard != sh:
			return fmt.Errorf("%v: in the list of polled tenants at %d; says %t, %d", t.Key, i, t.polled, t.at)
		case t.Len() == 0: // I4
			return fmt.Errorf("%v: polled without a task", t.Key)
		case !t.Blocked() && !sh.s.rounds.Ready(sh.index): // I4
			return fmt.Errorf("%v: polled on a shard that is not ready", t.Key)
		}
	}
	queued, ready, polled := 0, 0, 0
	var err error
	sh.s.tenants.Range(func(_ K, t *tenant[K, T]) bool {
		if t.shard == sh {
			queued += t.Len()
			if !t.Blocked() {
				ready += t.Len()
			}
			if t.polled {
				polled++
			}
			err = t.check()
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	q := sh.Queue
	switch {
	case q.Len() != queued || q.Ready() != ready:
		return fmt.Errorf("shard %d: %d queued, %d ready; its tenants have %d and %d", sh.index, q.Len(), q.Ready(), queued, ready)
	case polled != len(sh.polled):
		return fmt.Errorf("shard %d: %d polled tenants, %d in the list", sh.index, polled, len(sh.polled))
	case sh.Ready() != (ready > 0 || !sh.SharesTime() && q.Lingering()) || sh.s.rounds.Ready(sh.index) != sh.Ready():
		return fmt.Errorf("shard %d: %d ready, says %t, published %t", sh.index, ready, sh.Ready(), sh.s.rounds.Ready(sh.index))
	case sh.s.rounds.Asks(sh.index) != (q.Ready() > 0 || q.Lingering()):
		return fmt.Errorf("shard %d: lingering %t, published %t", sh.index, q.Lingering(), sh.s.rounds.Asks(sh.index))
	case sh.due.Load() > q.NextDue():
		return fmt.Errorf("shard %d: a task is due at %d, published %d", sh.index, q.NextDue(), sh.due.Load())
	}
	return nil
}

// places returns how many places have come free that the word does not say.
func (t *tenant[K, T]) places() int {
	if !t.behind {
		return 0
	}
	return int(t.at)
}

// check is for the holder of the lease of the tenant's shard.
func (t *tenant[K, T]) check() error {
	word := t.word.Load()
	w := word + t.missing()
	held, holds, limit := t.held(w), t.holds()-t.places(), t.limit.get()
	want := t.shard.s.shared.Limit(t.Key, limit)
	switch {
	case (w&polledBit != 0) != t.polled:
		return fmt.Errorf("%v: polled is %t, its word says %t", t.Key, t.polled, w&polledBit != 0)
	case held < t.Len() || held > limit && t.limit.word.Load() < limitTimes: // I2
		return fmt.Errorf("%v: %d queued, %d of %d places taken", t.Key, t.Len(), held, limit)
	case w&deadBit == 0 && limit != want:
		return fmt.Errorf("%v: its limit is %d, and SetLimit has said %d", t.Key, limit, want)
	case holds != held && t.word.Load() == word: // else a producer has come in between
		return fmt.Errorf("%v: holds %d, by the word %d", t.Key, holds, held)
	case int(usedIn(w)) != ring.Distance(tailOf(w), t.taker.Head())+t.Lent(): // nothing is owed
		return fmt.Errorf("%v: %d slots in use, and %d lent, its word says %d", t.Key, ring.Distance(tailOf(w), t.taker.Head()), t.Lent(), usedIn(w))
	case t.behind && (t.polled || t.Len() == 0):
		return fmt.Errorf("%v: its word is behind; polled %t, %d queued", t.Key, t.polled, t.Len())
	case w&deadBit != 0 && (held != 0 || t.polled): // I8
		return fmt.Errorf("%v: dead with %d places taken, polled %t", t.Key, held, t.polled)
	case t.Len() > 0 && !t.registered:
		return fmt.Errorf("%v: has tasks, and Sweep does not know it", t.Key)
	}
	return nil
}
