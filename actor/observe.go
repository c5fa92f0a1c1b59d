package actor

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
)

// What profiles and traces show of a handler. Both are off in most programs, and then cost two
// loads per handler.

// observed makes a handler visible: as a region of an execution trace while one is being
// taken, and, with Config.Profile, by the labels of its goroutine in profiles. before is the
// context from which the goroutine gets its labels back when the handler is over. The caller
// has to defer end; nil: neither tracing nor profiling is on.
func (c *Ctx) observed(before context.Context, a *actor, m *method) (end func()) {
	// Asked for each handler, as a trace may begin at any time.
	profile, traced := c.sys.cfg.Profile, trace.IsEnabled()
	if !profile && !traced {
		return nil
	}
	o := c.sys.observation(a, m)
	if profile {
		// The goroutine has them until end: a worker between two handlers has none of an
		// actor's.
		pprof.SetGoroutineLabels(o.labels)
	}
	var region *trace.Region
	if traced {
		region = trace.StartRegion(o.labels, o.name)
	}
	return func() {
		// In the reverse order of the beginning.
		if region != nil {
			region.End()
		}
		if profile {
			pprof.SetGoroutineLabels(before)
		}
	}
}

// observation is the name and the labels of the handlers of a kind and method.
type observation struct {
	name   string // of the region: kind.method
	labels context.Context
}

type observationKey struct{ kind, method string }

// observation is made once per kind and method: there are as many as handles.
func (s *System) observation(a *actor, m *method) *observation {
	// Kinds and methods, never the actors: a profile with a million labels is of no use.
	key := observationKey{a.kindName(), m.name}
	// Made once, as labels allocate, and found without a lock.
	return made(&s.observations, key, func() *observation {
		return &observation{
			name:   key.kind + "." + key.method,
			labels: pprof.WithLabels(context.Background(), pprof.Labels("actor", key.kind, "method", key.method)),
		}
	})
}

// labelsOf returns the context that the goroutine of a caller has its labels from: that of
// its own handler, or ctx, as with pprof.Do.
func labelsOf(ctx context.Context, c *Ctx) context.Context {
	if c == nil || !c.sys.cfg.Profile {
		return ctx
	}
	// The labels of the handler that calls: its Ctx says whose they are.
	a, m := c.a.Load(), c.m.Load()
	if a == nil || m == nil {
		return context.Background()
	}
	return c.sys.observation(a, m).labels
}
