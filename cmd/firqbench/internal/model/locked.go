package model

// locked is a queue behind a mutex, or several with one each: baseline-1, baseline-sharded,
// mutex-simple, and a channel.
type locked struct {
	*driver
	count   line  // of all tasks, where there is one
	cursors []int // by processor

	look, push, pushed, pop, popped, nothing step
}

func newLocked(d *driver) *locked {
	q := &locked{driver: d}
	q.look, q.push, q.pushed, q.pop, q.popped, q.nothing = q.onLook, q.onPush, q.onPushed, q.onPop, q.onPopped, q.onNothing
	q.cursors = cursorsOf(d)
	return q
}

// cursorsOf spreads the processors over the shards.
func cursorsOf(d *driver) (cursors []int) {
	for i := range d.processors {
		cursors = append(cursors, i*len(d.shards)/len(d.processors))
	}
	return cursors
}

func (q *locked) put(g *goroutine) step { return q.acquire(g, &g.shard.mutex, q.push) }

func (q *locked) onPush(g *goroutine) step {
	g.on.now += float64(q.anatomy.PutIn * q.perTask)
	sh := g.shard
	q.write(g.on, &sh.data)
	if q.anatomy.TenantLines > 0 {
		q.write(g.on, &g.tenant.line)
	}
	if q.anatomy.Counted {
		q.write(g.on, &q.count)
	}
	q.join(sh)
	sh.push(g.tenant, item{g.task, g.on.id + 1})
	q.queued++
	return q.pushed
}

func (q *locked) onPushed(g *goroutine) step {
	q.after(g, g.shard)
	return q.release(g, &g.shard.mutex, q.produced)
}

func (q *locked) take(g *goroutine) step {
	if q.queued == 0 {
		return q.sleep(g)
	}
	if len(q.shards) == 1 {
		g.shard = q.shards[0]
		return q.acquire(g, &g.shard.mutex, q.pop)
	}
	g.probe = 0
	q.readAll(g.on, q.rounds.tags)
	return q.look
}

// onLook tries the shards that may be served, from the processor's cursor on. If all of
// them are taken it waits for one.
func (q *locked) onLook(g *goroutine) step {
	least := q.rounds.least()
	if least < 0 {
		return q.sleep(g)
	}
	start, busy := q.cursors[g.on.id], (*shard)(nil)
	for ; g.probe < len(q.shards); g.probe++ {
		sh := q.shards[(start+g.probe)%len(q.shards)]
		g.on.now += float64(q.Look * float64(len(q.shards))) // each look compares with all others
		if !q.rounds.inTime(sh.index, least) {
			continue
		}
		busy = sh
		g.probe++
		if g.shard = sh; q.try(g, &sh.mutex) {
			q.cursors[g.on.id] = sh.index
			return q.pop
		}
		if g.probe < len(q.shards) {
			return q.look
		}
	}
	if busy == nil {
		if g.shard == nil || !q.rounds.ready[g.shard.index] {
			g.shard = q.shards[least]
		}
		busy = g.shard
	}
	return q.acquire(g, &busy.mutex, q.pop)
}

func (q *locked) onPop(g *goroutine) step {
	sh := g.shard
	if len(q.shards) > 1 {
		q.readAll(g.on, q.rounds.tags)
	}
	if sh.turns.len() == 0 || len(q.shards) > 1 && !q.rounds.inTime(sh.index, q.rounds.least()) {
		return q.nothing
	}
	g.on.now += float64(q.anatomy.TakeIn * q.perTask)
	q.write(g.on, &sh.data)
	if q.anatomy.Counted {
		q.write(g.on, &q.count)
	}
	if t := q.serve(g, sh); t.tasks.len() > 0 {
		sh.turns.push(t)
	}
	return q.popped
}

func (q *locked) onPopped(g *goroutine) step {
	q.after(g, g.shard)
	return q.release(g, &g.shard.mutex, q.consumed)
}

// onNothing is what comes of a lock behind which there was nothing to take.
func (q *locked) onNothing(g *goroutine) step { return q.release(g, &g.shard.mutex, q.consume) }
