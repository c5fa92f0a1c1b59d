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

// spy is the host of one shard's queue. A queue calls Fill before it looks at a tenant, so
// before each delivery; the next call of Fill shows whether there was one. Guarded by the
// shard's lease.
type spy struct {
	drr.Host[int, int]
	log    *Log
	shard  int
	tenant *drr.Tenant[int, int] // looked at last
	had    int                   // tasks that it had then
	at     int                   // when that was
	seen   []sight
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

// Fill notes which tenants were served since the last time, and which one is looked at now. A tenant that is
// measured gets no tasks while the log is written, so that having fewer means a delivery.
func (p *spy) Fill(t *drr.Tenant[int, int]) {
	p.note()
	p.Host.Fill(t)
	p.tenant, p.had, p.at = t, t.Len(), int(p.log.now.Add(1))
}

func (p *spy) note() {
	if p.tenant != nil && p.tenant.Len() < p.had {
		p.seen = append(p.seen, sight{p.tenant.Key, p.at})
		if p.log.amid != nil {
			p.log.amid(p.shard)
		}
	}
	p.tenant = nil
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
		p.note()
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
