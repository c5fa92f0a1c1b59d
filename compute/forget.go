package compute

import (
	"fmt"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Forget forgets results, and errors, of a tenant. What is being made right now is not
// kept either: the calls that wait for it get it, but a call that begins after Forget
// has returned executes anew. It works after Close too.
func (s *Server[T, K, V]) Forget(tenant T, keys ...K) {
	for _, key := range keys {
		k := Key[T, K]{tenant, key}
		if s.odd(&k) {
			continue
		}
		h := s.hash(&k)
		s.shard(h).fence(func(f *flight[T, K, V]) bool { return f.key == k }, &k, h, func() {
			if s.keeps {
				s.remove(h, &k)
			}
		})
	}
}

// fence makes the flights for which meant is true keep no result and admit no further call;
// then it calls do. If one is given, with its hash, fence looks at the flights of that key only.
func (p *shard[T, K, V]) fence(meant func(*flight[T, K, V]) bool, one *Key[T, K], h uint64, do func()) {
	failpoint.Lock(&p.mu, "fence")
	defer p.mu.Unlock() // whatever a cache of others does
	if one != nil {
		if f := p.flights.find(h, one); f != nil {
			f.forgotten = true
			f.unlist()
		}
	} else {
		p.flights.each(func(f *flight[T, K, V]) {
			if meant(f) {
				f.forgotten = true
				f.unlist()
			}
		})
	}
	for f := range p.loose {
		if meant(f) {
			f.forgotten = true
			delete(p.loose, f)
		}
	}
	do()
}

// ForgetTenant forgets all results, and errors, of a tenant, as Forget does. It walks
// over all keys that are being made, and over the cache unless that is Config.Cache.
func (s *Server[T, K, V]) ForgetTenant(tenant T) {
	if s.tenants.Tenant(tenant) != nil {
		return
	}
	for i := range s.shards {
		s.shards[i].fence(func(f *flight[T, K, V]) bool { return f.key.Tenant == tenant }, nil, 0, func() {})
	}
	switch {
	case s.own != nil:
		s.own.removeIf(func(n *node[T, K, V]) bool { return n.key.Tenant == tenant })
	case s.other != nil:
		s.other.forgetTenant(tenant)
	}
}

// ForgetAll forgets everything, as Forget does.
func (s *Server[T, K, V]) ForgetAll() {
	for i := range s.shards {
		s.shards[i].fence(func(*flight[T, K, V]) bool { return true }, nil, 0, func() {})
	}
	switch {
	case s.own != nil:
		s.own.removeIf(func(*node[T, K, V]) bool { return true })
	case s.other != nil:
		s.other.forgetAll()
	}
}

// Warm forgets the key, and keeps v as if it had been made now: by TTL or TTLFor, Jitter
// and Weigh, whose panics go to the caller. What is being made right now does not replace
// it. With a Config by which no result is kept it only forgets.
func (s *Server[T, K, V]) Warm(tenant T, key K, v V) {
	k := Key[T, K]{tenant, key}
	if s.odd(&k) {
		return
	}
	var n *node[T, K, V]
	if s.keeps {
		n = s.entry(&k, v, nil, 0, s.clock.Now())
	}
	h := s.hash(&k)
	s.shard(h).fence(func(f *flight[T, K, V]) bool { return f.key == k }, &k, h, func() {
		if s.keeps {
			s.store(h, &k, n, nil)
		}
	})
}

// Peek returns what is kept of a key and not yet past its TTL; false: nothing, or an
// error. It executes, refreshes and counts nothing. Config.Clone copies the result.
func (s *Server[T, K, V]) Peek(tenant T, key K) (V, Info, bool) {
	k, miss := Key[T, K]{tenant, key}, none[V](nil)
	if !s.keeps || s.odd(&k) {
		return miss.val, miss.info, false
	}
	e := s.lookup(s.hash(&k), &k)
	if e == nil || e.error() != nil {
		return miss.val, miss.info, false
	}
	now := s.clock.Now()
	if now >= e.fresh {
		return miss.val, miss.info, false
	}
	return s.clone(e.val), Info{Source: Hit, Age: s.ageOf(e, now), Group: -1}, true
}

// odd reports whether a key is not equal to itself (NaN), so that no call would find its entry
// again. It panics, as a map does, if the key cannot be compared.
func (s *Server[T, K, V]) odd(k *Key[T, K]) bool {
	return s.tenants.Tenant(k.Tenant) != nil || s.names.Tenant(k.Key) != nil
}

var errCost = fmt.Errorf("%w: Cost: negative", firq.ErrInvalidTask)
