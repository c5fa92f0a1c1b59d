package fairness

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/drr"
)

// Log sees the order of service under the leases: it stands between the shards of
// a core and their queues. A test of the core puts it there before the first task.
type Log struct {
	now   atomic.Int64
	spies []*spy
	amid  func(shard int) // called under the shard's lease after a delivery, if not nil
}

// spy is the host of one shard's queue, which tells it of each delivery. Guarded by the shard's lock.
type spy struct {
	drr.Host[int, int]
	log   *Log
	shard int
	seen  []sight
}

// sight is a delivery.
type sight struct{ key, at int }

// Spy returns what the queue of a shard has to have as its host. It is called for the
// shards in their order.
func (l *Log) Spy(host drr.Host[int, int]) drr.Host[int, int] {
	p := &spy{Host: host, log: l, shard: len(l.spies)}
	l.spies = append(l.spies, p)
	return p
}

// Delivered implements drr.Observer.
func (p *spy) Delivered(t *drr.Tenant[int, int]) {
	p.seen = append(p.seen, sight{t.Key, int(p.log.now.Add(1))})
	if p.log.amid != nil {
		p.log.amid(p.shard)
	}
}

// Deliveries returns what was served since the last call, of the tenants with the
// given keys. next says how many tasks of each were served before, and is moved
// on. No call may be in progress.
func (l *Log) Deliveries(load Load, keys, next []int) []Delivery {
	index := make(map[int]int, len(keys))
	for i, k := range keys {
		index[k] = i
	}
	var log []Delivery
	for _, p := range l.spies {
		for _, x := range p.seen {
			i, ok := index[x.key]
			if !ok {
				continue
			}
			log = append(log, Delivery{i, load.Costs[i][next[i]], x.at, x.at}) // in order: FIFO
			next[i]++
		}
		p.seen = nil
	}
	l.now.Store(0)
	return log
}
