package firqredis

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ear listens for the wake-ups of a partition, on one connection for all fetchers of the process. A wake-up
// is for one of them.
type ear struct {
	e *engine
	p int

	mu      sync.Mutex
	waiting []*fetcher // in the order in which they are woken
	busy    bool       // a call is blocked
}

// add lets a fetcher be woken, once; false: the queue is closed.
func (r *ear) add(f *fetcher) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.busy {
		if r.e.over() {
			return false
		}
		r.e.all.Go(r.listen)
		r.busy = true
	}
	if f.from == nil { // it can use any wake-up; the others only some
		r.waiting = slices.Insert(r.waiting, 0, f)
	} else {
		r.waiting = append(r.waiting, f)
	}
	return true
}

// remove takes out a fetcher that does not wait any more.
func (r *ear) remove(f *fetcher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiting, f); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}

// next takes out the fetcher that is woken next; nil: none waits.
func (r *ear) next() (f *fetcher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) > 0 {
		f, r.waiting = r.waiting[0], r.waiting[1:]
	}
	return f
}

// over ends the listening if no fetcher waits.
func (r *ear) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = len(r.waiting) > 0 && !r.e.over()
	return !r.busy
}

// listen blocks on the partition's list of wake-ups, again and again: between two calls that block, a wake-up stays in the list.
// So no wake-up is missed for as long as a fetcher waits.
func (r *ear) listen() {
	db := r.e.sleep
	if db == nil {
		db = r.e.db
	}
	seconds := strconv.FormatFloat(longestSleep.Seconds(), 'f', 3, 64)
	for pause := firstPause; !r.over(); {
		cmd := redis.NewStringSliceCmd(context.Background(), "blpop", r.e.prefix[r.p]+":w", seconds)
		cmd.SetFirstKeyPos(1)
		err := db.Process(context.Background(), cmd)
		switch {
		case errors.Is(err, redis.Nil):
			pause = firstPause
		case err == nil:
			pause = firstPause
			if !r.wake() {
				r.e.pass(r.p)
			}
		default: // with the reply a wake-up may be lost: one fetcher looks, and gets an error if the server is away
			r.wake()
			_ = r.e.sleepFor(context.Background(), pause)
			pause = min(2*pause, lastPause)
		}
	}
}

// wake wakes a fetcher; false: none waits.
func (r *ear) wake() bool {
	for f := r.next(); f != nil; f = r.next() {
		if f.wake(r.p) {
			return true
		}
	}
	return false
}

// pass gives a wake-up of a partition back.
func (e *engine) pass(p int) { _, _ = e.runWithSettings(context.Background(), tokenScript, p) }
