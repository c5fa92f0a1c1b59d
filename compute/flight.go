package compute

import (
	"context"
	"sync"
	"time"

	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/internal/pad"
)

// part is a part of the keys that are being made.
type part[T, K comparable, V any] struct {
	mu      sync.Mutex
	flights map[Key[T, K]]*flight[T, K, V] // those that may be joined
	loose   map[*flight[T, K, V]]struct{}  // those that may not, and whose results may be kept
	n       int                            // all that are not over
	_       pad.Pad
}

// flight is one execution of a key, and the calls that share it. The package's comment
// draws its states. It is a context too: see execCtx.
type flight[T, K comparable, V any] struct {
	// Immutable.
	s    *Server[T, K, V]
	p    *part[T, K, V]
	key  Key[T, K]
	hash uint64
	opts options[T, K, V] // of the call that began it
	keep bool             // the key may be kept

	// Guarded by p.mu.
	state     state
	led       bool // a leader counts among waiters
	forgotten bool // what it makes is not kept
	listed    bool // it is in flights
	waiters   int  // who wants the outcome; a refresh behind counts as one
	followers int  // of these, those that joined and do not lead
	done      chan struct{}
	baton     chan struct{} // of one place; whoever takes what is in it leads

	// Written by who leads: these three before it calls exec, the outcome under p.mu
	// before it closes done; read after that.
	leader   context.Context
	behind   bool      // a refresh behind leads; written under p.mu by who takes over from it
	watched  bool      // the leader's context may end, and nobody waits for that
	deadline time.Time // zero: none
	outcome[V]
	group int
	ran   bool // exec was called

	exec execState
}

// outcome is what an execution came to.
type outcome[V any] struct {
	val V
	err error
}

// state of a flight.
type state uint8

const (
	queued    state = iota // its leader is on its way to a slot
	adrift                 // its leader has given up; the baton is there to be taken
	executing              // exec is called
	over                   // the outcome is there
)

// part returns the part of a key.
func (s *Server[T, K, V]) part(h uint64) *part[T, K, V] {
	return &s.parts[h>>8&uint64(len(s.parts)-1)]
}

// takePart returns the flight of the key, a new one that the call leads, or what has been
// kept since seen was looked at.
func (s *Server[T, K, V]) takePart(ctx context.Context, k Key[T, K], h uint64, o *options[T, K, V], seen *Entry[V]) (f *flight[T, K, V], leads bool, e *Entry[V], err error) {
	p := s.part(h)
	var asked *flight[T, K, V]
	for {
		var leader context.Context
		f, leader, leads, e, err = s.enlist(p, k, h, o, seen, asked)
		if leader == nil {
			return f, leads, e, err
		}
		asked = f
		if leader.Err() != nil { // user code: not under p.mu
			f.leaderEnded()
		}
	}
}

// enlist is takePart but for one thing: it returns the leader whose context is to be
// looked at first, unless it was asked.
func (s *Server[T, K, V]) enlist(p *part[T, K, V], k Key[T, K], h uint64, o *options[T, K, V], seen *Entry[V], asked *flight[T, K, V]) (f *flight[T, K, V], leader context.Context, leads bool, e *Entry[V], err error) {
	failpoint.Lock(&p.mu, "enlist")
	defer p.mu.Unlock() // whatever a cache of others does
	if f = p.flights[k]; f == nil {
		if s.keeps && !o.noCache { // somebody may have published since
			if e = s.lookup(h, &k); e != nil && e != seen && s.clock.Now() < e.fresh {
				return nil, nil, false, e, nil
			}
		}
		f = s.depart(p, k, h, o)
		f.listed = true
		p.flights[k] = f
		return f, nil, true, nil, nil
	}
	switch {
	case f != asked && f.doubtful():
		return f, f.leader, false, nil, nil
	case f.followers >= s.cfg.MaxWaiters:
		return nil, nil, false, nil, ErrTooManyWaiters
	}
	f.waiters++
	f.followers++
	if f.baton == nil {
		f.baton = make(chan struct{}, 1)
	}
	if f.done == nil {
		f.done = make(chan struct{})
	}
	return f, nil, false, nil, nil
}

// depart makes a flight with a leader. Under p.mu.
func (s *Server[T, K, V]) depart(p *part[T, K, V], k Key[T, K], h uint64, o *options[T, K, V]) *flight[T, K, V] {
	f := &flight[T, K, V]{s: s, p: p, key: k, hash: h, opts: *o, keep: s.keeps, led: true, waiters: 1}
	if s.cfg.Detach {
		f.done = make(chan struct{})
	}
	p.n++
	return f
}

// alone returns a flight that nobody joins.
func (s *Server[T, K, V]) alone(k Key[T, K], h uint64, o *options[T, K, V], keep bool) *flight[T, K, V] {
	p := s.part(h)
	p.mu.Lock()
	defer p.mu.Unlock()
	f := s.depart(p, k, h, o)
	if f.keep = keep && s.keeps; f.keep {
		p.loose[f] = struct{}{}
	}
	return f
}

// doubtful reports whether only a leader waits for the execution, which may not have
// looked at its context: then nobody may know yet that nobody waits. Under p.mu.
func (f *flight[T, K, V]) doubtful() bool {
	return f.state == executing && f.led && f.watched && f.waiters == 1
}

// unlist sees to it that nobody joins any more. Under p.mu.
func (f *flight[T, K, V]) unlist() {
	if f.listed {
		f.listed = false
		delete(f.p.flights, f.key)
		if f.state != over && f.keep && !f.forgotten {
			f.p.loose[f] = struct{}{}
		}
	}
}

// leave counts one less who wants the outcome. If that was the last, an execution is
// cancelled, and cannot be joined any more.
func (f *flight[T, K, V]) leave(leads bool) {
	failpoint.Lock(&f.p.mu, "leave")
	cancel := f.left(leads)
	f.p.mu.Unlock()
	if cancel {
		f.cancel()
	}
}

// left is leave. Under p.mu.
func (f *flight[T, K, V]) left(leads bool) (cancel bool) {
	if f.state == over {
		return false
	}
	if leads {
		f.led = false
	} else {
		f.followers--
	}
	if f.waiters--; f.waiters > 0 {
		return false
	}
	if f.state == executing {
		f.unlist()
		if !f.s.life.isKilled() {
			f.s.abandoned.Add(1)
		}
		return true
	}
	f.end() // nobody leads, nobody waits
	return false
}

// leaderEnded notes that the context of the executing leader has ended.
func (f *flight[T, K, V]) leaderEnded() {
	failpoint.Lock(&f.p.mu, "leader ended")
	cancel := f.state == executing && f.led && f.left(true)
	f.p.mu.Unlock()
	if cancel {
		f.cancel()
	}
}

// handOver is for a leader that leaves before it executes: one who still waits takes
// the baton.
func (f *flight[T, K, V]) handOver() {
	failpoint.Lock(&f.p.mu, "hand over")
	defer f.p.mu.Unlock()
	f.led = false
	if f.waiters--; f.waiters == 0 {
		f.end()
		return
	}
	f.state = adrift
	f.baton <- struct{}{} // it is empty: one leads at a time
}

// take is for who has the baton.
func (f *flight[T, K, V]) take() {
	failpoint.Lock(&f.p.mu, "take")
	f.state, f.led = queued, true
	f.behind = false // if the refresh has panicked: a call leads now
	f.followers--
	f.p.mu.Unlock()
}

// begin notes that exec is called.
func (f *flight[T, K, V]) begin(ctx context.Context, group int) {
	failpoint.Lock(&f.p.mu, "begin")
	f.state, f.leader, f.group, f.ran = executing, ctx, group, true
	f.p.mu.Unlock()
}

// refuse gives everybody the error with which the leader was refused.
func (f *flight[T, K, V]) refuse(err error) {
	failpoint.Lock(&f.p.mu, "refuse")
	f.err = err
	f.end()
	f.p.mu.Unlock()
}

// end tells everybody. Under p.mu.
func (f *flight[T, K, V]) end() {
	f.state = over
	f.p.n--
	f.unlist()
	delete(f.p.loose, f)
	if f.done != nil {
		close(f.done)
	}
}
