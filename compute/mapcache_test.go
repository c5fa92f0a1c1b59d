package compute

import "sync"

// mapCache is a Cache that never evicts, with a lock.
type mapCache struct {
	mu sync.Mutex
	m  map[Key[string, string]]*Entry[string]
}

func newMapCache() *mapCache { return &mapCache{m: map[Key[string, string]]*Entry[string]{}} }

func (c *mapCache) Get(k Key[string, string]) *Entry[string] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m[k]
}

func (c *mapCache) Set(k Key[string, string], e *Entry[string]) {
	if e.TTL() <= 0 || e.Weight() != 1 {
		panic("firq: an entry without a TTL or a weight")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m[k] = e
}

func (c *mapCache) Delete(k Key[string, string]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.m, k)
}

func (c *mapCache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.m)
}
