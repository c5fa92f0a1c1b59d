package model

// lockfree is the low-contention core. Producers write the tenant's word and a slot of its
// inbox, and announce the tenant where nobody would come by; consumers choose a shard, try
// its lease, take in what was announced, and serve a task.
type lockfree struct {
	*driver
	rings   []line // of the shards, to be read together
	cursors []int  // by processor

	probe, hold, served, nothing, empty, emptied step
}

const (
	none       = -1
	inboxSize  = 16
	fillAt     = inboxSize / 2 // an inbox with so many is drained
	leaseTries = 64
)

func newLockfree(d *driver) *lockfree {
	q := &lockfree{driver: d, rings: make([]line, len(d.shards)), cursors: cursorsOf(d)}
	q.probe, q.hold, q.served, q.nothing = q.onProbe, q.onHold, q.onServed, q.onNothing
	q.empty, q.emptied = q.onEmpty, q.onEmptied
	return q
}

func (q *lockfree) put(g *goroutine) step {
	t, sh, p := g.tenant, g.shard, g.on
	it := item{g.task, p.id + 1}
	q.write(p, &t.word)
	switch {
	case t.inbox.len() >= inboxSize && g.tries < leaseTries && q.elsewhere(g, sh):
		g.tries++
		return q.yield(g, q.driver.put)
	case t.inbox.len() >= inboxSize:
		return q.acquire(g, &sh.mutex, q.empty)
	case !t.polled && t.inbox.len() == 0: // it goes with the announcement
		q.announce(p, sh, t, it)
	default:
		q.fetch(p, t.drained, 1)
		if t.inbox.push(it); !t.polled {
			q.announce(p, sh, t, item{task: none})
		}
	}
	q.queued++
	return q.produced
}

// announce writes the tail of the ring, and a slot that the last consumer has read.
func (q *lockfree) announce(p *processor, sh *shard, t *tenant, it item) {
	q.write(p, &q.rings[sh.index])
	q.fetch(p, sh.by, 1)
	it.by = p.id + 1
	sh.announced, sh.carried = append(sh.announced, t), append(sh.carried, it)
}

// elsewhere reports whether another processor is at the shard.
func (q *lockfree) elsewhere(g *goroutine, sh *shard) bool {
	q.read(g.on, &sh.affinity)
	return sh.by != 0 && sh.by != g.on.id+1 && g.on.now-sh.at < q.Recent
}

// onEmpty empties an inbox that its producer has found full. Under the lease.
func (q *lockfree) onEmpty(g *goroutine) step {
	q.begin(g)
	q.drain(g, g.tenant)
	return q.emptied
}

func (q *lockfree) onEmptied(g *goroutine) step {
	q.after(g, g.shard)
	return q.release(g, &g.shard.mutex, q.driver.put)
}

func (q *lockfree) take(g *goroutine) step {
	if q.queued == 0 {
		return q.sleep(g)
	}
	g.probe = 0
	if len(q.shards) > 1 {
		q.readAll(g.on, q.rounds.tags)
		q.readAll(g.on, q.rings)
	}
	return q.probe
}

// onProbe tries the shards that may be served, or have announcements, from the processor's cursor
// on. If others are at all of them it lets others run, and tries again.
func (q *lockfree) onProbe(g *goroutine) step {
	least, start := q.rounds.least(), q.cursors[g.on.id]
	for g.probe < len(q.shards) {
		sh := q.shards[(start+g.probe)%len(q.shards)]
		g.probe++
		if len(q.shards) > 1 {
			g.on.now += float64(q.Look * float64(len(q.shards))) // each look compares with all others
		}
		if !q.mayServe(sh, least) && len(sh.announced) == 0 {
			continue
		}
		g.shard = sh
		if q.elsewhere(g, sh) {
			continue
		}
		if q.try(g, &sh.mutex) {
			q.cursors[g.on.id] = sh.index
			return q.hold
		}
		return q.probe
	}
	if g.tries++; g.tries > leaseTries && g.shard != nil {
		g.tries = 0
		return q.acquire(g, &g.shard.mutex, q.hold)
	}
	return q.yield(g, q.driver.take)
}

func (q *lockfree) mayServe(sh *shard, least int) bool {
	return least >= 0 && q.rounds.inTime(sh.index, least)
}

// begin takes in what was announced. Under the lease.
func (q *lockfree) begin(g *goroutine) {
	p, sh := g.on, g.shard
	q.write(p, &sh.data)
	q.join(sh)
	if len(sh.announced) == 0 {
		return
	}
	q.write(p, &q.rings[sh.index])
	for i, t := range sh.announced {
		it := sh.carried[i]
		if q.fetch(p, it.by, 1); it.task == none {
			q.drain(g, t)
			continue
		}
		sh.push(t, it)
		q.settle(p, t)
	}
	sh.announced, sh.carried = sh.announced[:0], sh.carried[:0]
}

// drain empties an inbox.
func (q *lockfree) drain(g *goroutine, t *tenant) {
	p := g.on
	q.write(p, &t.word)
	for t.inbox.len() > 0 {
		it := t.inbox.pop()
		q.fetch(p, it.by, 1)
		g.shard.push(t, item{it.task, 0}) // from now on it is the shard's
	}
	t.drained = p.id + 1
	q.settle(p, t)
}

// settle makes a tenant polled that has two tasks: somebody will come by.
func (q *lockfree) settle(p *processor, t *tenant) {
	if q.write(p, &t.word); t.tasks.len() > 1 {
		t.polled = true
	}
}

func (q *lockfree) onHold(g *goroutine) step {
	p, sh := g.on, g.shard
	q.begin(g)
	if sh.by != p.id+1 || p.now-sh.at > q.Touch {
		q.write(p, &sh.affinity)
		sh.by, sh.at = p.id+1, p.now
	}
	if sh.turns.len() == 0 || !q.inTimeNow(p, sh) {
		return q.nothing
	}
	p.now += float64(q.anatomy.TakeIn * q.perTask)
	t := q.serve(g, sh)
	q.write(p, &t.word) // its place
	more := t.tasks.len() > 0
	if t.inbox.len() >= fillAt || !more && t.inbox.len() > 0 {
		q.drain(g, t) // which makes it active if it was not
	}
	if more {
		sh.turns.push(t)
	}
	if t.tasks.len() == 0 {
		t.polled = false
	}
	return q.served
}

// inTimeNow is asked again under the lease, where the shard knows its own tag.
func (q *lockfree) inTimeNow(p *processor, sh *shard) bool {
	if len(q.shards) == 1 {
		return true
	}
	q.readAll(p, q.rounds.tags)
	least := q.rounds.least()
	if least < 0 || least == sh.index {
		return true
	}
	lead := 0
	if sh.index < least {
		lead = 1
	}
	return sh.tag() <= q.rounds.tag[least]+lead
}

func (q *lockfree) onServed(g *goroutine) step {
	q.after(g, g.shard)
	return q.release(g, &g.shard.mutex, q.consumed)
}

// onNothing gives back a lease under which there was nothing to serve yet.
func (q *lockfree) onNothing(g *goroutine) step {
	q.after(g, g.shard)
	return q.release(g, &g.shard.mutex, q.driver.take)
}
