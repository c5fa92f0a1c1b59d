package firqredis

import (
	"sync"
	"time"
)

// The largest batch of one script.
const (
	maxBatch = 500
	maxBytes = 1 << 20
)

// batcher lets calls that are made at the same time share scripts (group commit): calls that come while a
// script runs go with the next one.
type batcher[R any] struct {
	linger time.Duration
	run    func(rs []R)             // one script; it answers each of them
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
	for {
		b.mu.Lock()
		n, size := 0, 0
		for n < len(b.waiting) && n < maxBatch {
			if b.size != nil {
				if size += b.size(&b.waiting[n]); size > maxBytes && n > 0 {
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
		now := b.waiting[:n:n]
		b.waiting = b.waiting[n:]
		b.mu.Unlock()
		b.run(now)
	}
}
