package actor

import (
	"reflect"

	"github.com/firq-go/firq"
)

// Tells of one method that wait behind each other share an envelope, and their requests lie
// next to each other. That saves a list entry and a pool per tell, and, with batch.go, a lock:
// a third of the time of a tell, where there are many. Nothing about a pack can be noticed from
// outside; where it could, tells are not packed (batchable).

const (
	packed    = 32  // tells of a pack, at most
	packBytes = 256 // memory for their requests, roughly
	leastPack = 4   // fewer tells are not worth a pack
)

// pack holds tells of one method that wait one behind the other in a mailbox: they share one
// place in the list, and their requests lie side by side in memory. A sender appends to the
// pack at the end of the list. The actor's mu guards n and done. A request belongs to its
// sender until n counts it; after that it belongs to the worker that has the pack in a batch, or
// to the goroutine that has taken the pack out.
type pack struct {
	n      int32 // tells
	done   int32 // how many of them were handled
	at     int32 // the one in progress; only the worker uses it
	shared bool  // a worker may still use a request that it had claimed before the rest was recalled
}

// packOf is a pack with its requests.
type packOf[S, Req, Res any] struct {
	envelope
	pack
	reqs []Req
	of   *Method[S, Req, Res]
}

// bulk is how many requests of a size a pack has room for; 0: packs are not worth it.
func bulk[Req any]() int {
	// Large requests make a pack large: of those only a few go together, or none.
	n := packBytes / max(int(reflect.TypeFor[Req]().Size()), 1)
	if n*2 < leastPack {
		return 0
	}
	return min(max(n, leastPack), packed)
}

// pack allows tells of m to be packed, if the options of m permit that at all.
func (m *method) pack(bulk int) {
	// A priority has its own list, readers run at the same time, and a timeout is of one
	// handler: each needs its own envelope.
	if m.prio == firq.PriorityNormal && !m.readOnly && m.timeout == 0 {
		m.bulk = bulk
	}
}

// batchable reports whether tells of m may be packed. They may not if it matters when each of them
// is taken: because each has a timeout, senders wait for its place or would evict it, other
// messages come in while its handler waits, or actortest chooses an order.
func (a *actor) batchable(m *method) bool {
	set := a.set
	return m.bulk > 0 && set.timeout == 0 && set.slowAfter == 0 &&
		set.reent == None && set.box.Policy == firq.Reject && set.sys.shuffle == nil
}

// join appends a tell to the pack at the end of the mailbox. done: the tell was accepted;
// otherwise it needs its own envelope, and pack says whether that should be a pack.
func (m *Method[S, Req, Res]) join(a *actor, c *Ctx, req Req) (done, pack bool) {
	a.mu.Lock()
	// Only the last one: a tell that joined an earlier pack would overtake what lies between.
	last := a.mail.last
	// The mailbox is empty, or the messages alternate: packing does not pay, and Tell does not
	// come here again before noteBatchable says so.
	if last == nil && a.turn != busy || last != nil && last.m != &m.method {
		a.batching.Store(false)
		a.mu.Unlock()
		return false, false
	}
	// The same questions that post asks, in the same critical section as the step: a pack gets
	// no more than the limit, and none of an actor that ends.
	var p *packOf[S, Req, Res]
	if last != nil {
		// It may be a pack whose worker has left its rest (recall): that is as good as a new one, for n
		// only grows.
		p, _ = last.run.(*packOf[S, Req, Res])
	}
	if p != nil && int(p.n) < len(p.reqs) && !a.full() && a.closed(nil, c, fromSender) == nil {
		// First the request, then n: a worker that takes the pack under this lock finds n of
		// them.
		p.reqs[p.n] = req
		p.n++
		a.accept()
		// A worker may have the turn and be about to end it: as for any message, the one that
		// comes last wakes.
		a.unlockWake(c)
		return true, false
	}
	a.mu.Unlock()
	// There is no pack, or it is full. The caller makes the next one outside of the lock.
	return false, a.batchable(&m.method)
}

// newPack returns a pack of one tell.
func (m *Method[S, Req, Res]) newPack(req Req) *packOf[S, Req, Res] {
	// The requests lie in one slice, which stays with the pack.
	p, _ := m.bundles.Get().(*packOf[S, Req, Res])
	if p == nil {
		p = &packOf[S, Req, Res]{of: m, reqs: make([]Req, m.bulk)}
		p.m, p.run = &m.method, p
	}
	p.reqs[0], p.n = req, 1
	return p
}

// exec runs the handlers of the tells that c's worker can claim from the pack, as long as nothing
// has to be done between two of them. The worker has already claimed the first.
func (p *packOf[S, Req, Res]) exec(c *Ctx, state any) {
	s, _ := state.(S)
	b := &c.w.batch
	for {
		// A Tell has no caller, so its error is dropped as for any other.
		_, _ = p.of.fn(s, c, p.reqs[p.at])
		// Something is to be done before the next handler, or there is none: back to runBatch,
		// by the way that every handler takes.
		if !b.next(c) {
			c.returned()
			return
		}
		// The Ctx goes straight on to the next tell: that is what packs save.
		p.clear()
		p.at++
	}
}

// clear forgets the request whose handler is over.
func (p *packOf[S, Req, Res]) clear() {
	var zero Req
	p.reqs[p.at] = zero
}

// request is that of the tell in progress, for a handler that has failed or is put aside.
func (p *packOf[S, Req, Res]) request() any   { return p.reqs[p.at] }
func (p *packOf[S, Req, Res]) packed() *pack  { return &p.pack }
func (p *packOf[S, Req, Res]) bundle() bundle { return p }

// free is called after each handler that no other handler of the pack followed directly.
func (p *packOf[S, Req, Res]) free() bool { p.clear(); return false }

// single returns tell i of the pack as a separate message, and forgets it here.
func (p *packOf[S, Req, Res]) single(i int32) *envelope {
	var zero Req
	// Tells leave a pack one by one when they are put aside, or become dead letters: then they
	// need an envelope after all.
	l := p.of.newTell()
	l.req, p.reqs[i] = p.reqs[i], zero
	return &l.envelope
}

// discard gives back a pack that is in no list. A shared one is left to the collector.
func (p *packOf[S, Req, Res]) discard() {
	if p.shared {
		return
	}
	// Those before were cleared when their handlers were over.
	clear(p.reqs[p.done:p.n])
	p.pack = pack{}
	p.of.bundles.Put(p)
}

// noteBatchable notes that packing tells may pay, if e is behind another message of its method, or
// comes while a worker has the turn. The caller holds a.mu and has put e in.
func (a *actor) noteBatchable(e *envelope) {
	// One look at the neighbour: two messages of a method in a row, or one that comes while its
	// actor is busy, are signs of a crowd.
	if p := e.prev; p != nil && p.m != e.m || p == nil && a.turn != busy || a.batching.Load() {
		return
	}
	if a.batchable(e.m) {
		a.batching.Store(true)
	}
}

// recycleTogether is how many envelopes go back to their method's pool together, because each
// trip there moves cache lines between processors.
const recycleTogether = 32

// recycler collects the envelopes of tells that a worker has handled, and gives them back to
// their method's pool together: when there are enough, or when the turn is over. Only its worker
// uses it.
type recycler struct {
	first *envelope // the others by next; all are of one method
	n     int
}

// put takes a tell whose handler is over.
func (r *recycler) put(e *envelope) {
	// Calls are given back by their callers, packs by runBatch; what has its own type, as a
	// tick, is left to the collector.
	if !e.run.free() {
		return
	}
	// Envelopes have the type of their method, and go to its pool.
	if r.n > 0 && (r.n >= recycleTogether || r.first.m != e.m) {
		r.clear()
	}
	e.next, r.first = r.first, e
	r.n++
}

// clear gives back the envelopes: a turn is over, or they are enough.
func (r *recycler) clear() {
	if r.n > 0 {
		// One Put for the chain. newTell takes one of it, and puts the rest back on its own
		// processor.
		r.first.m.tells.Put(r.first)
		r.first, r.n = nil, 0
	}
}

// over gives back a tell that will not be handled; it is in no list any more.
func (e *envelope) over() {
	if b := e.run.bundle(); b != nil {
		b.discard()
		return
	}
	if e.run.free() {
		// It was in a list, and must not drag its neighbours into the pool.
		e.next = nil
		e.m.tells.Put(e)
	}
}
