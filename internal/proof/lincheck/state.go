package lincheck

import (
	"slices"

	"github.com/firq-go/firq"
)

// Bounds of what a state can hold. They are small because a check copies and
// compares states all the time.
const (
	maxTenants = 4
	maxQueued  = 16
	maxCalls   = 128
	maxSteps   = 512
)

// What has become of a scheduler.
const (
	open = iota
	draining
	closed
)

// state is the sequential scheduler, between two steps. It is comparable and
// holds no pointers, so that a copy shares nothing.
type state struct {
	done    [maxSteps / 64]uint64 // steps that were taken
	life    uint8                 // as consumers see it
	stopped uint8                 // tenants that nothing is admitted for any more, a bit each
	swept   bool                  // what was queued at Close has been dropped
	// The calls that did it, counted from 1; a second one does nothing.
	drainer, closer uint8
	credits         uint8 // global places that are out
	most            uint8 // how many may be
	// Shutdown's answers have to agree: it was finished, or Close came first.
	drained             bool // draining had nothing left when Close came
	saidNil, saidClosed bool
	holding             [maxCalls / 64]uint64 // what a call has to remember between its steps, a bit
	counters            Counters
	list                [maxTenants]uint8 // the active list, head first; with one shard
	listed              uint8
	freed               [maxTenants]uint8 // tenants that were blocked and go first
	goFirst             uint8             // how many of them
	due                 uint8             // of the active list, those that this round has still to visit, a bit each
	used                bool              // some tenant has had a turn in this round
	tenants             [maxTenants]tenant
}

type tenant struct {
	line     [maxQueued]uint8 // tasks, in the order in which they are served
	lined    uint8
	queued   uint8 // those that can be seen
	places   uint8 // that are out
	limit    uint8 // how many may be
	inFlight uint8
	inList   bool
	isFreed  bool
	inTurn   bool
	away     uint8 // rounds that have begun since it was blocked, up to enough
	deficit  int16
	quantum  int16
}

// rules are the sequential scheduler, plainly: slices and loops, deficit round
// robin turn by turn. None of it is taken from the cores or from package drr.
type rules struct {
	*History
	isClosed, isEvicted map[int]bool
	oneShard            bool
	loose               bool // calls have several steps
	largest             int  // MaxGlobal at any time
	changes             bool // limits change
}

func newRules(h *History, loose bool) *rules {
	r := &rules{History: h, isClosed: map[int]bool{}, isEvicted: map[int]bool{}, oneShard: h.Config.Shards == 1, loose: loose}
	for _, id := range h.Closed {
		r.isClosed[id] = true
	}
	r.largest = h.Config.MaxGlobal
	for i := range h.Calls {
		switch c := &h.Calls[i]; c.Kind {
		case SetMaxGlobal:
			r.largest = max(r.largest, c.Most)
			fallthrough
		case SetLimit:
			r.changes = true
		}
	}
	for _, id := range h.Evicted {
		r.isEvicted[id] = true
	}
	return r
}

func (r *rules) start() state {
	var s state
	s.most = uint8(r.Config.MaxGlobal)
	for i := range s.tenants {
		s.tenants[i].quantum = int16(r.Config.Quantum)
		s.tenants[i].limit = uint8(r.Config.MaxPerTenant)
	}
	return s
}

func (r *rules) globalFull(s *state) bool { return s.credits >= s.most }

func (r *rules) tenantFull(s *state, t int) bool { return s.tenants[t].places >= s.tenants[t].limit }

const everybody = 1<<maxTenants - 1

func (r *rules) stopped(s *state, t int) bool { return s.stopped&(1<<t) != 0 }

// drained reports whether a Shutdown has nothing to wait for.
func (r *rules) drained(s *state) bool {
	return s.life == draining && s.stopped == everybody && s.credits == 0
}

// reserve takes the places of one task.
func (r *rules) reserve(s *state, t int) bool { return r.reservePlace(s, t) && r.reserveCredit(s, t) }

func (r *rules) reservePlace(s *state, t int) bool {
	if r.tenantFull(s, t) {
		return false
	}
	s.tenants[t].places++
	return true
}

func (r *rules) reserveCredit(s *state, t int) bool {
	if r.stopped(s, t) || r.globalFull(s) {
		return false
	}
	s.credits++
	return true
}

// publish lets consumers see the task. After Close it goes to OnDrop immediately.
func (r *rules) publish(s *state, id int) bool {
	s.counters.Enqueued++
	if s.swept && r.isClosed[id] { // else it has still to be cancelled
		s.counters.Closed++
		r.unline(&s.tenants[r.Tasks[id].Tenant], uint8(id)|hidden)
		r.free(s, id)
		return true
	}
	t := r.Tasks[id].Tenant
	x := &s.tenants[t]
	at := slices.Index(x.line[:x.lined], uint8(id)|hidden)
	if at < 0 {
		at = r.line(s, id)
	}
	x.line[at] = uint8(id)
	switch x.queued++; {
	case x.inList || x.isFreed:
	case !r.blocked(x):
		r.join(s, t)
	case x.queued == 1 && x.away > 0:
		x.deficit, x.away = 0, 0
	}
	return true
}

// hidden marks a task in line that cannot be seen yet.
const hidden = 0x80

// line gives the task its place in its tenant's order.
func (r *rules) line(s *state, id int) int {
	x := &s.tenants[r.Tasks[id].Tenant]
	x.line[x.lined] = uint8(id) | hidden
	x.lined++
	return int(x.lined) - 1
}

// free gives back the places of a task that has left.
func (r *rules) free(s *state, id int) { r.freePlace(s, id); s.credits-- }

func (r *rules) freePlace(s *state, id int) { s.tenants[r.Tasks[id].Tenant].places-- }

func (r *rules) blocked(x *tenant) bool {
	return r.Config.MaxInFlightPerTenant > 0 && int(x.inFlight) >= r.Config.MaxInFlightPerTenant
}

// remove takes the task out of its tenant's queue; false: it is not there.
func (r *rules) remove(s *state, id int) bool {
	x := &s.tenants[r.Tasks[id].Tenant]
	if !r.unline(x, uint8(id)) {
		return false
	}
	if x.queued--; x.queued == 0 && r.blocked(x) && !x.inList {
		x.earn(max(x.deficit, 2*x.quantum))
	}
	return true
}

func (r *rules) unline(x *tenant, entry uint8) bool {
	i := slices.Index(x.line[:x.lined], entry)
	if i < 0 {
		return false
	}
	copy(x.line[i:], x.line[i+1:])
	x.lined--
	x.line[x.lined] = 0
	return true
}

// victim is what DropOldest makes room with: the oldest of the lowest priority that
// is not above the new task's; 0: none.
func (r *rules) victim(s *state, id int) (victim int) {
	x := &s.tenants[r.Tasks[id].Tenant]
	for _, old := range x.line[:x.lined] {
		if old >= hidden {
			continue
		}
		p := r.Tasks[old].Priority
		if p <= r.Tasks[id].Priority && (victim == 0 || p < r.Tasks[victim].Priority) {
			victim = int(old)
		}
	}
	return victim
}

// evict makes room for the task.
func (r *rules) evict(s *state, id int) bool {
	victim := r.victim(s, id)
	if victim == 0 || !r.isEvicted[victim] {
		return false
	}
	r.remove(s, victim)
	s.counters.Evicted++
	r.free(s, victim)
	return true
}

// shut closes the scheduler; the first call that does has the backlog dropped.
func (r *rules) shut(s *state, call int) {
	if s.life == closed {
		return
	}
	s.drained = s.drained || r.drained(s)
	s.life, s.closer = closed, uint8(call+1)
}

// drain begins a Shutdown.
func (r *rules) drain(s *state, call int) {
	if s.life == open {
		s.life, s.drainer = draining, uint8(call+1)
	}
}

// sweep drops what is queued. It returns false if OnDrop was not called for all of it.
func (r *rules) sweep(s *state) bool {
	for t := range s.tenants {
		for x := &s.tenants[t]; x.queued > 0; {
			id := int(x.line[r.front(x)])
			if !r.isClosed[id] {
				return false
			}
			r.remove(s, id)
			r.free(s, id)
			s.counters.Closed++
		}
	}
	s.swept = true
	return true
}

// evicts reports whether the policy makes room.
func (r *rules) evicts() bool { return r.Config.Backpressure.Policy == firq.DropOldest }
