package compute

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/gate"
)

// groups are the gates, one for each group, among which the limit is divided. Gates are
// never removed, so that executions which are still running in a group count again when it
// comes back.
type groups[T comparable] struct {
	cfg   gate.Config[T] // immutable
	spill float64        // immutable

	now atomic.Pointer[division[T]] // what calls go by; written under mu

	mu     sync.Mutex // one change at a time; no user code runs under it
	all    []*group[T]
	quanta map[T]int64 // for gates to come
	closed bool
}

// division is how the limit is divided. Immutable.
type division[T comparable] struct {
	groups []*group[T] // those there are
	limit  int
	slots  int // how many groups have a slot: the first ones
}

// usable reports whether calls may wait in group i. Without any slot, they may
// everywhere.
func (d *division[T]) usable(i int) bool {
	return i < d.slots || d.slots == 0 && i < len(d.groups)
}

// group is a gate, and the callers that wait there and have to go elsewhere if the group loses its
// slots.
type group[T comparable] struct {
	gate *gate.Gate[T]
	mu   sync.Mutex
	wait map[*place]struct{}
}

// place is one caller that waits in a group.
type place struct {
	sent   atomic.Bool // it has to go elsewhere
	cancel func()      // ends its waiting
}

func (g *groups[T]) init(limit, n int, cfg gate.Config[T], spill float64) error {
	g.cfg, g.spill, g.quanta = cfg, spill, map[T]int64{}
	if _, err := gate.Open(1, cfg); err != nil {
		return fmt.Errorf("firq: compute: Gate: %w", err)
	}
	g.set(func(*division[T]) (int, int) { return limit, n })
	return nil
}

// set changes the limit and the number of groups. First what falls, then what rises, so
// that together they are never more than the larger limit.
func (g *groups[T]) set(to func(*division[T]) (limit, n int)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit, n := to(g.now.Load())
	for len(g.all) < n {
		g.all = append(g.all, g.open())
	}
	share := func(i int) int {
		switch {
		case i >= n:
			return 0
		case i < limit%n:
			return limit/n + 1
		}
		return limit / n
	}
	for i, gr := range g.all {
		if share(i) < gr.gate.Limit() {
			gr.gate.SetLimit(share(i))
		}
	}
	d := &division[T]{groups: slices.Clone(g.all[:n]), limit: limit, slots: min(limit, n)}
	g.now.Store(d) // [S1]
	for i, gr := range g.all {
		if share(i) > gr.gate.Limit() {
			gr.gate.SetLimit(share(i))
		}
	}
	for i, gr := range g.all {
		if !d.usable(i) {
			gr.send() // [S2]
		}
	}
}

// open makes a gate without a slot. Under mu.
func (g *groups[T]) open() *group[T] {
	gr := &group[T]{gate: gate.New(1, g.cfg), wait: map[*place]struct{}{}}
	gr.gate.SetLimit(0)
	for tenant, q := range g.quanta {
		gr.gate.SetQuantum(tenant, q)
	}
	if g.closed {
		_ = gr.gate.Close() // it returns nil
	}
	return gr
}

// send lets all callers that wait here go elsewhere.
func (gr *group[T]) send() {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	for p := range gr.wait {
		p.sent.Store(true)
		p.cancel()
	}
}

func (gr *group[T]) come(p *place) {
	gr.mu.Lock()
	gr.wait[p] = struct{}{}
	gr.mu.Unlock()
}

func (gr *group[T]) leave(p *place) {
	gr.mu.Lock()
	delete(gr.wait, p)
	gr.mu.Unlock()
}

// load is what executes and waits in a group.
func (gr *group[T]) load() int { return gr.gate.InUse() + gr.gate.Waiting() }

// pick returns the group that a key is to be executed in, and its home: rendezvous
// hashing (Thaler and Ravishankar, 1998) with bounded loads (Mirrokni, Thorup and
// Zadimoghaddam, SODA 2018). The key's own order of the groups is by weight, the home
// first. What differs: as long as a slot is free at home no other group is considered, and only
// groups with a slot count.
func (g *groups[T]) pick(h uint64) (d *division[T], at, home int) {
	d = g.now.Load()
	n := len(d.groups)
	if n == 1 {
		return d, 0, 0
	}
	home = heaviest(h, n, nil)
	if d.slots == 0 {
		return d, home, home
	}
	if home < d.slots {
		if gr := d.groups[home].gate; math.IsInf(g.spill, 1) || gr.InUse()+gr.Waiting() < gr.Limit() {
			return d, home, home
		}
	}
	if math.IsInf(g.spill, 1) {
		return d, heaviest(h, d.slots, nil), home
	}
	var loads [MaxGroups]int
	total := 0
	for i, gr := range d.groups {
		loads[i] = gr.load()
		total += loads[i]
	}
	bound := math.Ceil(g.spill * float64(total+1) / float64(d.slots))
	at = heaviest(h, d.slots, func(i int) bool { return float64(loads[i]) < bound })
	return d, at, home
}

// heaviest returns which of the allowed ones among the first n groups comes first in the
// order of a key.
func heaviest(h uint64, n int, may func(int) bool) int {
	best, most := 0, uint64(0)
	for i := range n {
		if may != nil && !may(i) {
			continue
		}
		if w := mix(h ^ mix(uint64(i)+1)); w >= most {
			best, most = i, w
		}
	}
	return best
}

// mix is the finalizer of MurmurHash3 (Appleby, public domain).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

// setQuantum sets a tenant's quantum in all gates, those to come too; 0: what the config
// says.
func (g *groups[T]) setQuantum(tenant T, q int64) {
	g.mu.Lock()
	if q == 0 {
		delete(g.quanta, tenant)
	} else {
		g.quanta[tenant] = max(q, 1)
	}
	all := slices.Clone(g.all)
	g.mu.Unlock()
	for _, gr := range all {
		if q == 0 {
			gr.gate.ResetQuantum(tenant) // it may call QuantumFor
		} else {
			gr.gate.SetQuantum(tenant, q)
		}
	}
}

// close ends the waits, and lets no caller wait any more.
func (g *groups[T]) close() {
	g.mu.Lock()
	g.closed = true
	all := slices.Clone(g.all)
	g.mu.Unlock()
	for _, gr := range all {
		_ = gr.gate.Close() // it returns nil
	}
}

// every returns all gates there have ever been.
func (g *groups[T]) every() []*group[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all)
}

// SetLimit, Limit and InUse make groups a gate.Limiter.

func (g *groups[T]) SetLimit(n int) {
	g.set(func(d *division[T]) (int, int) { return n, len(d.groups) })
}

func (g *groups[T]) Limit() int { return g.now.Load().limit }

func (g *groups[T]) InUse() int {
	n := 0
	for _, gr := range g.now.Load().groups {
		n += gr.gate.InUse()
	}
	return n
}
