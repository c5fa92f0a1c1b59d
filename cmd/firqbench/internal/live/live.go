// Package live looks at a scenario while it runs: one contestant, or two side by
// side, in a terminal or in a browser.
//
// It is the same driver as that of "firqbench run" (package load) that makes the
// load, with its Watch. What is watched costs a lock per task that no other part
// wants, some 20 ns; and two contestants share the processors: the rates are for
// looking at, and "run" is for measuring.
package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
)

// Plan is what to look at.
type Plan struct {
	// Spec is what runs; Contestant, Measure, Probe, Record and Watch of it are
	// not used.
	Spec        load.Spec
	Contestants []contest.Contestant // one or two
	For         time.Duration        // 0: until the context ends
	Every       time.Duration        // between two views; must be positive
}

// window is what a view is about.
const window = time.Second

// Run runs the scenario and calls show with a new view every plan.Every, and then
// once more: the last view is about the whole run. It returns when all has ended;
// the end of ctx is the ordinary end of a run, and no error.
func Run(ctx context.Context, plan Plan, show func(*View)) error {
	stop, end := context.WithCancel(ctx)
	defer end()
	s := &session{plan: plan}
	var running sync.WaitGroup
	for _, c := range plan.Contestants {
		side := &side{name: c.Name, all: newSums(plan.Spec.Scenario.Tenants)}
		s.sides = append(s.sides, side)
		spec := plan.Spec
		spec.Contestant, spec.Measure, spec.Probe, spec.Record = c, 0, -1, 0
		spec.Watch = &load.Watch{For: plan.For, Every: plan.Every, Stop: stop.Done(), Times: true, See: side.see}
		running.Go(func() {
			// Not ctx: a run that has to stop still delivers what it has accepted,
			// and proves that nothing was lost.
			_, err := load.Run(context.WithoutCancel(ctx), spec)
			if err != nil {
				side.fail(err)
				end() // of the other one too
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	tick := time.NewTicker(plan.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			show(s.view(false))
		case <-ended:
			show(s.view(true))
			return s.err()
		}
	}
}

// session is a run that is looked at.
type session struct {
	plan  Plan
	sides []*side // immutable
}

// side is one contestant of it.
type side struct {
	name string

	mu     sync.Mutex
	recent []*load.Glance // of the last window, oldest first
	all    *sums
	at     time.Duration
	err    error
}

// see is called by the driver.
func (s *side) see(g *load.Glance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = g.At
	s.all.add(g)
	s.recent = append(s.recent, g)
	span := time.Duration(0)
	for _, g := range s.recent {
		span += g.Elapsed
	}
	// What is left is about a window long: glances come a little early, or late.
	for ; len(s.recent) > 1 && span-s.recent[0].Elapsed >= window*9/10; s.recent = s.recent[1:] {
		span -= s.recent[0].Elapsed
	}
}

func (s *side) fail(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
}

// view returns the side's; whole says that it is about the whole run.
func (s *side) view(whole bool) (Side, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := s.all
	if !whole {
		sums = newSums(len(s.all.asked))
		for _, g := range s.recent {
			sums.add(g)
		}
	}
	v := sums.side(s.name, load.TenantName)
	if s.err != nil {
		v.Error = s.err.Error()
	}
	return v, s.at
}

func (s *session) view(over bool) *View {
	v := &View{Scenario: s.plan.Spec.Scenario.Name, About: s.plan.Spec.Scenario.About, Over: over}
	for _, side := range s.sides {
		shown, at := side.view(over)
		v.Sides, v.At = append(v.Sides, shown), max(v.At, at)
	}
	return v
}

func (s *session) err() error {
	var errs []error
	for _, side := range s.sides {
		if side.err != nil { // all have ended
			errs = append(errs, side.err)
		}
	}
	return errors.Join(errs...)
}
