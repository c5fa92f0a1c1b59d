package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/live"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/serve"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

func liveCommand() *cli.Command {
	count := func(name, usage string) cli.Flag {
		return &cli.IntFlag{Name: name, Category: changeLoad, Usage: usage, DefaultText: "the scenario's"}
	}
	return &cli.Command{
		Name:      "live",
		Usage:     "look at a scenario while it runs",
		ArgsUsage: "[SCENARIO]",
		Description: "Runs a scenario (default: overload) until Ctrl-C, or for --duration, and shows the last\n" +
			"second of one contestant, or of two side by side: throughput, percentiles, queue length,\n" +
			"who was served most, and how fair that was. With --listen the same can be seen in a\n" +
			"browser, with profiles (net/http/pprof) next to it, and as JSON.\n\n" +
			"Two contestants share the processors, and watching costs some 20 ns per task: this is for\n" +
			"looking, \"firqbench run\" is for measuring.\n\n" +
			"Fairness compares what each tenant was served with its max-min fair share; 1 is best.\n\n" +
			"Examples:\n" +
			"   firqbench live\n" +
			"   firqbench live zipf --contestants lockfree --work 100ns\n" +
			"   firqbench live contended --rate 50k/s --duration 30s\n" +
			"   firqbench live overload --listen localhost:6060",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "contestants", Category: whatToRun, Value: "lockfree,channel", Usage: "look at this one, or at these two (`LIST`; see firqbench list)"},
			&cli.DurationFlag{Name: "duration", Category: howToRun, Usage: "end after this time", DefaultText: "at Ctrl-C"},
			&cli.DurationFlag{Name: "every", Category: howToRun, Value: 500 * time.Millisecond, Usage: "show something new after this time"},
			gomaxprocsFlag(),
			&cli.StringFlag{Name: "work", Category: changeLoad, Value: "0s", Usage: "CPU time per task (batches: per call), for the producer and for the consumer each"},
			count("producers", "`N` goroutines enqueue"),
			count("consumers", "`N` goroutines dequeue"),
			count("tenants", "tasks come from `N` tenants"),
			count("batch", "`N` tasks per call, on both sides; 1: single calls"),
			count("window", "producers pause while `N` tasks are unfinished"),
			count("capacity", "the queue holds `N` tasks"),
			count("shards", "`N` shards in the sharded schedulers"),
			&cli.StringFlag{Name: "rate", Category: openLoop, Usage: "tasks come by the clock, at `RATE` (800, 50k/s, 1.5M) of all producers together, whatever becomes of them"},
			&cli.StringFlag{Name: "arrivals", Category: openLoop, Value: string(arrivals.Constant), Usage: "`SHAPE` of the arrivals: constant, poisson or bursty (all in a fifth of each 20ms)"},
			listenFlag(),
		},
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(contest.ForRun(), scenario.Names()),
		Action:        look,
	}
}

func listenFlag() cli.Flag {
	return &cli.StringFlag{Name: "listen", Category: whereTo, Usage: "show it at `ADDRESS` (host:port) in a browser too, with profiles at /debug/pprof/; without a host, or with localhost, only to this machine, and only as localhost or a loopback address; with another host to all who can reach it, by any name (the Host header is not checked)"}
}

func look(ctx context.Context, cmd *cli.Command) (err error) {
	plan, err := livePlan(cmd)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	if err := setGOMAXPROCS(cmd); err != nil {
		return err
	}
	screen := live.NewScreen(cmd.Root().Writer)
	show := screen.Show
	if cmd.IsSet("listen") {
		pages := live.NewPages()
		stop, err := listen(cmd, pages)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		show = func(v *live.View) {
			screen.Show(v)
			pages.Show(v)
		}
	}
	return live.Run(ctx, *plan, show)
}

// listen starts the server that --listen asks for, says where it is, and returns
// a function that ends it.
func listen(cmd *cli.Command, pages serve.Pages) (stop func() error, err error) {
	server, err := serve.Start(cmd.String("listen"), pages)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	errOut := cmd.Root().ErrWriter
	report.Printf(errOut, "see %s and %sdebug/pprof/\n", server.URL(), server.URL())
	if server.Exposed() {
		report.Printf(errOut, "not only this machine can see that, profiles included: use --listen localhost:PORT to change it\n")
	}
	return server.Close, nil
}

// listenRun starts the server that --listen of run asks for. It returns what the
// tables are to be written to, what makes an observer that the pages know of too,
// and a function that ends the server.
func listenRun(cmd *cli.Command, out io.Writer) (tables io.Writer, observe func(suite.Observer) suite.Observer, stop func() error, err error) {
	if !cmd.IsSet("listen") {
		return out, func(o suite.Observer) suite.Observer { return o }, func() error { return nil }, nil
	}
	status := live.NewStatus(out)
	stop, err = listen(cmd, status)
	return status, func(o suite.Observer) suite.Observer {
		status.Observe(o)
		return status
	}, stop, err
}

// livePlan makes a plan of the flags. All its errors are the user's.
func livePlan(cmd *cli.Command) (*live.Plan, error) {
	names := cmd.Args().Slice()
	if len(names) == 0 {
		names = []string{"overload"}
	}
	if len(names) > 1 {
		return nil, fmt.Errorf("live runs one SCENARIO, there are %d", len(names))
	}
	chosen, err := scenario.Choose(names, nil)
	if err != nil {
		return nil, err
	}
	overrides := scenario.Overrides{
		Producers: override(cmd, "producers"), Consumers: override(cmd, "consumers"), Tenants: override(cmd, "tenants"),
		Batch: override(cmd, "batch"), Shards: override(cmd, "shards"), Capacity: override(cmd, "capacity"),
		Window: override(cmd, "window"),
	}
	s, err := overrides.Apply(chosen[0])
	if err != nil {
		return nil, err
	}
	p := &live.Plan{For: cmd.Duration("duration"), Every: cmd.Duration("every"), Spec: load.Spec{Scenario: s, Warmup: 30 * time.Millisecond}}
	if p.Contestants, err = contest.Select(contest.ForRun(), command.List(cmd.String("contestants"))); err != nil {
		return nil, err
	}
	work, err := works(cmd)
	if err != nil {
		return nil, err
	}
	rate, shape, err := rates(cmd)
	if err != nil {
		return nil, err
	}
	for _, c := range p.Contestants {
		if c.WakeOnly && s.Shape != scenario.PingPong {
			return nil, fmt.Errorf("--contestants: %s takes part in ping_pong only", c.Name)
		}
	}
	switch {
	case len(p.Contestants) > 2:
		return nil, fmt.Errorf("--contestants: %d, must be one or two", len(p.Contestants))
	case p.For < 0 || p.For > time.Hour || cmd.IsSet("duration") && p.For == 0:
		return nil, fmt.Errorf("--duration: %v, must be positive and at most 1h", p.For)
	case p.Every < 50*time.Millisecond || p.Every > time.Minute:
		return nil, fmt.Errorf("--every: %v, must be 50ms to 1m", p.Every)
	case len(work) > 1:
		return nil, errors.New("--work: more than one")
	case len(rate) > 1:
		return nil, errors.New("--rate: more than one")
	case len(rate) > 0 && !s.CanOpen():
		return nil, fmt.Errorf("--rate: %s is a closed loop by nature", s.Name)
	case shape == arrivals.Ramp:
		return nil, errors.New("--arrivals: ramp needs an end, and live has none")
	}
	if !s.FixedWork {
		p.Spec.Work = work[0]
	}
	if len(rate) > 0 {
		p.Spec.Rate, p.Spec.Arrivals = rate[0], shape
	}
	return p, nil
}
