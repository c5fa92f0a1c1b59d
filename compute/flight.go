package compute

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// shard has the flights of some of the keys, by hash, and their counters.
type shard[T, K comparable, V any] struct {
	s       *Server[T, K, V] // immutable
	mu      sync.Mutex
	flights flights[T, K, V]              // those that may be joined
	loose   map[*flight[T, K, V]]struct{} // those that may not, and whose results may be kept
	n       int                           // all that are not over

	begun, succeeded, failed uint64 // executions; under mu

	took samples // of executions; under mu

	executed, coalesced atomic.Uint64 // calls

	_ pad.Pad
}

// flight is one execution of a key, and the calls that share it. The package's comment
// draws its states. It is a context too: see execCtx.
type flight[T, K comparable, V any] struct {
	// Immutable.
	p    *shard[T, K, V]
	key  Key[T, K]
	hash uint64
	with Exec[T, K, V] // of the call that began it, as cost and priority; nil: the server's
	cost int64         // below 0: not given

	// Guarded by p.mu.
	next    *flight[T, K, V] // in p.flights
	done    chan struct{}
	baton   chan struct{}  // of one place; the caller that receives from it leads
	nested  map[origin]int // executions whose calls have joined, and how many of each; nil: none
	waiters int32          // callers that want the outcome, a leader included; a refresh behind counts as one

	state     state
	led       bool // a leader counts among waiters
	forgotten bool // what it makes is not kept
	listed    bool // it is in flights

	// Written by the leader: these before it calls exec, the outcome under p.mu
	// before it closes done; read after that.
	behind   bool         // a refresh behind leads; written under p.mu by the caller that takes over from it
	watched  bool         // the leader's context may end unseen, as no goroutine waits for that
	ran      bool         // exec was called
	keep     bool         // the key may be kept; immutable
	ttl      atomic.Int64 // that exec has set for its result; 0: none
	priority firq.Priority
	group    uint8 // below MaxGroups
	leader   context.Context
	deadline time.Duration // of exec, after Server.base; 0: none
	outcome[V]

	exec atomic.Pointer[execState] // nil: exec has not asked for it yet
}

// followers are those that joined and do not lead. Under p.mu.
func (f *flight[T, K, V]) followers() int {
	if f.led {
		return int(f.waiters) - 1
	}
	return int(f.waiters)
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

// shard returns the shard of a key.
func (s *Server[T, K, V]) shard(h uint64) *shard[T, K, V] {
	return &s.shards[h>>8&uint64(len(s.shards)-1)]
}

// want is what a call that misses looks for. The call's options are not in it: what a key points to
// goes to the heap, and with it, by the compiler's rules, all else in the same struct.
type want[T, K comparable, V any] struct {
	key  Key[T, K]
	hash uint64
	seen *Entry[V] // what was kept of the key, and is no answer; nil: nothing
}

// found is what it finds: a flight, which it leads or has joined, or what has been kept
// since, or an error.
type found[T, K comparable, V any] struct {
	f     *flight[T, K, V]
	leads bool
	kept  *Entry[V]
	err   error
	ask   context.Context // of the leader of f, which is to be looked at before f is joined; else nil
}

// takePart finds the flight of a key, or begins one.
func (s *Server[T, K, V]) takePart(w *want[T, K, V], o *options[T, K, V]) found[T, K, V] {
	var asked *flight[T, K, V]
	for {
		is := s.enlist(w, o, asked)
		if is.ask == nil {
			return is
		}
		asked = is.f
		if is.ask.Err() != nil { // user code: not under the shard's mu
			asked.leaderEnded()
		}
	}
}

// enlist is takePart, but does not join a flight whose leader's context has to be checked first,
// unless the caller has checked it.
func (s *Server[T, K, V]) enlist(w *want[T, K, V], o *options[T, K, V], asked *flight[T, K, V]) found[T, K, V] {
	p := s.shard(w.hash)
	failpoint.Lock(&p.mu, "enlist")
	defer p.mu.Unlock() // whatever a cache of others does
	f := p.flights.find(w.hash, &w.key)
	if f == nil {
		if s.keeps && !o.noCache { // a result may have been published since
			if e := s.lookup(w.hash, &w.key); e != nil && e != w.seen && s.clock.Now() < e.fresh {
				return found[T, K, V]{kept: e}
			}
		}
		f = s.depart(p, w.key, w.hash, o)
		f.listed = true
		p.flights.add(f)
		return found[T, K, V]{f: f, leads: true}
	}
	switch {
	case f != asked && f.doubtful():
		return found[T, K, V]{f: f, ask: f.leader}
	case f.followers() >= s.cfg.MaxWaiters:
		return found[T, K, V]{err: ErrTooManyWaiters}
	}
	f.waiters++
	if f.baton == nil {
		f.baton = make(chan struct{}, 1)
	}
	if f.done == nil {
		f.done = make(chan struct{})
	}
	return found[T, K, V]{f: f}
}

// depart makes a flight with a leader. Under p.mu.
func (s *Server[T, K, V]) depart(p *shard[T, K, V], k Key[T, K], h uint64, o *options[T, K, V]) *flight[T, K, V] {
	f := &flight[T, K, V]{p: p, key: k, hash: h, with: o.exec, cost: o.cost, priority: o.priority, keep: s.keeps, led: true, waiters: 1}
	if s.cfg.Detach {
		f.done = make(chan struct{})
	}
	p.n++
	return f
}

// alone returns a flight that no other call joins.
func (s *Server[T, K, V]) alone(k Key[T, K], h uint64, o *options[T, K, V], keep bool) *flight[T, K, V] {
	p := s.shard(h)
	p.mu.Lock()
	defer p.mu.Unlock()
	f := s.depart(p, k, h, o)
	if f.keep = keep && s.keeps; f.keep {
		p.loose[f] = struct{}{}
	}
	return f
}

// doubtful reports whether the leader alone waits for the execution and its context may have
// ended unseen, so that in truth no call may be waiting. Under p.mu.
func (f *flight[T, K, V]) doubtful() bool {
	return f.state == executing && f.led && f.watched && f.waiters == 1
}

// unlist takes the flight out of its shard, so that no further call joins it. Under p.mu.
func (f *flight[T, K, V]) unlist() {
	if f.listed {
		f.listed = false
		f.p.flights.remove(f)
		if f.state != over && f.keep && !f.forgotten {
			f.p.loose[f] = struct{}{}
		}
	}
}

// leave is called when a caller no longer wants the outcome. If it was the last one, the
// execution is cancelled, and can no longer be joined.
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
	}
	if f.waiters--; f.waiters > 0 {
		return false
	}
	if f.state == executing {
		f.unlist()
		if !f.p.s.life.isKilled() {
			f.p.s.abandoned.Add(1)
		}
		return true
	}
	f.end() // no leader, and no call that waits
	return false
}

// leaderEnded notes that the context of the executing leader has ended. When it returns, the execution's
// has, if no call waits any more.
func (f *flight[T, K, V]) leaderEnded() {
	failpoint.Lock(&f.p.mu, "leader ended")
	if f.state == executing && f.led {
		f.left(true)
	}
	cancel := f.state == executing && f.waiters == 0 // also if another goroutine has noted it: it may not have cancelled yet
	f.p.mu.Unlock()
	if cancel {
		f.cancel()
	}
}

// handOver is for a leader that leaves before it executes: a caller that still waits takes
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

// take is for a caller that has the baton.
func (f *flight[T, K, V]) take() {
	failpoint.Lock(&f.p.mu, "take")
	f.state, f.led = queued, true
	f.behind = false // if the refresh has panicked: a call leads now
	f.p.mu.Unlock()
}

// begin notes that exec is called.
func (f *flight[T, K, V]) begin(ctx context.Context, group int) {
	failpoint.Lock(&f.p.mu, "begin")
	f.state, f.leader, f.group, f.ran = executing, ctx, uint8(group), true //nolint:gosec // below MaxGroups
	f.p.begun++
	f.p.mu.Unlock()
}

// refuse ends the flight: all its calls get the error with which the leader was refused.
func (f *flight[T, K, V]) refuse(err error) {
	failpoint.Lock(&f.p.mu, "refuse")
	defer func() {
		f.err = err
		f.end()
		f.p.mu.Unlock()
	}()
	f.fail(err)
}

// call names what is made.
func (f *flight[T, K, V]) call() Call[T, K] {
	return Call[T, K]{f.key.Tenant, f.key.Key, int(f.group)}
}

// end ends the flight and wakes all its calls. Under p.mu.
func (f *flight[T, K, V]) end() {
	f.state = over
	f.p.n--
	f.unlist()
	if len(f.p.loose) > 0 {
		delete(f.p.loose, f)
	}
	if f.done != nil {
		close(f.done)
	}
}
