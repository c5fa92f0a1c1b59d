// Package contest puts everything that firqbench compares behind one small
// interface, so that the same driver, clock and recording serve each of them.
//
// A contestant is driven through Queue, the part of firq.Scheduler that moves
// tasks. The cores of this module are Schedulers already; what is not (a Go
// channel) has an adapter here that does what a scheduler must do as well: it
// stamps each task when it comes in, checks its deadline when it goes out, and
// records its queue time.
package contest

import (
	"context"
	"slices"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/pick"
)

// Every contestant is driven with these types: tenants are strings, as they are
// in a service, and the payload is a word that the driver can check.
type (
	// Task goes in.
	Task = firq.Task[uint64]
	// Item comes out.
	Item = firq.Item[string, uint64]
	// Config builds a contestant.
	Config = firq.Config[string, uint64]
)

// Queue is what the driver needs of a contestant.
type Queue interface {
	// The first three are those of firq.Producer.
	Enqueue(tenant string, t Task) error
	EnqueueWait(ctx context.Context, tenant string, t Task) error
	EnqueueBatch(tenant string, ts []Task) (accepted int, err error)
	firq.Consumer[string, uint64]
	// Shutdown stops admitting and returns once the backlog was delivered. No
	// Enqueue call may be in progress or follow.
	Shutdown(ctx context.Context) error
	// Close stops immediately and wakes all callers.
	Close() error
}

// Contestant is one line of a comparison.
type Contestant struct {
	Name  string
	About string // one line for people
	New   func(Config) (Queue, error)
	// WakeOnly contestants take part only where the wake-up of a parked
	// consumer is measured.
	WakeOnly bool
	// OnlyNamed contestants take part only when they are asked for.
	OnlyNamed bool
}

// Names of the contestants.
const (
	Lockfree   = "lockfree"
	OneLock    = "baseline-1"
	Sharded    = "baseline-sharded"
	Simple     = "mutex-simple"
	Channel    = "channel"
	Unbuffered = "channel-0"
	FIFO       = "fifo"
	Floor      = "floor"
)

// Reference is the contestant that the others are compared with.
const Reference = OneLock

// ForRun returns the contestants of "firqbench run", in the order of the
// tables.
func ForRun() []Contestant {
	return append(cores(), simplest(),
		Contestant{Name: Channel, About: "a buffered Go channel: unfair, no limits per tenant; for scale", New: newChannel},
		Contestant{Name: Unbuffered, About: "an unbuffered Go channel, ping_pong only", New: newUnbuffered, WakeOnly: true},
		Contestant{
			Name: Floor, New: newFloor, OnlyNamed: true,
			About: "only if named: what a queue with limits per tenant cannot do without, and nothing else; unfair, no deadlines",
		},
	)
}

// ForReplay returns the contestants of "firqbench replay", least fair first.
func ForReplay() []Contestant {
	all := []Contestant{{Name: FIFO, About: "one queue in order of arrival", New: newChannel}, simplest()}
	byName := make(map[string]Contestant)
	for _, c := range cores() {
		byName[c.Name] = c
	}
	for _, name := range []string{OneLock, Sharded, Lockfree} {
		if c, ok := byName[name]; ok {
			all = append(all, c)
		}
	}
	return all
}

// Select returns those of all that names lists, in the order of all; no names
// means all of them but those that are OnlyNamed. "baseline" stands for the
// baseline with one lock.
func Select(all []Contestant, names []string) ([]Contestant, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(c Contestant) bool { return c.OnlyNamed }), nil
	}
	full := slices.Clone(names)
	for i, name := range full {
		if name == "baseline" {
			full[i] = OneLock
		}
	}
	return pick.Named("contestant", all, func(c *Contestant) string { return c.Name }, full)
}

func simplest() Contestant {
	return Contestant{Name: Simple, New: newSimple,
		About: "the strongest plain mutex queue that fits in 100 lines: fair by task, no costs, quanta, priorities, limits per tenant"}
}
