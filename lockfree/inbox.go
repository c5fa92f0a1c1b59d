package lockfree

import (
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/inbox"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// A tenant's inbox has firstBox slots as long as its tasks come one by one, which is all
// that many tenants ever need, and inboxSize from when it was found full. If plain tasks
// fill that, which stay in their slots until they are delivered, it has lendSize, until
// the tenant has none left. A producer that finds it full takes the lease and empties it.
// The field used of the word holds more than lendSize.
const (
	firstBox  = 1
	inboxSize = 16
	lendSize  = 256
)

// fillAt is how many tasks have to be in the inbox, and not yet in the queue, for a visit to
// drain the inbox of a tenant whose order does not depend on its content.
const fillAt = inboxSize / 2

// resize replaces an inbox by one of another size, if no slot is in use. It fills used
// for that time, so that no ticket is drawn; and it passes a ticket, so that no producer draws
// one with a word that it read before. Under the lease, after flush.
func (t *tenant[K, T]) resize(size int) {
	w := t.word.Load()
	failpoint.At("resize")
	if usedIn(w) != 0 || !t.word.CompareAndSwap(w, w+usedMask) {
		return
	}
	failpoint.At("resize swap")
	first := ring.After(tailOf(w))
	if old := t.inbox.Load(); old.Size() == lendSize {
		t.shard.keepBox(old)
	}
	t.inbox.Store(t.shard.box(size, first))
	t.taker.Init(first)
	failpoint.At("resized")
	t.word.Add(tailUnit - usedMask)
}

// box returns an inbox.
func (sh *shard[K, T]) box(size int, first uint32) *inbox.Inbox[T] {
	if size != lendSize {
		return inbox.New[T](size, first)
	}
	sh.large++
	n := len(sh.boxes) - 1
	if n < 0 {
		return inbox.New[T](size, first)
	}
	b := sh.boxes[n]
	sh.boxes[n] = nil
	sh.boxes = sh.boxes[:n]
	b.Reset(first)
	return b
}

// mostLarge is how many idle tenants of a shard may have an inbox of lendSize.
const mostLarge = 256

// keepBoxes is how many inboxes of lendSize a shard keeps for the next tenants.
const keepBoxes = 16

// keepBox takes back an inbox of lendSize without tasks that a tenant had.
func (sh *shard[K, T]) keepBox(b *inbox.Inbox[T]) {
	sh.large--
	if !b.Mixed() && len(sh.boxes) < keepBoxes {
		sh.boxes = append(sh.boxes, b)
	}
}

// emptyAndGrow empties an inbox that was found full, and drained, and replaces it by a larger
// one. If nothing was lent, inboxSize is enough.
func (sh *shard[K, T]) emptyAndGrow(t *tenant[K, T]) {
	lent := t.Lent()
	sh.empty(t)
	sh.flush()
	switch size := t.inbox.Load().Size(); {
	case size < inboxSize:
		t.resize(inboxSize)
	case size < lendSize && lent > 0:
		t.resize(lendSize)
	}
}

// shrink gives a tenant that has no task an inbox of the usual size, if many have a large
// one. After flush.
func (t *tenant[K, T]) shrink() {
	if t.shard.large > mostLarge && t.Len() == 0 && t.inbox.Load().Size() > inboxSize {
		t.resize(inboxSize)
	}
}

// crowded reports whether, by the tenant's word, a visit has to drain the inbox. Under the
// lease.
func (t *tenant[K, T]) crowded(word uint64) bool {
	return word&usedMask >= fillAt*usedUnit && t.isCrowded(word)
}

// isCrowded is crowded where fillAt slots are in use.
func (t *tenant[K, T]) isCrowded(word uint64) bool {
	box := t.inbox.Load()
	if box.Mixed() {
		return ring.Distance(tailOf(word), t.taker.Head()) >= fillAt
	}
	return int(usedIn(word)) >= box.Size()-box.Size()/4
}
