package actor

import (
	"sync"
	"time"
)

// One timer looks at all idle actors in turn. A timer for each of a million actors would cost more than the
// actor, and each message would have to set it again. A look costs an actor that stays nothing but a lock.

// WithIdle ends the actor when it has been idle for d, or up to half of d longer: no message came,
// waited or was handled. Err is then nil. Spawn's actor has ended for good; that of a Kind is started
// again by the next message, which is never lost in between. 0: an idle actor stays.
func WithIdle(d time.Duration) Option {
	return option(d >= 0, func(o *settings) {
		o.idle = nil
		if d > 0 {
			// Options are applied once per Kind, so its actors share a list and a timer.
			o.idle = &idlers{sys: o.sys, step: (d + 1) / 2}
		}
	}, "WithIdle: %v, must not be negative", d)
}

// idlers are the actors that have a WithIdle in common. A timer that they share looks at them at
// each half of that time: so an idle actor costs an entry here, and no timer.
type idlers struct {
	sys  *System
	step time.Duration

	mu     sync.Mutex
	list   []idler
	looked bool // the timer is set
}

// idler is an actor, and what the last look has seen.
type idler struct {
	a     *actor
	in    uint64 // its messages
	quiet int    // looks in a row that have seen the same, and nothing in progress
}

// add is called once per actor, when its start has succeeded.
func (l *idlers) add(a *actor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, idler{a: a})
	if !l.looked {
		l.looked = true
		// The System's timer, not one of package time, so that Close ends it.
		l.sys.later(l.step, l.look)
	}
}

// look ends the actors that three looks in a row have found the same: the first and the third are the whole time
// apart. It drops those that have ended otherwise.
func (l *idlers) look() {
	l.mu.Lock()
	// Taken out, so the looks, which take the locks of actors, are made without this one.
	list := l.list
	l.list = nil
	l.mu.Unlock()
	// stay uses list's memory: an actor that stays is written over one that was read.
	stay := list[:0]
	for i := range list {
		if e := &list[i]; e.again() {
			stay = append(stay, *e)
		}
	}
	// Otherwise the memory behind stay would keep actors that have ended.
	clear(list[len(stay):])
	l.mu.Lock()
	defer l.mu.Unlock()
	// Those that have come in between go behind.
	l.list = append(stay, l.list...)
	// Without actors it stops, and the next add begins again.
	if l.looked = len(l.list) > 0; l.looked {
		l.sys.later(l.step, l.look)
	}
}

// again reports whether the actor has to be looked at again.
func (e *idler) again() bool {
	a := e.a
	a.mu.Lock()
	// It ends already, and does not come back to this list: its next activation is another
	// actor.
	if a.refuses() {
		a.mu.Unlock()
		return false
	}
	// Nothing waits, runs or is put aside, and no step of its life is due.
	still := a.life == alive && a.turn == idle && a.waits() == 0 && a.atRest()
	if !still || a.in != e.in {
		// From the beginning: it has worked since the last look.
		e.quiet = 0
	}
	// Messages that came and went between two looks show here.
	e.in = a.in
	if still {
		e.quiet++
	}
	// Two steps between three looks: the whole time, and up to half of it more.
	if e.quiet < 3 {
		a.mu.Unlock()
		return true
	}
	// As Stop does, under the lock of the look: a message that comes later is refused, and its
	// sender waits for the next activation.
	a.draining = true // nothing waits, and from now on all is refused
	a.unlockWake(nil)
	return false
}
