// Package model predicts the throughput of the contestants on more processors than there
// are to measure with. It is a simulation of discrete events: goroutines run on processors,
// take locks and leases, and write cache lines, which have to come from the processor that
// wrote them last. What a call computes is not simulated; it takes as long as it was
// measured to take on one processor.
//
// docs/model.md in the repository says what the model leaves out, and how wrong it is where
// it can be compared with a measurement.
package model

import (
	"context"
	"errors"
	"math"
)

// MaxProcessors is how many processors can be simulated.
const MaxProcessors = 64 * words

const words = 4

// Machine is what the model says of a machine, in nanoseconds. The first two are fitted or
// given, the others are assumptions.
type Machine struct {
	Transfer float64 `json:"transfer_ns"` // a cache line comes from another processor
	Wake     float64 `json:"wake_ns"`     // an idle processor begins to work

	Switch  float64 `json:"switch_ns"` // a processor goes on with another goroutine
	Spin    float64 `json:"spin_ns"`   // one of the four looks at a mutex before a goroutine parks
	Look    float64 `json:"look_ns"`   // at a word that is in the processor's own cache
	Overlap float64 `json:"overlap"`   // lines that come at a time when many are asked for
	Patient float64 `json:"patient"`   // a mutex is handed over to a goroutine that has waited for so long
	Recent  float64 `json:"recent"`    // a shard counts as another processor's for so long
	Touch   float64 `json:"touch_ns"`  // as often a processor says that it is at a shard
}

// Assumed is a machine of which nothing was measured.
func Assumed() Machine {
	return Machine{Transfer: 60, Switch: 250, Wake: 5000, Spin: 500, Look: 1, Overlap: 10, Patient: 1e6, Recent: 1000, Touch: 250}
}

// step is what a goroutine does at one instant. It moves the time of its processor on, and
// returns what comes next; nil after park.
type step func(*goroutine) step

type processor struct {
	id     int
	now    float64    // what it does lasts until then; +Inf: it is idle, or stuck
	runs   *goroutine // nil: it is idle, or waking
	waking bool       // from now on it looks for a goroutine
}

type goroutine struct {
	on   *processor // that it runs on, or ran on last
	next step

	// Of mutex.
	lock  *mutex
	then  step    // once it has the lock
	spins int     // looks so far
	since float64 // it has been waiting; 0: it has not

	// Of driver and queues.
	tenant     *tenant
	shard      *shard
	task       int
	unreported int
	tries      int // to take something, or to put it into a full inbox
	probe      int // shards looked at in this try
}

// sim runs goroutines on processors.
//
// Products are converted to float64 before they are added, or some architectures would round
// once where others round twice, and the same run would be another one there.
type sim struct {
	Machine
	processors []*processor
	runnable   []*goroutine // in order; there is one queue for all
	again      step         // acquireAgain
}

func newSim(m Machine, processors int) *sim {
	s := &sim{Machine: m}
	s.again = s.acquireAgain
	for i := range processors {
		s.processors = append(s.processors, &processor{id: i, now: math.Inf(1)})
	}
	return s
}

// start makes a goroutine that begins with first.
func (s *sim) start(first step) {
	g := &goroutine{next: first}
	for _, p := range s.processors {
		if p.runs == nil {
			p.runs, g.on, p.now = g, p, 0
			return
		}
	}
	g.on = s.processors[0]
	s.runnable = append(s.runnable, g)
}

var errStuck = errors.New("nobody can go on")

// run goes on until done says so, or ctx is done.
func (s *sim) run(ctx context.Context, done func() bool) error {
	for n := 0; !done(); n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p := s.processors[0]
		for _, other := range s.processors[1:] {
			if other.now < p.now {
				p = other
			}
		}
		if math.IsInf(p.now, 1) {
			return errStuck
		}
		g := p.runs
		if g == nil {
			s.arrive(p)
		} else if next := g.next(g); next != nil {
			g.next = next
		}
	}
	return nil
}

// arrive has a processor that was woken take a goroutine, if others have left one. If there
// are more it wakes another processor.
func (s *sim) arrive(p *processor) {
	if p.waking = false; len(s.runnable) == 0 {
		p.now = math.Inf(1)
		return
	}
	s.takeNext(p, 0)
	if len(s.runnable) > 0 {
		s.rouse(p.now)
	}
}

// rouse wakes an idle processor, unless one is on its way: Go wakes one at a time.
func (s *sim) rouse(at float64) {
	var idle *processor
	for _, p := range s.processors {
		if p.waking {
			return
		}
		if idle == nil && p.runs == nil {
			idle = p
		}
	}
	if idle != nil {
		idle.waking, idle.now = true, at+s.Wake
	}
}

// takeNext has p run the first of those that can run, after so long.
func (s *sim) takeNext(p *processor, after float64) {
	g := s.runnable[0]
	s.runnable = s.runnable[1:]
	p.runs, g.on, p.now = g, p, p.now+after
}

// park has g wait, until ready, and then go on with next; its processor runs another one.
func (s *sim) park(g *goroutine, next step) step {
	g.next = next
	p := g.on
	if p.runs = nil; len(s.runnable) == 0 {
		p.now = math.Inf(1)
		return nil
	}
	s.takeNext(p, s.Switch)
	return nil
}

// ready lets g go on, which waits; by is the processor that does it. Whichever processor is
// free first runs it. first: before all others, as a goroutine that a mutex has woken.
func (s *sim) ready(g *goroutine, by *processor, first bool) {
	by.now += s.Switch / 2
	if s.runnable = append(s.runnable, g); first {
		copy(s.runnable[1:], s.runnable)
		s.runnable[0] = g
	}
	s.rouse(by.now)
}

// yield lets others run, as runtime.Gosched does, and then goes on with next.
func (s *sim) yield(g *goroutine, next step) step {
	if len(s.runnable) == 0 {
		g.on.now += s.Switch
		return next
	}
	s.runnable = append(s.runnable, g)
	return s.park(g, next)
}

// line is a cache line, or several that are only touched together. To write it, a
// processor needs the only copy, to read it, any; both have to come from elsewhere, one
// after another.
type line struct {
	weight  float64 // how many lines it stands for; 0 is 1
	free    float64 // when the reader that is being served has it
	owner   int     // the processor that has written it, counted from 1; 0: nobody
	readers [words]uint64
	copies  bool // there are readers besides the owner
}

func (s *sim) write(p *processor, l *line) {
	if l.owner == p.id+1 && !l.copies {
		return
	}
	if l.owner != 0 {
		p.now = max(p.now, l.free) + float64(max(1, l.weight)*s.Transfer)
		l.free = p.now
	}
	l.owner, l.copies = p.id+1, false
	l.readers = [words]uint64{}
	l.readers[p.id>>6] = 1 << (p.id & 63)
}

// misses reports whether p has no copy of l; now it has.
func (l *line) misses(p *processor) bool {
	bit := uint64(1) << (p.id & 63)
	if l.readers[p.id>>6]&bit != 0 {
		return false
	}
	l.readers[p.id>>6] |= bit
	return l.owner != 0
}

// read waits for the reader that is being served, and holds up others only if it is the first to read
// what was written: copies can be made by many at a time.
func (s *sim) read(p *processor, l *line) {
	if !l.misses(p) {
		return
	}
	p.now = max(p.now, l.free) + float64(max(1, l.weight)*s.Transfer)
	if !l.copies {
		l.copies, l.free = true, p.now
	}
}

// readAll reads lines that do not depend on each other, so that several come at a time.
func (s *sim) readAll(p *processor, ls []line) {
	n := 0
	for i := range ls {
		if l := &ls[i]; l.misses(p) {
			l.copies = true
			n++
		}
	}
	p.now += float64(math.Ceil(float64(n)/s.Overlap)*s.Transfer) + float64(float64(len(ls))*s.Look)
}
