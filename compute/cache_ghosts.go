package compute

// ghosts remember which keys were evicted of late: a mark of each, in a table with about as
// many places as there are entries. A place has the key that was evicted last of those
// that belong there, so nothing is ever searched, and it is two bytes per entry. Guarded by the
// cache.
//
// Of the pairs of keys that share a place, one in 32,768 has the same mark too. Then a new
// entry counts as one that came back.
type ghosts []uint16

// at returns the place of a key, and its mark, which is not 0. Up to 2^32 entries they are
// not the same bits of the hash.
func (g ghosts) at(h uint64) (place *uint16, mark uint16) {
	return &g[first(h, len(g))], uint16(h>>16) | 1
}

// add records that a key is evicted from a cache with the given number of entries.
func (g *ghosts) add(h uint64, entries int) {
	if n := len(*g); entries > n+n/4 || entries < n/4 {
		*g = make(ghosts, entries+entries/8) // what the old one has is not worth moving
	}
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
