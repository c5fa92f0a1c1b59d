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
type ear[T any] struct {
	q *Queue[T]
	p int

	mu      sync.Mutex
	waiting []*fetcher[T] // in the order in which they are woken
	busy    bool          // a call is blocked
}

// add lets a fetcher be woken, once; false: the queue is closed.
func (e *ear[T]) add(f *fetcher[T]) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.busy {
		if !e.q.start(e.listen) {
			return false
		}
		e.busy = true
	}
	if f.from == nil { // it can use any wake-up; the others only some
		e.waiting = slices.Insert(e.waiting, 0, f)
	} else {
		e.waiting = append(e.waiting, f)
	}
	return true
}

// remove takes out a fetcher that does not wait any more.
func (e *ear[T]) remove(f *fetcher[T]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.Index(e.waiting, f); i >= 0 {
		e.waiting = slices.Delete(e.waiting, i, i+1)
	}
}

// next takes out the fetcher that is woken next; nil: none waits.
func (e *ear[T]) next() (f *fetcher[T]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting) > 0 {
		f, e.waiting = e.waiting[0], e.waiting[1:]
	}
	return f
}

// over ends the listening if no fetcher waits.
func (e *ear[T]) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy = len(e.waiting) > 0 && !e.q.over()
	return !e.busy
}

// listen blocks on the partition's list of wake-ups, again and again: between two calls that block, a wake-up stays in the list.
// So no wake-up is missed for as long as a fetcher waits.
func (e *ear[T]) listen() {
	db := e.q.sleep
	if db == nil {
		db = e.q.db
	}
	seconds := strconv.FormatFloat(longestSleep.Seconds(), 'f', 3, 64)
	for pause := firstPause; !e.over(); {
		cmd := redis.NewStringSliceCmd(context.Background(), "blpop", e.q.prefix[e.p]+":w", seconds)
		cmd.SetFirstKeyPos(1)
		err := db.Process(context.Background(), cmd)
		switch {
		case errors.Is(err, redis.Nil):
			pause = firstPause
		case err == nil:
			pause = firstPause
			if !e.wake() {
				e.q.pass(e.p)
			}
		default: // with the reply a wake-up may be lost: one fetcher looks, and gets an error if the server is away
			e.wake()
			_ = e.q.sleepFor(context.Background(), pause)
			pause = min(2*pause, lastPause)
		}
	}
}

// wake wakes a fetcher; false: none waits.
func (e *ear[T]) wake() bool {
	for f := e.next(); f != nil; f = e.next() {
		if f.wake(e.p) {
			return true
		}
	}
	return false
}

// pass gives a wake-up of a partition back.
func (q *Queue[T]) pass(p int) { _, _ = q.runWithSettings(context.Background(), tokenScript, p) }
