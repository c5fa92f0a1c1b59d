package compute

// ghosts remember which keys a shard has evicted of late: a mark of each, in a table with
// half as many places as the shard has entries. A place has the key that was evicted last
// of those that belong there, so nothing is ever searched, and it is a byte per entry. Four
// times as many places gain a point where popularity shifts and lose one where it does
// not. Guarded by the shard.
//
// Of the pairs of keys that share a place, one in 32,768 has the same mark too. Then a new
// entry counts as one that came back, and the hand spares it once.
type ghosts []uint16

// at returns the place of a key, and its mark, which is not 0. The bits of the hash are
// not those that choose the shard, nor, up to 2^32 entries, each other's.
func (g ghosts) at(h uint64) (place *uint16, mark uint16) {
	return &g[first(h, len(g))], uint16(h>>16) | 1
}

// add notes that a key is evicted.
func (g ghosts) add(h uint64) {
	place, mark := g.at(h)
	*place = mark
}

// take reports whether a key was evicted of late, and forgets that.
func (g ghosts) take(h uint64) bool {
	if len(g) == 0 { // nothing is there yet
		return false
	}
	place, mark := g.at(h)
	was := *place == mark
	if was {
		*place = 0
	}
	return was
}
