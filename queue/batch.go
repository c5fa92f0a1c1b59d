package queue

import (
	"sync"
	"time"
)

// batcher lets calls that are made at the same time share a call of the engine (group commit): those that
// come while one is under way go with the next one.
type batcher[R any] struct {
	linger time.Duration
	rest   time.Duration            // how long it waits at most for more between two runs, if the first one was not full: half as long as that took
	run    func(rs []R)             // one call of the engine; it answers each of them
	start  func(f func()) (ok bool) // starts a goroutine
	size   func(r *R) int           // bytes; nil: 0

	mu      sync.Mutex
	waiting []R
	busy    bool // work is under way
}

// add hands over tasks to send; false: the queue is closed.
func (b *batcher[R]) add(rs ...R) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.busy {
		if !b.start(b.work) {
			return false
		}
		b.busy = true
	}
	b.waiting = append(b.waiting, rs...)
	return true
}

// work sends until nothing waits.
func (b *batcher[R]) work() {
	if b.linger > 0 {
		time.Sleep(b.linger)
	}
	for took, rested := time.Duration(0), true; ; {
		b.mu.Lock()
		n, size := 0, 0
		for n < len(b.waiting) && n < MaxBatch {
			if b.size != nil {
				if size += b.size(&b.waiting[n]); size > MaxBytes && n > 0 {
					break
				}
			}
			n++
		}
		if n == 0 {
			b.busy, b.waiting = false, nil
			b.mu.Unlock()
			return
		}
		if n < MaxBatch && !rested {
			b.mu.Unlock()
			rested = true
			time.Sleep(min(took/2, b.rest))
			continue
		}
		now := b.waiting[:n:n]
		b.waiting = b.waiting[n:]
		b.mu.Unlock()
		if b.rest == 0 {
			b.run(now)
			continue
		}
		began := time.Now()
		b.run(now)
		took, rested = time.Since(began), false
	}
}
