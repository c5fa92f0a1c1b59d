package model

// shard is a queue of its own: tenants in turns.
type shard struct {
	index int
	mutex mutex // or lease
	data  line  // what is behind it

	turns fifo[*tenant] // those that have tasks
	round int
	left  int // turns in this round

	// Of lockfree.
	affinity  line    // which processor serves it
	by        int     // the processor, counted from 1
	at        float64 // when it said so
	announced []*tenant
	carried   []item // with the announcement; none: look into the inbox
}

// push queues a task.
func (sh *shard) push(t *tenant, it item) {
	if t.tasks.push(it); t.tasks.len() == 1 {
		if sh.turns.push(t); sh.turns.len() == 1 {
			sh.left = 0
		}
	}
}

// turn returns whose turn it is. There must be somebody.
func (sh *shard) turn() *tenant {
	if sh.left == 0 {
		sh.round++
		sh.left = sh.turns.len()
	}
	sh.left--
	return sh.turns.pop()
}

// tag is the round of the next delivery.
func (sh *shard) tag() int {
	if sh.left == 0 {
		return sh.round + 1
	}
	return sh.round
}

// rounds keeps shards together, as package shardsel does, with a slack of one round.
type rounds struct {
	tags    []line
	tag     []int
	ready   []bool
	current line
	round   int
}

func newRounds(n int) *rounds {
	return &rounds{tags: make([]line, n), tag: make([]int, n), ready: make([]bool, n)}
}

// publish says what the tag of a shard is, and whether it has tasks. It reports whether
// that has changed.
func (r *rounds) publish(sh *shard) (changed bool) {
	i, tag, ready := sh.index, sh.tag(), sh.turns.len() > 0
	if ready == r.ready[i] && (!ready || tag == r.tag[i]) {
		return false
	}
	r.tag[i], r.ready[i] = tag, ready
	return true
}

// least returns the first of the shards with the smallest tag; -1: none has tasks.
func (r *rounds) least() (at int) {
	at = -1
	for i, ready := range r.ready {
		if ready && (at < 0 || r.tag[i] < r.tag[at]) {
			at = i
		}
	}
	return at
}

// inTime reports whether a shard has tasks and may be served, the first with the smallest
// tag being at.
func (r *rounds) inTime(i, at int) bool {
	if i < at {
		return r.ready[i] && r.tag[i] <= r.tag[at]+1
	}
	return r.ready[i] && r.tag[i] <= r.tag[at]
}

// serve takes the next task of a shard, into g.task. Under its lock.
func (d *driver) serve(g *goroutine, sh *shard) *tenant {
	t := sh.turn()
	it := t.tasks.pop()
	d.fetch(g.on, it.by, d.anatomy.SlotLines)
	if d.anatomy.TenantLines > 0 {
		d.write(g.on, &t.line)
	}
	g.task = it.task
	d.queued--
	return t
}

// after comes after tasks were put or taken: others are told what has changed.
func (d *driver) after(g *goroutine, sh *shard) {
	if len(d.shards) == 1 {
		d.rounds.publish(sh)
		return
	}
	if !d.rounds.publish(sh) {
		return
	}
	d.write(g.on, &d.rounds.tags[sh.index])
	d.read(g.on, &d.rounds.current)
	if sh.round > d.rounds.round {
		d.rounds.round = sh.round
		d.write(g.on, &d.rounds.current)
	}
}

// join has a shard that was idle begin where the others are.
func (d *driver) join(sh *shard) {
	if sh.turns.len() == 0 && sh.round < d.rounds.round {
		sh.round, sh.left = d.rounds.round, 0
	}
}

// fetch has lines come that a processor, counted from 1, has written for this one alone.
func (s *sim) fetch(p *processor, by int, lines float64) {
	if by != 0 && by != p.id+1 {
		p.now += float64(lines * s.Transfer)
	}
}
