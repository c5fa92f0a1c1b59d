package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/export"
	"github.com/firq-go/firq/cmd/firqbench/internal/hdrlog"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/profile"
	"github.com/firq-go/firq/cmd/firqbench/internal/quota"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/usage"
)

func runCommand() *cli.Command {
	count := func(name, usage string) cli.Flag {
		return &cli.IntFlag{Name: name, Category: changeLoad, Usage: usage, DefaultText: "the scenario's"}
	}
	flags := []cli.Flag{
		&cli.StringFlag{Name: "only", Category: whatToRun, Usage: "run this `LIST` of scenarios (the same as naming them as arguments)"},
		&cli.StringFlag{Name: "skip", Category: whatToRun, Usage: "leave out this `LIST` of scenarios"},
		&cli.StringFlag{Name: "contestants", Category: whatToRun, DefaultText: "all but floor", Usage: "compare this `LIST` (see firqbench list)"},
		&cli.IntFlag{Name: "rounds", Aliases: []string{"count"}, Category: howToRun, Value: 5, Usage: "`N` runs of each contestant; tables show medians"},
		&cli.DurationFlag{Name: "duration", Category: howToRun, Value: 80 * time.Millisecond, Usage: "measured time of a run"},
		&cli.DurationFlag{Name: "warmup", Category: howToRun, Value: 30 * time.Millisecond, Usage: "time before it that is not counted"},
		&cli.DurationFlag{Name: "record", Category: howToRun, Value: 500 * time.Millisecond,
			Usage: "in scenarios with hot tenants the first round goes on for so long, to record which tenants are served when; 0s: it does not"},
		gomaxprocsFlag(),
		&cli.IntFlag{Name: "cpus", Category: howToRun, DefaultText: "all",
			Usage: "stay on the first `N` processors that the program may run on, with as many for Go unless --gomaxprocs says otherwise (Linux)"},
		&cli.IntFlag{Name: "quota", Category: howToRun, DefaultText: "all there is",
			Usage: "use at most `PERCENT` of the time of one processor (200: of two), as a container with that limit does; rounds of a second or more show it best (Linux, root)"},
		&cli.StringFlag{Name: "work", Category: changeLoad, Value: "0s,100ns",
			Usage: "CPU time per task (batches: per call), for the producer and for the consumer each; a `LIST` gives one part of the table for each"},
		count("producers", "`N` goroutines enqueue"),
		count("consumers", "`N` goroutines dequeue"),
		count("tenants", "tasks come from `N` tenants"),
		count("batch", "`N` tasks per call, on both sides; 1: single calls"),
		count("window", "producers pause while `N` tasks are unfinished"),
		&cli.IntFlag{Name: "depth", Category: changeLoad, DefaultText: "not", Usage: "keep `N` tasks queued all the time: producers pause at N, consumers somewhat below it"},
		&cli.FloatFlag{Name: "skew", Category: changeLoad, DefaultText: "the scenario's", Usage: "in zipf the k-th tenant sends in proportion to k^-`S`"},
		count("capacity", "the queue holds `N` tasks"),
		count("shards", "`N` shards in the sharded schedulers"),
		&cli.StringFlag{Name: "rate", Category: openLoop,
			Usage: "tasks come by the clock, at `RATE` (800, 50k/s, 1.5M) of all producers together, whatever becomes of them; a list gives one part of the table for each"},
		&cli.StringFlag{Name: "arrivals", Category: openLoop, Value: string(arrivals.Constant),
			Usage: "`SHAPE` of the arrivals: constant, poisson, bursty (all in a fifth of each 20ms) or ramp (rising evenly, RATE in the middle)"},
		&cli.StringFlag{Name: "instructions", Category: whereTo, Usage: "show the instructions per task of `FILE`, which firqbench instructions wrote, in scenarios that are as they were there"},
		&cli.StringFlag{Name: "hdr", Category: whereTo, Usage: "write an HdrHistogram interval log to `DIR` for each contestant, scenario and part"},
		formatFlag(), listenFlag(),
	}
	flags = append(append(flags, outputFlags()...), profileFlags()...)
	return &cli.Command{
		Name:      "run",
		Usage:     "run synthetic scenarios and compare",
		ArgsUsage: "[SCENARIO...]",
		Description: "Runs every scenario (or the named ones) against every contestant, in alternating rounds,\n" +
			"and prints a table per scenario as soon as it is complete. The default takes about\n" +
			"two and a half minutes. Keep the machine quiet until then. Ctrl-C ends early and shows what is there.\n\n" +
			"Examples:\n" +
			"   firqbench run\n" +
			"   firqbench run contended zipf --rounds 11 --duration 500ms -o results/\n" +
			"   firqbench run --skip many_tenants --work 0s,50ns,1us\n" +
			"   firqbench run contended --producers 2 --consumers 2 --batch 8\n" +
			"   firqbench run contended --cpus 4 --contestants lockfree,baseline,floor\n" +
			"   firqbench run contended --quota 80 --duration 1s\n" +
			"   firqbench run contended --rate 50k/s,500k/s --arrivals poisson --duration 2s --hdr logs/\n" +
			"   firqbench run zipf --skew 1.5 --depth 20000\n" +
			"   firqbench run zipf --rounds 10 --format benchfmt | benchstat -col /impl -\n" +
			"   firqbench run hot_tenant_sustained --contestants lockfree,baseline --cpuprofile cpu.out",
		Flags:         flags,
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(contest.ForRun(), scenario.Names()),
		Action:        run,
	}
}

func run(ctx context.Context, cmd *cli.Command) (err error) {
	if err := named("--format", export.Check(cmd.String("format"))); err != nil {
		return command.Misuse(cmd, err)
	}
	if err := setGOMAXPROCS(cmd); err != nil {
		return err
	}
	plan, err := runPlan(cmd)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	cpus, unpin, err := pinCPUs(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unpin()) }()
	lift, err := limitTime(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lift()) }()
	env := machine.Read()
	env.Pinned, env.Quota = cpus, cmd.Int("quota")
	out, errOut := cmd.Root().Writer, cmd.Root().ErrWriter
	format := cmd.String("format")
	if format != export.Table {
		out = io.Discard
	}
	out, observe, unlisten, err := listenRun(cmd, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlisten()) }()
	if dir := cmd.String("hdr"); dir != "" {
		logs, err := hdrlog.Make(dir)
		if err != nil {
			return err
		}
		plan.Recorded = logs.Record
	}
	if err := addCounts(cmd, plan); err != nil {
		return err
	}
	destination := cmd.String("output")
	if destination != "" {
		if destination, err = report.Destination(destination, "run", env.Start); err != nil {
			return err
		}
	}
	stop, err := profile.Start(profiles(cmd))
	if err != nil {
		return err
	}
	var order []string
	for _, c := range plan.Contestants {
		order = append(order, c.Name)
	}
	report.Env(out, env)
	report.Busy(out, othersNow())
	report.Printf(out, "%-12s%d runs of %v, about %v\n\n", "plan", plan.Runs(), plan.Measure, plan.Estimate())
	legend(out, plan)
	progress := report.NewProgress(out, errOut, order)
	cells, runErr := plan.Run(ctx, observe(progress))
	progress.Clear()
	profileErr := stop()
	file := report.File{Schema: report.Schema, Env: env, Interrupted: runErr != nil, Run: &report.RunSection{
		Rounds: plan.Rounds, Warmup: plan.Warmup, Measure: plan.Measure, SampleEvery: load.SampleEvery,
		Contestants: order, Cells: cells,
	}}
	if len(plan.Rates) > 0 {
		file.Run.SampleEvery = 1
	}
	var writeErr error
	if format != export.Table {
		writeErr = export.Write(cmd.Root().Writer, format, &file)
	}
	return errors.Join(runErr, profileErr, writeErr, save(cmd, &file, destination), failures(cells))
}

// legend explains the tables that come.
func legend(out io.Writer, plan *suite.Plan) {
	if len(plan.Rates) > 0 {
		report.OpenLegend(out, plan)
	} else {
		report.Legend(out, plan)
	}
	report.Printf(out, "\n")
}

// othersNow returns the part of the machine's processor time that other programs use just now.
func othersNow() float64 {
	const look = 300 * time.Millisecond // 30 steps of the kernel's counters
	before := usage.OfMachine()
	if before == (usage.Machine{}) {
		return 0
	}
	time.Sleep(look)
	return usage.OfMachine().Others(before)
}

// save writes the result file, if one is wanted.
func save(cmd *cli.Command, file *report.File, path string) error {
	if path == "" {
		return nil
	}
	if err := file.Write(path); err != nil {
		return err
	}
	report.Printf(cmd.Root().ErrWriter, "wrote %s\n", path)
	return nil
}

func failures(cells []suite.Cell) error {
	n := 0
	for _, c := range cells {
		n += len(c.Errors)
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d runs failed, see FAILED above", n)
}

// withQuota leaves out the scenarios that have a quota, and says so, where there
// can be none, or --quota sets another one; it is an error if they are named.
func withQuota(cmd *cli.Command, chosen []scenario.Scenario, named bool) ([]scenario.Scenario, error) {
	at := slices.IndexFunc(chosen, func(s scenario.Scenario) bool { return s.Quota > 0 })
	if at < 0 {
		return chosen, nil
	}
	err := quota.Try()
	if cmd.IsSet("quota") {
		err = errors.New("--quota sets another one")
	}
	if err == nil {
		return chosen, nil
	}
	err = fmt.Errorf("%s needs a quota: %w", chosen[at].Name, err)
	if named {
		return nil, err
	}
	report.Printf(cmd.Root().ErrWriter, "left out: %v\n", err)
	return slices.DeleteFunc(chosen, func(s scenario.Scenario) bool { return s.Quota > 0 }), nil
}

// runPlan makes a plan of the flags. All its errors are the user's.
func runPlan(cmd *cli.Command) (*suite.Plan, error) {
	only := append(command.List(cmd.String("only")), cmd.Args().Slice()...)
	chosen, err := scenario.Choose(only, command.List(cmd.String("skip")))
	if err != nil {
		return nil, err
	}
	rates, shape, err := rates(cmd)
	if err != nil {
		return nil, err
	}
	if len(only) == 0 && len(rates) > 0 { // all that can; Check refuses those that are named and cannot
		chosen = slices.DeleteFunc(chosen, func(s scenario.Scenario) bool { return !s.CanOpen() })
	}
	overrides := scenario.Overrides{
		Producers: override(cmd, "producers"), Consumers: override(cmd, "consumers"), Tenants: override(cmd, "tenants"),
		Batch: override(cmd, "batch"), Shards: override(cmd, "shards"), Capacity: override(cmd, "capacity"),
		Window: override(cmd, "window"), Depth: override(cmd, "depth"),
	}
	if cmd.IsSet("skew") {
		skew := cmd.Float("skew")
		overrides.Skew = &skew
	}
	if len(only) == 0 { // all that can; Apply refuses those that are named and cannot
		chosen = slices.DeleteFunc(chosen, func(s scenario.Scenario) bool {
			return overrides.Depth != nil && !s.CanBeDeep() || overrides.Skew != nil && s.Skew == 0
		})
	}
	if chosen, err = withQuota(cmd, chosen, len(only) > 0); err != nil {
		return nil, err
	}
	for i := range chosen {
		if chosen[i], err = overrides.Apply(chosen[i]); err != nil {
			return nil, err
		}
	}
	plan := &suite.Plan{
		Scenarios: chosen, Rounds: cmd.Int("rounds"), Warmup: cmd.Duration("warmup"), Measure: cmd.Duration("duration"),
		Rates: rates, Arrivals: shape, Record: cmd.Duration("record"),
	}
	if plan.Contestants, err = contest.Select(contest.ForRun(), command.List(cmd.String("contestants"))); err != nil {
		return nil, err
	}
	if plan.Works, err = works(cmd); err != nil {
		return nil, err
	}
	return plan, plan.Check()
}
