package drr

// Lend is PushPlain for n tasks that are in slots of a ring already, from one on, in the
// order of the ring. The Queue delivers them from there, and zeroes their payloads, so that
// each is written once and read once. The slots belong to the Queue until they are not Lent
// any more; those that a tenant is lent at a time are of one ring, one behind the other. Not
// for a tenant for which Lends is false.
func (q *Queue[K, T]) Lend(t *Tenant[K, T], ring []Slot[T], from, n int) {
	t.line.lane.lend(&q.pool, ring, from, n)
	q.pushed(&t.seat, usual, n, t.mask == 0, t.mask&(1<<usual) == 0)
}

// Lent returns how many slots the Queue has not given back yet: the last ones that it was
// lent. It gives them back from the oldest on.
func (t *Tenant[K, T]) Lent() int { return t.line.lane.lent() }

// Spill copies the tasks that are in Lent slots, so that none is Lent any more.
func (q *Queue[K, T]) Spill(t *Tenant[K, T]) { t.line.lane.spill(&q.pool) }
