package actor

import (
	"hash/maphash"
	"strconv"
	"sync"
	"sync/atomic"
)

const nameShards = 64

// names are the actors by name: a map in parts, each with its own lock.
type names struct {
	seed   maphash.Seed
	made   atomic.Uint64
	shards [nameShards]nameShard
}

type nameShard struct {
	mu sync.RWMutex
	m  map[string]*actor
}

func (n *names) shard(name string) *nameShard {
	return &n.shards[maphash.String(n.seed, name)%nameShards]
}

// add registers an actor; false: the name is taken.
func (n *names) add(name string, a *actor) bool {
	sh := n.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.m == nil {
		sh.m = make(map[string]*actor)
	}
	if sh.m[name] != nil {
		return false
	}
	sh.m[name] = a
	return true
}

func (n *names) get(name string) *actor {
	sh := n.shard(name)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.m[name]
}

func (n *names) remove(name string, a *actor) {
	sh := n.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.m[name] == a {
		delete(sh.m, name)
	}
}

// make returns a name that it has not returned before. A user may have taken that name.
func (n *names) make() string { return "~" + strconv.FormatUint(n.made.Add(1), 36) }

// all calls f with every actor, without a lock.
func (n *names) all(f func(*actor)) {
	for i := range n.shards {
		sh := &n.shards[i]
		sh.mu.RLock()
		list := make([]*actor, 0, len(sh.m))
		for _, a := range sh.m {
			list = append(list, a)
		}
		sh.mu.RUnlock()
		for _, a := range list {
			f(a)
		}
	}
}
