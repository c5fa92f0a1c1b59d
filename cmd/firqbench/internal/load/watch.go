package load

import (
	"sync"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/hist"
)

// Watch looks at a run from outside, after its measured window: the same
// goroutines go on with the same load, and what they do is counted under a lock
// that only they take, some 20 ns per task. Nothing is counted, or locked, before.
type Watch struct {
	For   time.Duration   // how long; 0: until Stop is closed
	Every time.Duration   // how often See is called, at most; must be positive
	Stop  <-chan struct{} // closed: the watch, and with it the run, ends early; nil: it does not
	Times bool            // Glance has histograms too; else they are empty
	// See is called by one goroutine, that of Run.
	See func(*Glance)
}

// Glance is what happened since the last one. It is See's to keep.
type Glance struct {
	At      time.Duration // when it was taken, since the watch began
	Elapsed time.Duration // since the last one

	Offered, Rejected, Expired, Delivered uint64

	Queued int            // now, as the contestant says; below 0: it does not say
	Calls  *hist.Snapshot // enqueue calls, one in SampleEvery
	Waits  *hist.Snapshot // queue times, every task

	// Asked and Served are tasks by tenant, the hot ones first: those that were
	// offered, accepted or not, and those that were delivered.
	Asked, Served []uint64
}

// sight is what one goroutine of the driver has to show. It writes during the
// watch, under mu; the watch reads and empties it.
type sight struct {
	mu               sync.Mutex
	number, rejected uint64
	times            *hist.Local
	tenants          []uint64 // tasks by tenant
	_                [64]byte // the next allocation belongs to another goroutine
}

// newSight returns the sight of one more producer or consumer, nil unless the
// run has a watch. Before the goroutines are started.
func (r *run) newSight(list *[]*sight) *sight {
	if r.Watch == nil {
		return nil
	}
	s := &sight{times: hist.NewLocal(), tenants: make([]uint64, r.s.Tenants)}
	*list = append(*list, s)
	return s
}

// took notes a delivery.
func (s *sight) took(it *contest.Item, wait time.Duration) {
	s.mu.Lock()
	s.number++
	s.tenants[it.Payload&tenantMask]++
	s.times.Record(wait)
	s.mu.Unlock()
}

// sent notes n offered tasks of one tenant.
func (s *sight) sent(tenant uint64, n int) {
	s.mu.Lock()
	s.number += uint64(n)
	s.tenants[tenant] += uint64(n)
	s.mu.Unlock()
}

// timed notes how long an enqueue call took.
func (s *sight) timed(d time.Duration) {
	s.mu.Lock()
	s.times.Record(d)
	s.mu.Unlock()
}

// refused notes n tasks that were not accepted.
func (s *sight) refused(n int) {
	s.mu.Lock()
	s.rejected += uint64(n)
	s.mu.Unlock()
}

// empty moves what s holds to the totals.
func (s *sight) empty(number, rejected *uint64, tenants []uint64, times *hist.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*number += s.number
	*rejected += s.rejected
	s.number, s.rejected = 0, 0
	for i, n := range s.tenants {
		tenants[i] += n
	}
	clear(s.tenants)
	if times != nil {
		s.times.AddTo(times)
		s.times = hist.NewLocal()
	}
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
	last, expired := time.Duration(0), r.drops.expired.Load()
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
		all := r.drops.expired.Load()
		g.Expired, expired = all-expired, all
		w.See(g)
	}
}

func (r *run) glance() *Glance {
	g := &Glance{
		Queued: -1, Calls: hist.NewSnapshot(), Waits: hist.NewSnapshot(),
		Asked: make([]uint64, r.s.Tenants), Served: make([]uint64, r.s.Tenants),
	}
	calls, waits := g.Calls, g.Waits
	if !r.Watch.Times {
		calls, waits = nil, nil
	}
	var none uint64
	for _, s := range r.consumers {
		s.empty(&g.Delivered, &none, g.Served, waits)
	}
	for _, s := range r.producers {
		s.empty(&g.Offered, &g.Rejected, g.Asked, calls)
	}
	if q, ok := r.q.(interface{ Len() int }); ok {
		g.Queued = q.Len()
	}
	return g
}

// TenantName returns the name of the tenant with index i in Glance.
func TenantName(i int) string { return tenantKeys(i + 1)[i] }
