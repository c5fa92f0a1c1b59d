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

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/jobs"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// plan is what the flags say.
type plan struct {
	jobs   []jobs.Job
	peers  []peers.Peer
	rounds int
	size   jobs.Size
}

func run(ctx context.Context, cmd *cli.Command, p *plan) error {
	f := &file{Schema: schema, Env: machine.Read(), Modules: command.Modules(), Rounds: p.rounds, Size: p.size}
	err := command.Record(cmd, "actors", f.Env.Start, f, func(stdout, stderr io.Writer) error {
		err := measure(ctx, p, f, stderr)
		f.Interrupted = err != nil
		markdown(stdout, f)
		return err
	})
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
	if err := command.InRange(cmd, map[string]int{"rounds": 1000, "actors": 10_000_000, "many": 10_000_000, "spawn": 1_000_000}); err != nil {
		return nil, err
	}
	seconds := cmd.Float("seconds")
	if math.IsNaN(seconds) || seconds < 0.01 || seconds > 60 {
		return nil, fmt.Errorf("--seconds: %v, must be 0.01 to 60", seconds)
	}
	p.size.Duration = time.Duration(seconds * float64(time.Second))
	p.size.Long = long * p.size.Duration
	var err error
	if p.jobs, err = jobs.Select(command.List(cmd.String("jobs"))); err != nil {
		return nil, fmt.Errorf("--jobs: %w", err)
	}
	if p.peers, err = peers.Select(command.List(cmd.String("contestants"))); err != nil {
		return nil, fmt.Errorf("--contestants: %w", err)
	}
	return p, nil
}
