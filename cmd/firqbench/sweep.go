package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/export"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/pin"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/resume"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

// axes are the flags of a sweep that take lists of sweep.Value.
var axes = []string{"producers", "consumers", "tenants", "shards", "batch"}

func sweepCommand() *cli.Command {
	axis := func(name, usage string) cli.Flag {
		return &cli.StringFlag{Name: name, Category: axesOf, Usage: usage, DefaultText: "the scenario's"}
	}
	return &cli.Command{
		Name:      "sweep",
		Usage:     "run scenarios at every combination of processors, goroutines, tenants and shards",
		ArgsUsage: "[SCENARIO...]",
		Description: "Runs every scenario (contended, unless named) with every combination of the lists, one after\n" +
			"another, and prints a line for each. An entry is a number; or 2x, twice as many as processors;\n" +
			"or 8+, as many as processors but at least 8; or default, what the scenario has.\n\n" +
			"With -o FILE what is done is safe: the file is written after each step. After Ctrl-C, or a\n" +
			"crash, the same command goes on where it stopped. A file that a different command, program or machine wrote\n" +
			"is refused; --restart throws it away.\n\n" +
			"Compare within a line: what is in different lines ran at different times. firqbench compare\n" +
			"reads the files, too.\n\n" +
			"Examples:\n" +
			"   firqbench sweep --cores 1,2,4 --producers 8+ --consumers 8+ -o results/cores.json\n" +
			"   firqbench sweep zipf --tenants 64,4096 --shards default,1,2x -o results/zipf.json\n" +
			"   firqbench sweep contended --rate 50k,100k,200k,400k --duration 1s -o results/load.json\n" +
			"   firqbench sweep --producers 1,8 --consumers 1,8 --format csv > grid.csv",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "contestants", Category: whatToRun, DefaultText: "all but floor", Usage: "compare this `LIST` (see firqbench list)"},
			&cli.StringFlag{Name: "cores", Category: axesOf, DefaultText: "as it is",
				Usage: "numbers of processors that Go uses, and on which the process stays (`LIST`)"},
			&cli.BoolFlag{Name: "no-pin", Category: axesOf, Usage: "do not keep the process on --cores processors; needed where the system is not Linux"},
			axis("producers", "`LIST` of numbers of goroutines that enqueue"), axis("consumers", "`LIST` of numbers of goroutines that dequeue"),
			axis("tenants", "`LIST` of numbers of tenants"), axis("shards", "`LIST` of numbers of shards in the sharded schedulers"),
			axis("batch", "`LIST` of numbers of tasks per call"),
			&cli.StringFlag{Name: "work", Category: axesOf, Value: "0s", Usage: "`LIST` of CPU times per task (batches: per call), on both sides"},
			&cli.StringFlag{Name: "rate", Category: axesOf, Usage: "`LIST` of rates at which tasks come, such as 50k/s (see firqbench run)"},
			&cli.StringFlag{Name: "arrivals", Category: axesOf, Value: string(arrivals.Constant), Usage: "`SHAPE` of the arrivals: constant, poisson, bursty or ramp"},
			&cli.IntFlag{Name: "rounds", Aliases: []string{"count"}, Category: howToRun, Value: 5, Usage: "`N` runs of each contestant; tables show medians"},
			&cli.DurationFlag{Name: "duration", Category: howToRun, Value: 125 * time.Millisecond, Usage: "measured time of a run"},
			&cli.DurationFlag{Name: "warmup", Category: howToRun, Value: 30 * time.Millisecond, Usage: "time before it that is not counted"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: whereTo, Usage: "keep every single run in `FILE`, as JSON, and go on with what is there"},
			&cli.BoolFlag{Name: "restart", Category: whereTo, Usage: "throw away what is in the file of -o"},
			&cli.BoolFlag{Name: "dry-run", Category: whereTo, Usage: "say how many steps and runs there are, and how long they take; run none"},
			formatFlag(),
		},
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(contest.ForRun(), scenario.Names()),
		Action:        runSweep,
	}
}

func runSweep(ctx context.Context, cmd *cli.Command) error {
	plan, steps, err := sweepPlan(cmd)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	path := cmd.String("output")
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return command.Misuse(cmd, fmt.Errorf("--output: %s is a directory; a sweep needs the name of a file, to go on with it", path))
	}
	file, err := resume.Open(path, plan, machine.Read(), machine.Program(), cmd.Bool("restart"))
	if errors.Is(err, resume.ErrConflict) {
		return command.Misuse(cmd, err)
	} else if err != nil {
		return err
	}
	out, errOut := cmd.Root().Writer, cmd.Root().ErrWriter
	tables := out
	if cmd.String("format") != export.Table {
		tables = io.Discard
	}
	progress := report.NewSweepProgress(errOut, steps, file.Sweep.Done)
	report.Env(tables, file.Env)
	if !cmd.Bool("dry-run") {
		report.Busy(tables, othersNow())
	}
	report.Printf(tables, "%-12s%d steps, %d of them done; %d runs of %v left, about %v\n\n", "plan",
		len(steps), file.Sweep.Done, progress.Left(), plan.Duration, report.Estimate(progress.Left(), &plan))
	if cmd.Bool("dry-run") {
		return nil
	}
	if path != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	}
	runErr := file.Sweep.Run(ctx, steps, progress.Before, resume.Save(file, path))
	progress.Clear()
	report.Sweep(tables, file.Sweep)
	if path != "" {
		report.Printf(errOut, "%s has %d of %d steps\n", path, file.Sweep.Done, len(steps))
	}
	var writeErr error
	if cmd.String("format") != export.Table {
		writeErr = export.Write(out, cmd.String("format"), file)
	}
	return errors.Join(runErr, writeErr, failures(file.Sweep.Cells))
}

// sweepPlan makes a plan of the flags. All its errors are the user's.
func sweepPlan(cmd *cli.Command) (p sweep.Plan, steps []sweep.Step, err error) {
	p = sweep.Plan{
		Scenarios: cmd.Args().Slice(), Contestants: command.List(cmd.String("contestants")),
		Rounds: cmd.Int("rounds"), Warmup: cmd.Duration("warmup"), Duration: cmd.Duration("duration"),
	}
	if len(p.Scenarios) == 0 {
		p.Scenarios = []string{"contended"}
	}
	if err := export.Check(cmd.String("format")); err != nil {
		return p, nil, named("--format", err)
	}
	contestants, err := contest.Select(contest.ForRun(), p.Contestants)
	if err != nil {
		return p, nil, err
	}
	p.Contestants = nil
	for _, c := range contestants {
		p.Contestants = append(p.Contestants, c.Name)
	}
	if p.Cores, err = cores(cmd); err != nil {
		return p, nil, named("--cores", err)
	}
	p.Pin = len(p.Cores) > 0 && !cmd.Bool("no-pin")
	for i, to := range []*[]sweep.Value{&p.Producers, &p.Consumers, &p.Tenants, &p.Shards, &p.Batch} {
		for _, text := range command.List(cmd.String(axes[i])) {
			v, err := sweep.ParseValue(text)
			if err != nil {
				return p, nil, named("--"+axes[i], err)
			}
			*to = append(*to, v)
		}
	}
	if p.Work, err = works(cmd); err != nil {
		return p, nil, err
	}
	if p.Rate, p.Arrivals, err = rates(cmd); err != nil {
		return p, nil, err
	}
	steps, err = p.Steps()
	return p, steps, err
}

// cores reads --cores, and finds out whether there are as many.
func cores(cmd *cli.Command) (ns []int, err error) {
	for _, text := range command.List(cmd.String("cores")) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1024 {
			return nil, fmt.Errorf("%q, must be 1 to 1024", text)
		}
		ns = append(ns, n)
	}
	if len(ns) == 0 || cmd.Bool("no-pin") {
		return ns, nil
	}
	_, unpin, err := pin.First(slices.Max(ns))
	if err != nil {
		return nil, fmt.Errorf("%w (or --no-pin)", err)
	}
	return ns, unpin()
}
