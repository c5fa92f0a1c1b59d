package drr

// Lend queues n plain tasks that are already in slots of a ring, in the
// order of the ring, the first at from. The Queue delivers them from there, and zeroes their payloads, so that
// each is written once and read once. A slot belongs to the Queue until it is not Lent
// any more; all slots that a tenant has lent are neighbours in one ring. Lend must not be called
// for a tenant for which Lends is false.
func (q *Queue[K, T]) Lend(t *Tenant[K, T], ring []Slot[T], from, n int) {
	t.line.row.lend(&q.pool, ring, from, n)
	q.pushed(&t.seat, normalLevel, n, t.mask == 0, t.mask&(1<<normalLevel) == 0)
}

// Lent returns how many slots the Queue has not given back yet: the last ones that it was
// lent. It gives back the oldest first.
func (t *Tenant[K, T]) Lent() int { return t.line.row.lent() }

// Spill copies the tasks that are in Lent slots, so that none is Lent any more.
func (q *Queue[K, T]) Spill(t *Tenant[K, T]) { t.line.row.spill(&q.pool) }
