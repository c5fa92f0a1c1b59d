package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// schema names the format of file. It changes when a field changes its meaning.
const schema = "firq-queues/2"

// file is a result file.
type file struct {
	Schema      string            `json:"schema"`
	Env         machine.Env       `json:"env"`
	Server      string            `json:"server"`
	Modules     map[string]string `json:"modules"` // versions of all that is compiled in
	Interrupted bool              `json:"interrupted"`
	Tasks       int               `json:"tasks"`
	Tenants     int               `json:"tenants"`
	Rounds      int               `json:"rounds"`
	Throughput  []throughput      `json:"throughput"`
	Single      []single          `json:"single"`
	Latency     []latency         `json:"latency"`
	Memory      []memory          `json:"memory"`
	Batches     []batch           `json:"batches"`
	Crowd       []crowd           `json:"crowd"`
	Fairness    []fairness        `json:"fairness"`
	Bound       []bound           `json:"bound"`
	Spread      []spread          `json:"spread"`
}

// plan is what the flags say.
type plan struct {
	server                                       string // the program
	appendfsync                                  string
	on                                           *server
	parts                                        []part
	workers                                      []int
	tasks, tenants, rounds, crowd, noisy, sample int
	least, most                                  time.Duration // between two tasks of the latency part
}

// part is a part of the measurements, on a server.
type part = command.Part[*plan, *file]

var parts = []part{
	{Name: "throughput", Run: runThroughput}, {Name: "single", Run: runSingle}, {Name: "latency", Run: runLatency}, {Name: "memory", Run: runMemory},
	{Name: "batches", Run: runBatches}, {Name: "crowd", Run: runCrowd}, {Name: "fairness", Run: runFairness}, {Name: "bound", Run: runBound},
}

func run(ctx context.Context, cmd *cli.Command, p *plan) error {
	f := &file{Schema: schema, Env: machine.Read(), Modules: command.Modules(), Tasks: p.tasks, Tenants: p.tenants, Rounds: p.rounds}
	var err error
	p.on, err = startServer(ctx, p.server, p.appendfsync)
	if errors.Is(err, errNoServer) { // nothing was measured, and nothing is wrong
		report.Printf(cmd.Root().ErrWriter, "queues: skipped: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer p.on.stop()
	f.Server = p.on.version
	return command.Record(cmd, "queues", f.Env.Start, f, func(stdout, stderr io.Writer) error {
		err := command.RunParts(ctx, p.parts, p, f, stderr)
		f.Interrupted = err != nil
		markdown(stdout, f)
		return err
	})
}

// systems returns both systems; the rounds begin with one and the other in turn.
func systems(round int) []string {
	if round%2 == 0 {
		return []string{firqName, asynqName}
	}
	return []string{asynqName, firqName}
}

func runThroughput(ctx context.Context, p *plan, f *file, say command.Say) error {
	for _, workers := range p.workers {
		for round := range p.rounds {
			for _, system := range append(systems(round), asynqQueues) {
				t, err := measureThroughput(ctx, p.on, system, workers, p.tenants, p.tasks)
				if err != nil {
					return fmt.Errorf("%s, %d workers: %w", system, workers, err)
				}
				t.Round = round
				f.Throughput = append(f.Throughput, t)
				say("throughput, %d workers, round %d, %s: %.0f tasks/s, %.1f us", workers, round+1, system, t.rate(), t.serverUs())
			}
		}
	}
	return nil
}

func runSingle(ctx context.Context, p *plan, f *file, say command.Say) error {
	for round := range p.rounds {
		for _, system := range systems(round) {
			r, err := measureSingle(ctx, p.on, system, p.tasks)
			if err != nil {
				return fmt.Errorf("%s: %w", system, err)
			}
			r.Round = round
			f.Single = append(f.Single, r)
			say("single, round %d, %s: %.1f us", round+1, system, r.ServerUs)
		}
	}
	return nil
}

func runLatency(ctx context.Context, p *plan, f *file, say command.Say) error {
	for _, system := range []string{firqName, asynqName, asynq10ms, asynq1ms} {
		l, err := measureLatency(ctx, p.on, system, 64, (p.sample+lanes-1)/lanes, p.least, p.most)
		if err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
		f.Latency = append(f.Latency, l)
		say("latency, %s: p50 %v", system, l.at(0.5))
	}
	return nil
}

func runMemory(ctx context.Context, p *plan, f *file, say command.Say) error {
	for _, c := range []struct {
		system  string
		tenants int
	}{{firqName, 1}, {firqName, 64}, {firqName, p.crowd}, {asynqName, 1}} {
		m, err := measureMemory(ctx, p.on, c.system, c.tenants, p.tasks)
		if err != nil {
			return fmt.Errorf("%s, %d tenants: %w", c.system, c.tenants, err)
		}
		f.Memory = append(f.Memory, m)
		say("memory, %s, %d tenants: %.0f bytes", c.system, c.tenants, m.Bytes)
	}
	return nil
}

func runBatches(ctx context.Context, p *plan, f *file, say command.Say) error {
	for round := range p.rounds {
		for _, size := range []int{1, 10, 100, 500} {
			b, err := measureBatch(ctx, p.on, size, p.tasks)
			if err != nil {
				return fmt.Errorf("%d at a time: %w", size, err)
			}
			b.Round = round
			f.Batches = append(f.Batches, b)
			say("batches, round %d, %d at a time: %.1f us", round+1, size, b.serverUs())
		}
	}
	return nil
}

func runCrowd(ctx context.Context, p *plan, f *file, say command.Say) error {
	for round := range p.rounds {
		both := []int{64, p.crowd}
		if round%2 == 1 {
			slices.Reverse(both)
		}
		for _, tenants := range both {
			c, err := measureCrowd(ctx, p.on, tenants, max(p.tasks, 2*tenants))
			if err != nil {
				return fmt.Errorf("%d tenants: %w", tenants, err)
			}
			c.Round = round
			f.Crowd = append(f.Crowd, c)
			say("crowd, round %d, %d tenants: %.1f us", round+1, tenants, c.serverUs())
		}
	}
	return nil
}

func runFairness(ctx context.Context, p *plan, f *file, say command.Say) error {
	const quiet = 100
	for _, c := range []struct {
		system  string
		workers int
	}{{firqName, 1}, {firqName, 64}, {asynqName, 64}, {asynqQueues, 64}} {
		r, err := measureFairness(ctx, p.on, c.system, c.workers, p.noisy, quiet)
		if err != nil {
			return fmt.Errorf("%s, %d workers: %w", c.system, c.workers, err)
		}
		f.Fairness = append(f.Fairness, r)
		say("fairness, %s, %d workers: the last after %d", c.system, c.workers, r.Last)
	}
	return nil
}

func runBound(ctx context.Context, p *plan, f *file, say command.Say) error {
	for round := range p.rounds {
		for _, c := range []struct {
			weighted bool
			batch    int
		}{{false, 1}, {false, 4}, {true, 1}, {true, 4}} {
			b, err := measureBound(ctx, p.on, c.weighted, c.batch, uint64(round)) //nolint:gosec // not negative
			if err != nil {
				return err
			}
			f.Bound = append(f.Bound, b)
		}
		r, err := measureSpread(ctx, p.on)
		if err != nil {
			return fmt.Errorf("partitions: %w", err)
		}
		f.Spread = append(f.Spread, r)
		say("bound, round %d: across partitions %d to %d", round+1, r.Least, r.Most)
	}
	return nil
}

// parse makes a plan of the flags. All its errors are the user's.
func parse(cmd *cli.Command) (*plan, error) {
	p := &plan{
		server: cmd.String("server"), appendfsync: cmd.String("appendfsync"), tasks: cmd.Int("tasks"), tenants: cmd.Int("tenants"), rounds: cmd.Int("rounds"),
		crowd: cmd.Int("crowd"), noisy: cmd.Int("noisy"), sample: cmd.Int("samples"),
		least: cmd.Duration("least-pause"), most: cmd.Duration("most-pause"),
	}
	err := command.InRange(cmd, map[string]int{
		"tasks": 10_000_000, "tenants": 1_000_000, "rounds": 1000, "crowd": 1_000_000, "noisy": 10_000_000, "samples": 100_000,
	})
	if err != nil {
		return nil, err
	}
	if p.least <= 0 || p.most < p.least || p.most > time.Minute {
		return nil, fmt.Errorf("--least-pause, --most-pause: %v and %v, must be above 0, in order, and at most 1m", p.least, p.most)
	}
	if !slices.Contains([]string{"off", "everysec", "always"}, p.appendfsync) {
		return nil, fmt.Errorf("--appendfsync: %q, must be off, everysec or always", p.appendfsync)
	}
	for _, word := range command.List(cmd.String("workers")) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 10_000 {
			return nil, fmt.Errorf("--workers: %q, must be 1 to 10000", word)
		}
		p.workers = append(p.workers, n)
	}
	if len(p.workers) == 0 {
		return nil, errors.New("--workers: is empty")
	}
	p.parts, err = command.Select(cmd, parts)
	return p, err
}
