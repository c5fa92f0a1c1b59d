package model

import "math"

// mutex is a sync.Mutex: a goroutine that finds it taken spins a little, if nobody else wants the
// processor, and then parks; the one that lets go wakes the first that waits, and anybody may take
// it before that one does, unless it has waited for long: then it is handed over.
//
// With spinning it is a lock of the runtime, as a channel has: a waiter keeps the
// processor, and whoever came first is next.
type mutex struct {
	line     line
	spinning bool
	holder   *goroutine
	waiters  []*goroutine
	woken    bool // one of the waiters is on its way
	starving bool
}

// try takes the lock unless somebody has it.
func (s *sim) try(g *goroutine, m *mutex) bool {
	if m.holder != nil || m.starving {
		s.read(g.on, &m.line)
		return false
	}
	s.write(g.on, &m.line)
	m.holder = g
	return true
}

// acquire takes the lock, waiting for it, and goes on with then.
func (s *sim) acquire(g *goroutine, m *mutex, then step) step {
	g.lock, g.then, g.spins, g.since = m, then, 0, 0
	return s.acquireAgain(g)
}

const maxSpins = 4

func (s *sim) acquireAgain(g *goroutine) step {
	m, p := g.lock, g.on
	awake := g.since != 0 // it was woken
	if awake {
		m.woken = false
	}
	if s.try(g, m) {
		return g.then
	}
	if m.spinning {
		m.waiters = append(m.waiters, g)
		p.now = math.Inf(1)
		g.next = g.then
		return nil
	}
	if !m.starving && g.spins < maxSpins && len(s.runnable) == 0 && s.others(p) {
		g.spins++
		p.now += s.Spin
		if awake {
			m.woken = true
		}
		return s.again
	}
	if awake {
		m.starving = m.starving || p.now-g.since > s.Patient
		m.waiters = append(m.waiters, nil)
		copy(m.waiters[1:], m.waiters)
		m.waiters[0] = g
	} else {
		g.since = max(p.now, 1)
		m.waiters = append(m.waiters, g)
	}
	g.spins = 0
	return s.park(g, s.again)
}

// others reports whether another processor is at work.
func (s *sim) others(p *processor) bool {
	for _, other := range s.processors {
		if other != p && other.runs != nil {
			return true
		}
	}
	return false
}

// release gives the lock back, and goes on with then.
func (s *sim) release(g *goroutine, m *mutex, then step) step {
	p := g.on
	s.write(p, &m.line)
	m.holder = nil
	if len(m.waiters) == 0 || !m.spinning && !m.starving && m.woken {
		return then
	}
	w := m.waiters[0]
	m.waiters = m.waiters[1:]
	switch {
	case m.spinning:
		m.holder = w
		w.on.now = p.now
		s.write(w.on, &m.line)
		return then
	case m.starving:
		m.holder, w.next = w, w.then
		m.starving = len(m.waiters) > 0 && p.now-w.since > s.Patient
		s.ready(w, p, true)
		return s.yield(g, then) // Go passes the processor on, too
	}
	m.woken = true
	s.ready(w, p, true)
	return then
}
