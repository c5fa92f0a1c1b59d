package compute

// The lines of a tenant follow S3-FIFO (Yang et al., SOSP 2023). What is new goes through
// the window, an eighth of what the tenant has. At its end the entry goes on to the main
// line if it was asked for there, or came back soon after it was evicted (a ghost); else it is
// evicted. The main line is a clock: what was asked for since it was last at the end goes
// to the front.
//
// What differs from the paper: an entry that only came back looks at no more than two entries
// of the main line, and if both were asked for, it is the one that goes. So a loop over more
// keys than there is room for does not wash out the main line; its hits are as many as there
// is room for. And each eviction is a bounded number of steps.
const (
	windowPart  = 8  // the window has one eighth of a tenant's weight
	looksBack   = 2  // entries of the main line with which an entry competes that came back
	looksAsked  = 16 // the same of an entry that was asked for
	looksBefore = 32 // after this many entries that were asked for, one of them goes
	portion     = 64 // evictions before others get the lock

	looksFree = 1024 // slots that the census passes for one eviction
)

// part returns the weight that the window may have once the given weight is added.
func (t *tenant[T]) part(coming int64) int64 {
	return max((t.weight+coming)/windowPart, 1)
}

// room evicts until w of a tenant fits, but no more than a portion of entries in one call:
// then it reports that there is more to do. For a w that cannot fit it evicts nothing. Under mu.
func (c *cache[T, K, V]) room(owner T, w int64) (fits, more bool) {
	if w > c.most {
		return false, false
	}
	x := c.tenants.byKey[owner]
	if x != nil {
		c.tenants.call(x)
	}
	if need := c.weight.Load() + w - c.size; need > 0 && !c.tenants.spare(x, need, c.size) {
		return false, false
	}
	for range portion {
		over := c.weight.Load()+w > c.size
		if !over && (x == nil || x.weight+w <= c.most) {
			return true, false
		}
		v := x
		if over {
			v = c.tenants.victim(x, w)
		}
		c.evict(v, v == x, w)
		if x != nil && x.weight == 0 {
			x = nil // it is forgotten
		}
	}
	return false, true
}

// evict takes out an entry of a tenant that has at least one. If own, the result of weight w, for
// which it makes room, is the tenant's too.
func (c *cache[T, K, V]) evict(t *tenant[T], own bool, w int64) {
	c.census()
	if !own {
		w = 0
	}
	if t.window.tail == 0 || t.main.tail != 0 && t.young+w <= t.part(w) {
		if !c.look(t, looksBefore) {
			c.drop(t, c.slots.node(t.main.tail))
		}
		return
	}
	n := c.slots.node(t.window.tail)
	looks := 0
	switch f := n.flags.Load(); {
	case f&visited != 0:
		looks = looksAsked
	case f&back != 0:
		looks = looksBack
	}
	if c.look(t, looks) {
		c.settle(t, n)
		return
	}
	c.drop(t, n)
}

// look evicts an entry at the end of the main line that was not asked for, if it finds one.
func (c *cache[T, K, V]) look(t *tenant[T], most int) bool {
	for range most {
		if t.main.tail == 0 {
			return false
		}
		n := c.slots.node(t.main.tail)
		if n.flags.Load()&visited == 0 {
			c.drop(t, n)
			return true
		}
		n.flags.And(^visited)
		t.main.remove(c.slots.link, n.slot)
		t.main.push(c.slots.link, n.slot)
	}
	return false
}

// settle moves an entry from the window to the main line.
func (c *cache[T, K, V]) settle(t *tenant[T], n *node[T, K, V]) {
	t.window.remove(c.slots.link, n.slot)
	t.young -= n.Weight()
	n.flags.And(^(visited | back))
	n.flags.Or(inMain)
	t.main.push(c.slots.link, n.slot)
}

// drop evicts an entry.
func (c *cache[T, K, V]) drop(t *tenant[T], n *node[T, K, V]) {
	h := c.hash(&n.key)
	if n.flags.Load()&asked != 0 {
		c.tenants.call(t)
	}
	c.ghosts.add(h, c.slots.live)
	c.takeFrom(t, h, n)
}

// census looks, per evicted entry, at as many slots as it takes to have seen all of them when the cache
// has turned over once. A tenant of which it finds an entry that was asked for since the last
// time is not silent. Few slots are free, unless there once were more entries, lighter ones.
func (c *cache[T, K, V]) census() {
	if len(c.tenants.byKey) == 1 {
		return
	}
	slots := len(c.slots.pages) * perPage
	for range min(max(slots/max(c.slots.live, perPage), 1), looksFree) {
		if c.slots.next(&c.tenants.at) {
			c.tenants.round++
		}
		if n := c.slots.node(c.tenants.at); n != nil && n.flags.Load()&asked != 0 {
			n.flags.And(^asked)
			c.tenants.call(c.tenants.byKey[n.key.Tenant])
		}
	}
}
