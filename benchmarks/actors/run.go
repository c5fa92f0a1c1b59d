package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/benchmarks/actors/internal/jobs"
	"github.com/firq-go/firq/benchmarks/actors/internal/peers"
	"github.com/firq-go/firq/internal/bench/command"
	"github.com/firq-go/firq/internal/bench/machine"
	"github.com/firq-go/firq/internal/bench/report"
)

// plan is what the flags say.
type plan struct {
	jobs   []jobs.Job
	peers  []peers.Peer
	rounds int
	size   jobs.Size
}

func run(ctx context.Context, cmd *cli.Command) error {
	if name := cmd.Args().First(); name != "" {
		return command.Misuse(cmd, fmt.Errorf("unknown argument %q", name))
	}
	p, err := parse(cmd)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	f := &file{Schema: schema, Env: machine.Read(), Modules: modules(), Rounds: p.rounds, Size: p.size}
	destination := cmd.String("out")
	if destination != "" {
		if destination, err = report.Destination(destination, "actors", f.Env.Start); err != nil {
			return err
		}
	}
	out, errOut := cmd.Root().Writer, cmd.Root().ErrWriter
	err = measure(ctx, p, f, errOut)
	f.Interrupted = err != nil
	markdown(out, f)
	if destination != "" {
		err = errors.Join(err, report.WriteJSON(destination, f))
		report.Printf(errOut, "wrote %s\n", destination)
	}
	return errors.Join(err, f.failures())
}

// measure fills f. On an error f has what there is until then. A run that fails is in f with its error, and the
// others go on.
func measure(ctx context.Context, p *plan, f *file, errOut io.Writer) error {
	began := time.Now()
	report.Printf(errOut, "about %v\n", p.estimate().Round(time.Second))
	for round := range p.rounds {
		for i := range p.jobs {
			j := &p.jobs[i]
			var said []string
			for _, peer := range p.order(round) {
				if j.OwnOnly && !peer.Own {
					continue
				}
				r := request{Job: j.Name, Contestant: peer.Name, Size: p.size}
				m, err := r.start(ctx, time.Minute+5*j.Estimate(p.size))
				if ctx.Err() != nil {
					return ctx.Err()
				}
				row := result{Job: j.Name, Contestant: peer.Name, Round: round, Metrics: m}
				said = append(said, peer.Name+" "+row.brief(j))
				if err != nil {
					row.Error = err.Error()
				}
				f.Runs = append(f.Runs, row)
			}
			report.Printf(errOut, "%4.0f s  round %d of %d, %s: %s\n", time.Since(began).Seconds(), round+1, p.rounds, j.Name, strings.Join(said, ", "))
		}
	}
	return nil
}

// order returns the contestants, with another one first in each round; every second round goes backwards, so that
// none always comes after the same other one.
func (p *plan) order(round int) (order []*peers.Peer) {
	n := len(p.peers)
	for i := range n {
		if round%2 == 1 {
			i = n - i
		}
		order = append(order, &p.peers[(round+i)%n])
	}
	return order
}

// estimate is about how long it takes.
func (p *plan) estimate() (d time.Duration) {
	for i := range p.jobs {
		for _, peer := range p.peers {
			if peer.Own || !p.jobs[i].OwnOnly {
				d += p.jobs[i].Estimate(p.size)
			}
		}
	}
	return d * time.Duration(p.rounds)
}

// long is how many times longer the jobs are that need many samples.
const long = 3

// parse makes a plan of the flags. All its errors are the user's.
func parse(cmd *cli.Command) (*plan, error) {
	p := &plan{rounds: cmd.Int("rounds"), size: jobs.Size{Actors: cmd.Int("actors"), Many: cmd.Int("many"), Spawn: cmd.Int("spawn")}}
	for _, f := range []struct {
		name        string
		value, most int
	}{{"rounds", p.rounds, 1000}, {"actors", p.size.Actors, 10_000_000}, {"many", p.size.Many, 10_000_000}, {"spawn", p.size.Spawn, 1_000_000}} {
		if f.value < 1 || f.value > f.most {
			return nil, fmt.Errorf("--%s: %d, must be 1 to %d", f.name, f.value, f.most)
		}
	}
	seconds := cmd.Float("seconds")
	if math.IsNaN(seconds) || seconds < 0.01 || seconds > 60 {
		return nil, fmt.Errorf("--seconds: %v, must be 0.01 to 60", seconds)
	}
	p.size.Duration = time.Duration(seconds * float64(time.Second))
	p.size.Long = long * p.size.Duration
	var err error
	if p.jobs, err = jobs.Select(list(cmd.String("jobs"))); err != nil {
		return nil, fmt.Errorf("--jobs: %w", err)
	}
	if p.peers, err = peers.Select(list(cmd.String("contestants"))); err != nil {
		return nil, fmt.Errorf("--contestants: %w", err)
	}
	return p, nil
}

// list returns the words between commas.
func list(value string) (words []string) {
	for word := range strings.SplitSeq(value, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}
