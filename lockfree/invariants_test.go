package lockfree

import (
	"fmt"
)

// atRest checks everything that has to hold while no call is in progress, first
// as the last calls have left it, then with all lanes fetched.
func atRest[K comparable, T any](s *Scheduler[K, T]) error { return withStopped(s, 0, 0) }

// withStopped is atRest with calls that were stopped before the holder can
// know of them: tickets is how many of them have one, credits how many have a
// credit.
func withStopped[K comparable, T any](s *Scheduler[K, T], tickets, credits int) error {
	for _, sh := range s.shards {
		sh.mu.Lock()
		err := sh.check()
		sh.mu.Unlock()
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

// tally fetches everything and returns the tasks queued, and the places taken by the tenants' words.
func (s *Scheduler[K, T]) tally() (queued, held int, err error) {
	for _, sh := range s.shards {
		sh.lock()
		defer sh.unlock()
		sh.fetchLanes()
	}
	s.tenants.Range(func(_ K, t *tenant[K, T]) bool {
		held += t.held()
		if t.held() < t.Len() {
			err = fmt.Errorf("%v: %d places taken, %d queued", t.Key, t.held(), t.Len())
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

// held returns how many places are taken: by queued tasks, and by calls in progress.
func (t *tenant[K, T]) held() int { return int(t.limit) - t.load().room() - int(t.owed) }

// check is for a goroutine that has just taken the lock, and has not begun: it looks at what
// the last holder has left. Producers may be at work.
func (sh *shard[K, T]) check() error {
	if n := len(sh.toShut); n != 0 || sh.tookIn {
		return fmt.Errorf("shard %d: %d tenants left over in mixed, tookIn %t", sh.index, n, sh.tookIn)
	}
	for i, t := range sh.withLane {
		switch {
		case t.laned == noLane || int(t.laneIndex) != i || t.shard != sh:
			return fmt.Errorf("%v: in the list of open lanes at %d; says %d, %d", t.Key, i, t.laned, t.laneIndex)
		case t.Len() == 0: // I4
			return fmt.Errorf("%v: open without a task", t.Key)
		case t.mixed:
			return fmt.Errorf("%v: open with a task that is not plain", t.Key)
		case !t.Blocked() && !sh.s.rounds.Ready(sh.index): // I4
			return fmt.Errorf("%v: open on a shard that is not ready", t.Key)
		}
	}
	queued, ready, open := 0, 0, 0
	var err error
	sh.s.tenants.Range(func(_ K, t *tenant[K, T]) bool {
		if t.shard == sh {
			queued += t.Len()
			if !t.Blocked() {
				ready += t.Len()
			}
			if t.laned != noLane {
				open++
			}
			err = t.check()
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	q, stays := sh.Queue, sh.s.alone == sh && sh.Ready() // see HasNews
	switch {
	case q.Len() != queued || q.Ready() != ready:
		return fmt.Errorf("shard %d: %d queued, %d ready; its tenants have %d and %d", sh.index, q.Len(), q.Ready(), queued, ready)
	case open != len(sh.withLane):
		return fmt.Errorf("shard %d: %d open lanes, %d in the list", sh.index, open, len(sh.withLane))
	case sh.Ready() != (ready > 0) && !stays || sh.s.rounds.Ready(sh.index) != sh.Ready():
		return fmt.Errorf("shard %d: %d ready, says %t, published %t", sh.index, ready, sh.Ready(), sh.s.rounds.Ready(sh.index))
	case sh.s.rounds.Asks(sh.index) != (q.Ready() > 0 || q.Lingering()) && !stays:
		return fmt.Errorf("shard %d: lingering %t, published %t", sh.index, q.Lingering(), sh.s.rounds.Asks(sh.index))
	case sh.s.deadlines.Load() && sh.due.Load() > q.NextDue():
		return fmt.Errorf("shard %d: a task is due at %d, published %d", sh.index, q.NextDue(), sh.due.Load())
	}
	return nil
}

// check is for the holder of the lock of the tenant's shard.
func (t *tenant[K, T]) check() error {
	w := t.load()
	want := t.shard.s.shared.Limit(t.Key, int(t.limit))
	fetched := between(t.freed.Load(), t.head)
	switch {
	case w.open() != (t.laned != noLane) || (t.lane.Load() != nil) != w.open():
		return fmt.Errorf("%v: laned is %d, its word says %t", t.Key, t.laned, w.open())
	case t.held() < t.Len(): // I2
		return fmt.Errorf("%v: %d queued, %d of %d places taken", t.Key, t.Len(), t.held(), t.limit)
	case t.owed < 0 || int(t.owed) > int(t.payAbove) || w.room() < 0 && t.owed > 0 || w.full() && t.payAbove > 0:
		return fmt.Errorf("%v: %d owed, %d may be; the word is %x", t.Key, t.owed, t.payAbove, w)
	case !w.dead() && int(t.limit) != want:
		return fmt.Errorf("%v: its limit is %d, and SetLimit has said %d", t.Key, t.limit, want)
	case t.laned != noLane && (fetched < t.Lent() || t.Lent() > 0 && fetched > t.Lent()+freeEvery): // a push may have copied what was lent
		return fmt.Errorf("%v: %d slots are not freed, %d lent", t.Key, fetched, t.Lent())
	case t.laned != lends && t.Lent() > 0:
		return fmt.Errorf("%v: laned is %d with %d lent", t.Key, t.laned, t.Lent())
	case w.dead() && (t.held() != 0 || t.laned != noLane): // I8
		return fmt.Errorf("%v: dead with %d places taken, laned %d", t.Key, t.held(), t.laned)
	case t.Len() > 0 && !t.Registered():
		return fmt.Errorf("%v: has tasks, and Sweep does not know it", t.Key)
	}
	return nil
}
