// Package scenario describes the synthetic workloads of firqbench: which tenants send
// what to whom. How they are driven is package load's business.
package scenario

import (
	"fmt"
	"strings"
	"time"
)

// Shape says how producers and consumers are arranged.
type Shape string

const (
	// Flow: producers and consumers in their own goroutines.
	Flow Shape = "flow"
	// Pair: one goroutine that enqueues a task and dequeues it again.
	Pair Shape = "pair"
	// PingPong: two goroutines, two queues, one task that goes round.
	PingPong Shape = "ping-pong"
)

// Scenario is a workload. All of them but those with an Overload are closed
// loops, unless they are run at a rate (load.Spec.Rate): a producer sends its next task when the last call has returned, so that
// the latencies are those of a system that pushes back, and do not say what
// clients see that do not wait.
type Scenario struct {
	Name  string `json:"name"`
	About string `json:"about"` // one line
	More  string `json:"more"`  // what it is for and how to read it
	Shape Shape  `json:"shape"`

	Producers int `json:"producers"`
	Consumers int `json:"consumers"`
	Tenants   int `json:"tenants"`
	Batch     int `json:"batch"`    // tasks per EnqueueBatch and DequeueBatch call; 1: single calls
	Shards    int `json:"shards"`   // 0: the scheduler's default
	Capacity  int `json:"capacity"` // Config.MaxGlobal; 0: more than the window, never full
	PerTenant int `json:"per_tenant"`

	// Producers stop at Window unfinished tasks and go on somewhat below it;
	// with Burst they go on when (nearly) nothing is left.
	Window int  `json:"window"`
	Burst  bool `json:"burst"`
	// Deep: consumers pause while somewhat less than Window is under way, so that so
	// much is queued all the time; what is measured begins when it is.
	Deep bool `json:"deep,omitempty"`
	// Reject: a task that finds the queue full is dropped by its producer, which
	// goes on with the next one. Else it waits.
	Reject bool `json:"reject"`

	// Handles: producers enqueue by handles, where the contestant has them.
	Handles bool `json:"handles,omitempty"`

	// HotShare is the part of the tasks that goes to the hot tenants, which are
	// the first HotTenants (0 means 1); 0: all tenants are equal.
	HotShare   float64 `json:"hot_share"`
	HotTenants int     `json:"hot_tenants,omitempty"`
	// HotProducers do nothing but send to the hot tenant, as fast as the window lets
	// them; the others then send to the rest, by the clock, QuietRate tasks per second
	// together: the same load on every contestant. With a rate of the user's choice all
	// producers go by that one.
	HotProducers int     `json:"hot_producers"`
	QuietRate    float64 `json:"quiet_rate,omitempty"`
	// Skew: tenant k, from 1, gets a part of the tasks in proportion to k^-Skew (Zipf's
	// law); 0: as HotShare has it.
	Skew float64 `json:"skew,omitempty"`

	// Priorities: each task has one of the six, at random.
	Priorities bool `json:"priorities"`
	// ShortLife: one task in four has this long to live, the others an hour;
	// 0: no deadlines.
	ShortLife time.Duration `json:"short_life_ns"`

	// Life: every task has this long to live, from when its producer looked at
	// the clock, at most 64 tasks ago; 0: as ShortLife has it.
	Life time.Duration `json:"life_ns,omitempty"`

	// WorkPerCall: the work between two calls is done once per call, not once
	// per task.
	WorkPerCall bool `json:"work_per_call,omitempty"`
	// FixedWork: the scenario is not run with work of the user's choice; there is
	// none, or Service.
	FixedWork bool `json:"fixed_work,omitempty"`
	// Service is the CPU time that a consumer spends on each task.
	Service time.Duration `json:"service_ns,omitempty"`
	// Overload: producers send by the clock, whatever becomes of the tasks, and
	// together a multiple of what the consumers can serve (see Offered).
	Overload float64 `json:"overload,omitempty"`

	// Neighbour: another process keeps all processors busy (see package neighbour).
	Neighbour bool `json:"neighbour,omitempty"`
	// Processors is GOMAXPROCS during a run; 0: as it is.
	Processors int `json:"processors,omitempty"`
	// Quota is the part of the machine's processor time, in percent, that the process may use
	// during a run (see package quota); 0: all of it.
	Quota int `json:"quota_percent,omitempty"`

	// Focus names the tasks whose queue time is shown by itself, "" for none:
	// those of tenants other than the hot one, or those of critical priority.
	Focus string `json:"focus"`
}

// Values of Scenario.Focus.
const (
	FocusQuiet    = "quiet tenants"
	FocusCritical = "priority critical"
)

// Hot returns how many hot tenants there are; they are the first ones.
func (s *Scenario) Hot() int {
	if s.HotShare > 0 || s.HotProducers > 0 || s.Skew > 0 {
		return max(1, s.HotTenants)
	}
	return 0
}

// CanOpen reports whether tasks may come at their own rate: not where one
// goroutine does both, or waits for an answer, or a burst is over when the queue
// is empty.
func (s *Scenario) CanOpen() bool { return s.Shape == Flow && !s.Burst }

// CanBeDeep reports whether consumers may pause while less than the window is queued: not
// where the queue is to run empty, or producers do not wait.
func (s *Scenario) CanBeDeep() bool { return s.CanOpen() && !s.Reject }

// CanCount reports whether a run may be a number of tasks instead of a time: not where
// producers go by the clock, or tasks expire, so that a slower machine does other work.
func (s *Scenario) CanCount() bool {
	return s.Overload == 0 && s.QuietRate == 0 && !s.Neighbour && s.Quota == 0 && !s.Deadlines()
}

// Deadlines reports whether tasks may come too late.
func (s *Scenario) Deadlines() bool { return s.ShortLife > 0 || s.Life > 0 }

// Offered returns how many tasks per second the producers of a scenario with an
// Overload send on the given number of processors: Overload times what the consumers could
// serve if they had the processors to themselves.
func (s *Scenario) Offered(processors int) float64 {
	if s.Service <= 0 {
		return 0
	}
	return s.Overload * float64(min(s.Consumers, processors)) / s.Service.Seconds()
}

// Overrides replaces parts of each scenario; nil fields change nothing.
type Overrides struct {
	Producers, Consumers, Tenants, Batch, Shards, Capacity, Window *int

	Depth *int     // Window, and Deep
	Skew  *float64 // of scenarios that have one
}

// MaxSkew bounds Scenario.Skew: beyond it all tasks are the first tenant's.
const MaxSkew = 10

// Apply returns s with the overrides, or an error that says which of them makes
// no sense in s.
func (o Overrides) Apply(s Scenario) (Scenario, error) {
	for _, f := range []struct {
		name  string
		value *int
		to    *int
		least int
	}{
		{"producers", o.Producers, &s.Producers, 1},
		{"consumers", o.Consumers, &s.Consumers, 1},
		{"tenants", o.Tenants, &s.Tenants, 1},
		{"batch", o.Batch, &s.Batch, 1},
		{"shards", o.Shards, &s.Shards, 0},
		{"capacity", o.Capacity, &s.Capacity, 1},
		{"window", o.Window, &s.Window, 1},
		{"depth", o.Depth, &s.Window, 1},
	} {
		if f.value == nil {
			continue
		}
		if *f.value < f.least || *f.value > MaxCount {
			return s, fmt.Errorf("--%s: %d, must be %d to %d", f.name, *f.value, f.least, MaxCount)
		}
		*f.to = *f.value
	}
	if o.Depth != nil {
		if !s.CanBeDeep() {
			return s, fmt.Errorf("--depth: %s keeps no backlog; leave it out", s.Name)
		}
		s.Deep = true
	}
	if o.Skew != nil {
		switch {
		case s.Skew == 0:
			return s, fmt.Errorf("--skew: %s has none; leave it out", s.Name)
		case !(*o.Skew > 0) || *o.Skew > MaxSkew:
			return s, fmt.Errorf("--skew: %v, must be above 0, and %d at most", *o.Skew, MaxSkew)
		}
		s.Skew = *o.Skew
	}
	if s.Shape != Flow {
		s.Producers, s.Consumers, s.Batch = 1, 1, 1 // that is what they are about
	}
	if s.HotProducers > 0 {
		if s.Producers < 2 {
			return s, fmt.Errorf("--producers: %d, %s needs 2", s.Producers, s.Name)
		}
		s.HotProducers = max(1, s.Producers/2)
	}
	if hot := s.Hot(); hot > 0 && s.Tenants <= hot {
		return s, fmt.Errorf("--tenants: %d, %s needs %d", s.Tenants, s.Name, hot+1)
	}
	return s, nil
}

// MaxCount bounds every count that a flag can set. A payload has 20 bits for
// the tenant.
const MaxCount = 1 << 20

// Choose returns the scenarios that only names, in that order (all of them if
// it is empty), without those that skip names.
func Choose(only, skip []string) ([]Scenario, error) {
	byName := make(map[string]Scenario)
	for _, s := range All() {
		byName[s.Name] = s
	}
	for _, name := range append(append([]string(nil), only...), skip...) {
		if _, ok := byName[name]; !ok {
			return nil, fmt.Errorf("unknown scenario %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	if len(only) == 0 {
		only = Names()
	}
	for _, name := range skip {
		delete(byName, name)
	}
	var chosen []Scenario
	for _, name := range only {
		if s, ok := byName[name]; ok {
			chosen = append(chosen, s)
			delete(byName, name) // named twice, run once
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no scenario is left; there are %s", strings.Join(Names(), ", "))
	}
	return chosen, nil
}

// Names returns the names of All.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}
