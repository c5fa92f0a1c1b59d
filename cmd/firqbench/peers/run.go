package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/gap"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/peers"
)

// plan is what the flags say.
type plan struct {
	suite.Plan
	peers     []peers.Peer
	gapRounds int
}

func run(ctx context.Context, cmd *cli.Command, p *plan) error {
	f := newFile(p, machine.Read())
	err := command.Record(cmd, "peers", f.Env.Start, f, func(stdout, stderr io.Writer) error {
		err := measure(ctx, p, f, stderr)
		f.Interrupted = err != nil
		markdown(stdout, f, p.peers)
		return err
	})
	return errors.Join(err, f.failures())
}

// measure fills file. On an error it has what there is until then.
func measure(ctx context.Context, p *plan, file *file, errOut io.Writer) (err error) {
	var order []string
	for i := range p.peers {
		order = append(order, p.peers[i].Name)
	}
	progress := report.NewProgress(io.Discard, errOut, order)
	defer progress.Clear()
	report.Printf(errOut, "%d runs of %v, about %v, and the gaps\n", p.Runs(), p.Measure, p.Estimate())
	if file.Run.Cells, err = p.Run(ctx, progress); err != nil {
		return err
	}
	progress.Clear()
	return measureGaps(ctx, p, file, errOut)
}

// measureGaps measures the fair contestants; the others promise nothing.
func measureGaps(ctx context.Context, p *plan, file *file, errOut io.Writer) error {
	for round := range p.gapRounds {
		for _, s := range p.Scenarios {
			if s.Skew > 0 {
				continue // the gap is that of tenants that are all backlogged
			}
			for i := range p.peers {
				peer := &p.peers[(round+i)%len(p.peers)]
				if !peer.Fair || peer.NoGap {
					continue
				}
				report.Printf(errOut, "gap %d of %d: %s, %s\n", round+1, p.gapRounds, s.Name, peer.Name)
				tasks := gap.Tasks(s.Tenants, peer.Slow)
				result, err := gap.Measure(ctx, peer.Contestant, s.Tenants, tasks, s.Consumers)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				g := gapRun{Scenario: s.Name, Contestant: peer.Name, Round: round, Result: result}
				if err != nil {
					g.Error = err.Error()
				}
				file.Gaps = append(file.Gaps, g)
			}
		}
	}
	return nil
}

// parse makes a plan of the flags. All its errors are the user's.
func parse(cmd *cli.Command) (*plan, error) {
	p := &plan{gapRounds: cmd.Int("gap-rounds"), Plan: suite.Plan{
		Rounds: cmd.Int("rounds"), Warmup: cmd.Duration("warmup"), Measure: cmd.Duration("duration"),
		Probe: -1, // package gap says more
	}}
	var err error
	if p.peers, err = peers.Select(command.List(cmd.String("peers"))); err != nil {
		return nil, fmt.Errorf("--peers: %w", err)
	}
	for i := range p.peers {
		p.Contestants = append(p.Contestants, p.peers[i].Contestant)
	}
	if p.gapRounds < 0 || p.gapRounds > 1000 {
		return nil, fmt.Errorf("--gap-rounds: %d, must be 0 to 1000", p.gapRounds)
	}
	for _, w := range command.List(cmd.String("work")) {
		d, err := time.ParseDuration(w)
		if err != nil || d < 0 || d > time.Second {
			return nil, fmt.Errorf("--work: %q, must be a duration such as 1us, at most 1s", w)
		}
		p.Works = append(p.Works, d)
	}
	if len(p.Works) == 0 {
		return nil, errors.New("--work: is empty; 0s is no work")
	}
	if p.Scenarios, err = scenarios(cmd); err != nil {
		return nil, err
	}
	return p, p.Check()
}

// The loads.
const (
	even   = "even"
	skewed = "skewed"
	open   = "open"
)

// Of the open loop: 70 % of what two busy consumers could serve.
const (
	openService = 20 * time.Microsecond
	openLoad    = 0.7
)

// scenarios makes one of each number of tenants with each number of consumers, and of the
// other loads one with the first numbers.
func scenarios(cmd *cli.Command) (all []scenario.Scenario, err error) {
	loads := command.List(cmd.String("loads"))
	if len(loads) == 0 {
		return nil, errors.New("--loads: is empty")
	}
	tenants, err := numbers(cmd, "tenants")
	if err != nil {
		return nil, err
	}
	consumers, err := numbers(cmd, "consumers")
	if err != nil {
		return nil, err
	}
	producers, window := cmd.Int("producers"), cmd.Int("window")
	add := func(n, c int, s scenario.Scenario) error {
		s.Name = fmt.Sprintf("%s%d tenants, %d x %d", s.Name, n, producers, c)
		s.Shape, s.Batch = scenario.Flow, 1
		s, err := scenario.Overrides{Producers: &producers, Consumers: &c, Tenants: &n, Window: &window}.Apply(s)
		all = append(all, s)
		return err
	}
	for _, load := range loads {
		var err error
		switch load {
		case even:
			for _, n := range tenants {
				for _, c := range consumers {
					err = errors.Join(err, add(n, c, scenario.Scenario{About: "tasks of tenants that all send alike, one per call"}))
				}
			}
		case skewed:
			err = add(tenants[0], consumers[0], scenario.Scenario{
				Name: "skewed, ", About: "tasks of tenants that send by Zipf's law, one per call", Skew: 1, Focus: scenario.FocusQuiet,
			})
		case open:
			err = add(tenants[0], consumers[0], scenario.Scenario{
				Name: "open loop, ", About: "the same, by the clock", Skew: 1, Focus: scenario.FocusQuiet,
				Service: openService, Overload: openLoad, FixedWork: true,
			})
		default:
			err = fmt.Errorf("--loads: %q, must be %s, %s or %s", load, even, skewed, open)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// numbers parses a flag that is a list of numbers.
func numbers(cmd *cli.Command, flag string) (ns []int, err error) {
	for _, word := range command.List(cmd.String(flag)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("--%s: %q is no number", flag, word)
		}
		ns = append(ns, n)
	}
	if len(ns) == 0 {
		return nil, fmt.Errorf("--%s: is empty", flag)
	}
	return ns, nil
}
