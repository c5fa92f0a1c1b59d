// Package peers puts what one could take instead of firq behind the interface of
// package contest, so that the same driver, clock and recording serve each of them.
//
// # What is in a figure
//
// Every contestant, firq's cores included, does per task: a stamp when it comes in
// and one when it goes out, by the same clock; a record of the queue time in a
// shared histogram; and the driver's window, counters and checks. Every task that
// was accepted must have been delivered once, or the run is an error. The payload
// is a word, the tenant a string.
//
// Each peer is used as its documentation says, in the configuration that was
// fastest; it is written down at the adapter, with the reasons.
package peers

import (
	"slices"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/pick"
)

// Peer is a contestant and what a table has to say about it.
type Peer struct {
	contest.Contestant
	Module string // whose version is shown; "": the standard library
	// Fair peers have tenants, and promise each of them a share.
	Fair  bool
	Slow  bool   // its time per task grows with the number of tenants
	NoGap bool   // its fairness gap is that of another one
	Note  string // what has to be known to compare it
}

// Own says that a peer is firq itself.
func (p *Peer) Own() bool { return p.Module == Firq }

// Firq is the module of the peers that are none.
const Firq = "github.com/firq-go/firq"

// Names of the peers.
const (
	OneShard     = "lockfree-1"
	Temporal     = "temporal-iwrr"
	TemporalFIFO = "temporal-iwrr-fifo"
	Kubernetes   = "k8s-fairqueuing"
	Kubernetes64 = "k8s-fairqueuing-64"
	WorkQueue    = "client-go-workqueue"
	Controller   = "controller-runtime"
	Pond         = "pond"
	Ants         = "ants"
)

// Dispatcher is a contest.Runner that can tell in which order it chose its tasks,
// and that goes by the time that they take. Package gap asks for it, before Serve.
type Dispatcher interface {
	// Exact has dispatched called for each task that is chosen, in order, one call
	// at a time. From now on its clock stands still, so that all tasks come together
	// and take equally long.
	Exact(dispatched func(payload uint64))
}

// added are peers of which nothing but an adapter is kept here, as text in agpl/:
// scripts/peers-agpl compiles them in elsewhere.
var added []Peer

// All returns every peer, in the order of the tables: firq first.
func All() []Peer {
	var all []Peer
	for _, c := range contest.ForRun() {
		switch c.Name {
		case contest.Lockfree, contest.OneLock, contest.Sharded:
			all = append(all, Peer{Contestant: c, Module: Firq, Fair: true})
		case contest.Simple:
			all = append(all, Peer{Contestant: c, Module: Firq, Fair: true,
				Note: "What an afternoon gives: one mutex, a ring for each tenant, round robin by task; no costs, priorities or limits per tenant."})
		}
		if c.Name == contest.Lockfree {
			all = append(all, Peer{Contestant: oneShard(c), Module: Firq, Fair: true})
		}
	}
	all = append(all,
		Peer{
			Contestant: contest.Contestant{Name: Temporal, New: newTemporalPull, About: "Temporal's interleaved weighted round robin, before a Go channel"},
			Module:     "go.temporal.io/server", Fair: true,
			Note: "Round robin by task, weights but no costs; at most 1,000 tasks per tenant, no limit of all. One goroutine dispatches; what is behind it is a Go channel of 64 that the consumers read.",
		},
		Peer{
			Contestant: contest.Contestant{Name: TemporalFIFO, New: newTemporalPush, About: "the same, before Temporal's own workers"},
			Module:     "go.temporal.io/server", Fair: true, NoGap: true,
			Note: "The same before Temporal's FIFOScheduler, whose workers run the tasks. The order is the same; the gap is not measured again.",
		},
		Peer{
			Contestant: contest.Contestant{Name: Kubernetes, New: newKubernetes, About: "the API server's fair queueing set, a queue per tenant"},
			Module:     "k8s.io/apiserver", Fair: true, Slow: true,
			Note: "Dispatches requests that each wait in a goroutine; nothing can be dequeued. A queue per tenant. It shares out time in seats, not tasks; the gap is taken with its clock standing still, so that all requests seem to take equally long.",
		},
		Peer{
			Contestant: contest.Contestant{Name: Kubernetes64, New: newKubernetes64, OnlyNamed: true, About: "only if named: the same with 64 queues and a hand of 8"},
			Module:     "k8s.io/apiserver", Fair: true,
			Note: "64 queues and hands of 8, near the API server's defaults: tenants share queues.",
		},
		Peer{
			Contestant: contest.Contestant{Name: WorkQueue, New: newWorkQueue, About: "client-go's workqueue"},
			Module:     "k8s.io/client-go",
			Note:       "No tenants, no limit: a set of items, first in, first out.",
		},
		Peer{
			Contestant: contest.Contestant{Name: Controller, New: newPriorityQueue, About: "controller-runtime's priority queue"},
			Module:     "sigs.k8s.io/controller-runtime",
			Note:       "No tenants, no limit: a set of items by priority, here all the same, then first in, first out; a goroutine hands each item out.",
		},
		Peer{
			Contestant: contest.Contestant{Name: Pond, New: newPond, About: "alitto/pond, a worker pool"},
			Module:     "github.com/alitto/pond/v2",
			Note:       "No tenants: workers and a queue, first in, first out.",
		},
		Peer{
			Contestant: contest.Contestant{Name: Ants, New: newAnts, About: "panjf2000/ants, a worker pool"},
			Module:     "github.com/panjf2000/ants/v2",
			Note:       "No tenants and no queue: producers wait for a free worker.",
		},
	)
	all = append(all, added...)
	for _, c := range contest.ForRun() {
		if c.Name == contest.Channel {
			all = append(all, Peer{Contestant: c, Note: "No tenants: a buffered channel."})
		}
	}
	return all
}

// oneShard returns a core with a single shard: its order of service is exact.
func oneShard(c contest.Contestant) contest.Contestant {
	build := c.New
	c.Name, c.About = OneShard, c.About+", with one shard"
	c.New = func(cfg contest.Config) (contest.Queue, error) {
		cfg.Shards = 1
		return build(cfg)
	}
	return c
}

// Select returns the peers that names lists, as contest.Select does.
func Select(names []string) ([]Peer, error) {
	all := All()
	if len(names) == 0 {
		return slices.DeleteFunc(all, func(p Peer) bool { return p.OnlyNamed }), nil
	}
	return pick.Named("contestant", all, func(p *Peer) string { return p.Name }, names)
}
