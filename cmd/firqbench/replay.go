package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/profile"
	"github.com/firq-go/firq/cmd/firqbench/internal/replay"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/trace"
)

func replayCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "contestants", Category: whatToRun, Value: "fifo,mutex-simple,baseline,lockfree", Usage: "compare this `LIST` (see firqbench list)"},
		&cli.IntFlag{Name: "busiest", Category: whatToRun, Value: 5, Usage: "how many (`N`) of the busiest tenants are shown by themselves; 0: none"},
		&cli.IntFlag{Name: "rounds", Category: whatToRun, Value: 1, Usage: "replay `N` times with each contestant, in turn"},
		&cli.StringFlag{Name: "speed", Category: changePace, Usage: "how many times as `FAST` as it happened; max: everything arrives together"},
		&cli.DurationFlag{Name: "duration", Category: changePace, Usage: "choose the speed so that requests arrive for so long (default: 10s)", HideDefault: true},
		&cli.DurationFlag{Name: "service", Category: changePace, Usage: "how long a worker is busy per unit of cost (default: follows from --load)", HideDefault: true},
		&cli.FloatFlag{Name: "load", Category: changePace, Value: 0.95, Usage: "work that arrives / work that the workers can do in that time"},
		&cli.StringFlag{Name: "workers", Category: changePace, Value: "32", Usage: "`N` goroutines that serve requests, one at a time; a list gives one table for each"},
		&cli.Int64Flag{Name: "quantum", Category: changePace, DefaultText: "the cost that 90 % of the requests do not exceed", Usage: "a tenant may spend `COST` per round"},
		&cli.IntFlag{Name: "shards", Category: changePace, DefaultText: "the scheduler's", Usage: "`N` shards in the sharded schedulers"},
		&cli.IntFlag{Name: "in-flight", Category: changePace, DefaultText: "no limit", Usage: "at most `N` requests of a tenant are served at a time"},
		gomaxprocsFlag(),
	}
	flags = append(append(flags, outputFlags()...), profileFlags()...)
	return &cli.Command{
		Name:      "replay",
		Usage:     "replay recorded traffic and see what fairness buys",
		ArgsUsage: "FILE",
		Description: "FILE is CSV with the header at_ms,tenant,cost[,priority,deadline_ms], or an access log in\n" +
			"Common Log Format or the combined format (tenant: the client; cost: KiB sent, at least 1);\n" +
			"plain or compressed with gzip.\n\n" +
			"Requests arrive when they arrived, only faster, and whatever became of those before. Workers\n" +
			"are busy for cost x service time. What you leave open of speed, service and load follows from\n" +
			"the rest; by default a pass over the trace takes about 10 s for each contestant, at a load of\n" +
			"0.95. With --rounds, queue times are those of all passes together.\n\n" +
			"Examples:\n" +
			"   firqbench replay trace.csv\n" +
			"   firqbench replay access.log.gz --duration 30s --load 1.1\n" +
			"   firqbench replay trace.csv --speed 100 --service 2ms --workers 8,32 -o results/\n" +
			"   firqbench replay trace.csv --contestants fifo,lockfree --rounds 5 -o results/",
		Flags:         flags,
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(contest.ForReplay(), nil),
		Action:        runReplay,
	}
}

func runReplay(ctx context.Context, cmd *cli.Command) error {
	if n := cmd.Args().Len(); n != 1 {
		return command.Misuse(cmd, fmt.Errorf("replay needs one FILE, there are %d", n))
	}
	if err := setGOMAXPROCS(cmd); err != nil {
		return err
	}
	contestants, err := contest.Select(contest.ForReplay(), command.List(cmd.String("contestants")))
	if err != nil {
		return command.Misuse(cmd, err)
	}
	if n := cmd.Int("rounds"); n < 1 {
		return command.Misuse(cmd, fmt.Errorf("--rounds: %d, must be positive", n))
	}
	workers, err := wholeNumbers("workers", cmd.String("workers"))
	if err != nil {
		return command.Misuse(cmd, err)
	}
	options, err := replayOptions(cmd)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	t, err := trace.ReadFile(cmd.Args().First())
	if err != nil {
		return err
	}
	var plans []replay.Plan
	for _, options.Workers = range workers {
		plan, err := replay.NewPlan(t, options)
		if err != nil {
			return command.Misuse(cmd, err)
		}
		plans = append(plans, plan)
	}
	env := machine.Read()
	destinations, err := replayFiles(cmd, env, workers)
	if err != nil {
		return err
	}
	stop, err := profile.Start(profiles(cmd))
	if err != nil {
		return err
	}
	out := cmd.Root().Writer
	report.Env(out, env)
	report.Printf(out, "\n")
	report.Busy(out, othersNow())
	var runErr error
	for i, plan := range plans {
		result := replay.Report{Trace: replay.Facts(t), Plan: plan}
		report.ReplayPlan(out, result.Trace, plan)
		bar := report.NewReplayBar(cmd.Root().ErrWriter, len(t.Requests))
		runErr = rounds(ctx, t, &result, contestants, cmd.Int("rounds"), bar.Show)
		bar.Clear()
		report.Replay(out, &result)
		file := report.File{Schema: report.Schema, Env: env, Interrupted: runErr != nil, Replay: &result}
		if runErr = errors.Join(runErr, save(cmd, &file, destinations[i])); runErr != nil {
			break
		}
	}
	return errors.Join(runErr, stop())
}

// replayFiles returns where the results go, a file for each number of workers; all "" without
// --output.
func replayFiles(cmd *cli.Command, env machine.Env, workers []int) ([]string, error) {
	files, to := make([]string, len(workers)), cmd.String("output")
	if to == "" {
		return files, nil
	}
	for i, n := range workers {
		kind := "replay"
		if len(workers) > 1 {
			kind = fmt.Sprintf("replay-%dw", n)
		}
		var err error
		if files[i], err = report.Destination(to, kind, env.Start); err != nil {
			return nil, err
		}
		if slices.Contains(files[:i], files[i]) {
			return nil, command.Misuse(cmd, fmt.Errorf("--output: %s: %d numbers of workers give as many files; name a directory (%s/)", to, len(workers), to))
		}
	}
	return files, nil
}

// rounds lets contestants replay the trace in turn; in every other round the last one begins. When a pass fails, those before it
// and what there is of it are in the result.
func rounds(ctx context.Context, t *trace.Trace, into *replay.Report, contestants []contest.Contestant, n int, progress replay.Progress) error {
	of := make([]*replay.Result, len(contestants))
	var failed error
	for round := 0; round < n && failed == nil; round++ {
		for k := range contestants {
			i := k
			if round%2 == 1 {
				i = len(contestants) - 1 - k
			}
			res, err := replay.Run(ctx, t, into.Plan, contestants[i], progress)
			if of[i] == nil {
				of[i] = &res
			} else {
				of[i].Add(res)
			}
			if failed = err; err != nil {
				break
			}
		}
	}
	for _, res := range of {
		if res != nil {
			into.Results = append(into.Results, *res)
		}
	}
	return failed
}

func replayOptions(cmd *cli.Command) (o replay.Options, err error) {
	o = replay.Options{
		Service: cmd.Duration("service"), Span: cmd.Duration("duration"),
		Quantum: cmd.Int64("quantum"), Busiest: cmd.Int("busiest"), Shards: cmd.Int("shards"), InFlight: cmd.Int("in-flight"),
	}
	if cmd.IsSet("load") { // else it may follow from the others
		o.Load = cmd.Float("load")
	}
	if o.Busiest == 0 {
		o.Busiest = -1
	}
	for _, name := range []string{"quantum", "service", "duration", "load"} {
		if cmd.IsSet(name) && isZero(cmd, name) {
			return o, fmt.Errorf("--%s: must be positive", name)
		}
	}
	o.Speed, err = parseSpeed(cmd.String("speed"))
	return o, err
}

func isZero(cmd *cli.Command, name string) bool {
	switch v := cmd.Value(name).(type) {
	case int:
		return v == 0
	case int64:
		return v == 0
	case float64:
		return v == 0
	}
	return cmd.Duration(name) == 0
}
