// Package jobs gives actor systems the same work and measures what they make of it.
package jobs

import (
	"fmt"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/pick"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// Size is how much work there is.
type Size struct {
	Duration time.Duration // measured time of what goes on for a while; it is preceded by a fifth of it, not measured
	Long     time.Duration // the same of the jobs that need many samples: quiet-*, share
	Actors   int           // of memory
	Many     int           // of memory-many
	Spawn    int           // actors that spawn starts and stops
}

// Metrics holds figures by the names of a job's Metrics.
type Metrics map[string]float64

// Metric is a figure that a job measures.
type Metric struct {
	Name, Unit string
	More       bool // is better
	Count      bool // is about 0 for some, so that a ratio says nothing
}

// Job is some work.
type Job struct {
	Name, About string
	Metrics     []Metric
	OwnOnly     bool // the peers are not measured
	run         func(s peers.System, z Size) (Metrics, error)
}

var (
	allocs     = Metric{Name: "allocs", Unit: "allocations", Count: true}
	cpu        = Metric{Name: "cpu", Unit: "ns of processor time"}
	throughput = []Metric{{Name: "rate", Unit: "M/s", More: true}, cpu, allocs}
	latency    = []Metric{{Name: "p50", Unit: "µs"}, {Name: "p99", Unit: "µs"}, {Name: "rate", Unit: "M/s", More: true}, cpu, allocs}
	opened     = []Metric{
		{Name: "p50", Unit: "µs"}, {Name: "p99", Unit: "µs"}, {Name: "worst", Unit: "µs"},
		{Name: "late-p50", Unit: "µs, the sender's part"}, {Name: "late-p99", Unit: "µs, the sender's part"},
	}
	blocking = []Metric{
		{Name: "rate", Unit: "messages/s of the others", More: true}, {Name: "p50", Unit: "µs since it was sent"}, {Name: "p99", Unit: "µs since it was sent"},
	}
	idle = []Metric{
		{Name: "bytes", Unit: "B without its state"}, {Name: "all", Unit: "B with its state"},
		{Name: "goroutines", Unit: "per actor", Count: true}, {Name: "took", Unit: "µs to start and tell"},
	}
)

// All returns the jobs.
func All() []Job {
	return []Job{
		{Name: "tell-1-1", About: "one sender tells one actor; at most 4,096 messages of a sender are on their way", Metrics: throughput, run: teller(1, 1)},
		{Name: "tell-8-1", About: "eight senders tell one actor", Metrics: throughput, run: teller(8, 1)},
		{Name: "tell-8-64", About: "eight senders tell 64 actors in turn", Metrics: throughput, run: teller(8, 64)},
		{Name: "call", About: "one caller from outside calls an idle actor again and again, and does not care where it runs", Metrics: latency, run: caller(peers.Ref.Call)},
		{Name: "call-queued", About: "the same through the mailbox, for those that know a difference", Metrics: latency, run: caller(peers.Ref.CallQueued)},
		{Name: "pingpong-1", About: "a pair of actors tell each other one message", Metrics: throughput, run: pingpong(1)},
		{Name: "pingpong-32", About: "32 pairs do", Metrics: throughput, run: pingpong(32)},
		{Name: "quiet-alone", About: "100 actors are told one message each millisecond between them, open loop", Metrics: opened, run: quiet(0)},
		{Name: "quiet-flooded", About: "the same while 4 others have an endless backlog of messages of 0.5 ms", Metrics: opened, run: quiet(4)},
		{Name: "quiet-blocked", About: "the same while 100 others always have a message that blocks for 20 ms", Metrics: blocking, run: blocked},
		{
			Name: "share", About: "4 actors with messages of 1 ms and 4 with messages of 50 µs, all backlogged: processor time of the former per that of the latter",
			Metrics: []Metric{{Name: "ratio", Unit: "to 1"}}, run: share,
		},
		{Name: "memory", About: "many actors that have had one message and are idle", Metrics: idle, run: func(s peers.System, z Size) (Metrics, error) { return memory(s, z.Actors) }},
		{Name: "memory-many", About: "the same with more of them, ours only", Metrics: idle, OwnOnly: true, run: func(s peers.System, z Size) (Metrics, error) { return memory(s, z.Many) }},
		{
			Name: "spawn", About: "actors are started, then all of them stopped and waited for",
			Metrics: []Metric{{Name: "both", Unit: "µs"}, {Name: "spawn", Unit: "µs"}, {Name: "stop", Unit: "µs"}}, run: spawn,
		},
		{
			Name: "cycle", About: "A calls B, which calls C, which calls A; a call from a handler times out after 50 ms",
			Metrics: []Metric{{Name: "answer", Unit: "µs"}, {Name: "named", Unit: "of the answers name the cycle", More: true, Count: true}}, run: cycle,
		},
	}
}

// Select returns the jobs with these names, in the order of All; all of them if there are no names.
func Select(names []string) ([]Job, error) {
	if len(names) == 0 {
		return All(), nil
	}
	return pick.Named("job", All(), func(j *Job) string { return j.Name }, names)
}

// Run measures a new system. The figures are complete if err is nil.
func (j *Job) Run(open func() (peers.System, error), z Size) (Metrics, error) {
	s, err := open()
	if err != nil {
		return nil, err
	}
	m, err := j.run(s, z)
	if e := s.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	for _, want := range j.Metrics {
		if _, ok := m[want.Name]; !ok {
			return nil, fmt.Errorf("%s was not measured", want.Name)
		}
	}
	return m, nil
}

// Estimate is about how long a run takes, with the start of a process.
func (j *Job) Estimate(z Size) time.Duration {
	const process = 100 * time.Millisecond
	switch j.Name {
	case "quiet-alone", "quiet-flooded", "quiet-blocked", "share":
		return process + 6*z.Long/5
	case "memory":
		return process + time.Duration(z.Actors)*15*time.Microsecond
	case "memory-many":
		return process + time.Duration(z.Many)*4*time.Microsecond
	case "spawn":
		return process + time.Duration(z.Spawn)*15*time.Microsecond
	case "cycle":
		return process + 200*time.Millisecond
	}
	return process + 6*z.Duration/5
}
