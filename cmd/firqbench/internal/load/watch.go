package load

import (
	"sync"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
)

// Watch looks at a run from outside, after its measured window: the same
// goroutines go on with the same load, and what they do is counted under a lock
// that only they take, some 20 ns per task. Nothing is counted, or locked, before.
type Watch struct {
	For   time.Duration   // how long; 0: until Stop is closed
	Every time.Duration   // how often See is called, at most; must be positive
	Stop  <-chan struct{} // closed: the watch, and with it the run, ends early; nil: it does not
	// See is called by one goroutine, that of Run.
	See func(*Glance)
}

// Glance is what happened since the last one. It is See's to keep.
type Glance struct {
	At      time.Duration // when it was taken, since the watch began
	Elapsed time.Duration // since the last one

	Offered, Delivered uint64

	// Asked and Served are tasks by tenant, the hot ones first: those that were
	// offered, accepted or not, and those that were delivered.
	Asked, Served []uint64
}

// sight is what one goroutine of the driver has to show. It writes during the
// watch, under mu; the watch reads and empties it.
type sight struct {
	mu      sync.Mutex
	number  uint64
	tenants []uint64 // tasks by tenant
	_       [64]byte // the next allocation belongs to another goroutine
}

// newSight returns the sight of one more producer or consumer, nil unless the
// run has a watch. Before the goroutines are started.
func (r *run) newSight(list *[]*sight) *sight {
	if r.Watch == nil {
		return nil
	}
	s := &sight{tenants: make([]uint64, r.s.Tenants)}
	*list = append(*list, s)
	return s
}

// took notes a delivery.
func (s *sight) took(it *contest.Item) {
	s.mu.Lock()
	s.number++
	s.tenants[it.Payload&tenantMask]++
	s.mu.Unlock()
}

// sent notes n offered tasks of one tenant.
func (s *sight) sent(tenant uint64, n int) {
	s.mu.Lock()
	s.number += uint64(n)
	s.tenants[tenant] += uint64(n)
	s.mu.Unlock()
}

// empty moves what s holds to the totals.
func (s *sight) empty(number *uint64, tenants []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*number += s.number
	s.number = 0
	for i, n := range s.tenants {
		tenants[i] += n
	}
	clear(s.tenants)
}

// watch is called when the measured window is over, and returns when the watch is.
func (r *run) watch() {
	w := r.Watch
	if w == nil {
		return
	}
	var over <-chan time.Time
	if w.For > 0 {
		timer := time.NewTimer(w.For)
		defer timer.Stop()
		over = timer.C
	}
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	r.glance() // what came in while the window was closed
	began := contest.Now()
	last := time.Duration(0)
	for ended := false; !ended && r.phase.Load() == recording; { // it ends when the run fails
		select {
		case <-tick.C:
			select {
			case <-over: // both, where a glance takes long: then it is over
				ended = true
			default:
			}
		case <-over:
			ended = true
		case <-w.Stop:
			ended = true
		case <-r.ctx.Done():
			return
		}
		g := r.glance()
		g.At = contest.Now() - began
		g.Elapsed = g.At - last
		last = g.At
		w.See(g)
	}
}

func (r *run) glance() *Glance {
	g := &Glance{Asked: make([]uint64, r.s.Tenants), Served: make([]uint64, r.s.Tenants)}
	for _, s := range r.consumers {
		s.empty(&g.Delivered, g.Served)
	}
	for _, s := range r.producers {
		s.empty(&g.Offered, g.Asked)
	}
	return g
}
