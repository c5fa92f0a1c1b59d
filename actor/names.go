package actor

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// The actors of a System by name, and those of a Kind by key. A map in parts is enough: names
// come and go with actors, and are looked up once per message to the actor of a key.

// made returns the value for a key in m, which the first look-up makes; where two do at the same time, one of the
// two values is kept.
func made[K comparable, V any](m *sync.Map, key K, value func() V) V {
	// Load first, as LoadOrStore needs the new value in any case, which allocates.
	v, ok := m.Load(key)
	if !ok {
		v, _ = m.LoadOrStore(key, value())
	}
	return v.(V) //nolint:forcetypeassert // each map has values of one type
}

const nameShards = 64

// names are the actors by name: a map in parts, each with its own lock.
// One of these for a System, and one for each Kind: there the names are keys.
type names struct {
	// Of this table: a name that fills one part of it fills no other table's.
	seed   maphash.Seed
	made   atomic.Uint64
	shards [nameShards]nameShard
}

// An RWMutex, as looks are many and names change with the lives of actors.
type nameShard struct {
	mu sync.RWMutex
	m  map[string]*actor
}

// shard returns the part that a name is in.
func (n *names) shard(name string) *nameShard {
	return &n.shards[maphash.String(n.seed, name)%nameShards]
}

// add registers an actor; false: the name is taken.
func (n *names) add(name string, a *actor) bool {
	sh := n.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	// A Kind may have few actors: its parts are made as they are needed.
	if sh.m == nil {
		sh.m = make(map[string]*actor)
	}
	if sh.m[name] != nil {
		return false
	}
	sh.m[name] = a
	return true
}

// get returns the actor with a name; nil: there is none.
func (n *names) get(name string) *actor {
	sh := n.shard(name)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.m[name]
}

// remove frees the name of a, if it is still its.
func (n *names) remove(name string, a *actor) {
	sh := n.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	// Another actor may have the name by now, if this one has ended twice over (Close).
	if sh.m[name] == a {
		delete(sh.m, name)
	}
}

// make registers an actor by a name that it makes. A user may have taken that name: then it makes another.
func (n *names) make(a *actor) {
	for taken := true; taken; taken = !n.add(a.name, a) {
		a.name = "~" + strconv.FormatUint(n.made.Add(1), 36)
	}
}

// all returns every actor; no lock is held in between.
func (n *names) all() iter.Seq[*actor] {
	return func(yield func(*actor) bool) {
		// Part by part: the locks are held for a copy each, and not for the loop.
		for i := range n.shards {
			sh := &n.shards[i]
			sh.mu.RLock()
			// A copy, as the loop's body takes the locks of actors, and may add or remove
			// names.
			list := slices.Collect(maps.Values(sh.m))
			sh.mu.RUnlock()
			for _, a := range list {
				if !yield(a) {
					return
				}
			}
		}
	}
}
