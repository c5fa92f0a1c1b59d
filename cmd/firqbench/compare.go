package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/internal/bench/command"
	"github.com/firq-go/firq/internal/bench/compare"
	"github.com/firq-go/firq/internal/bench/contest"
	"github.com/firq-go/firq/internal/bench/export"
	"github.com/firq-go/firq/internal/bench/metric"
	"github.com/firq-go/firq/internal/bench/report"
)

func compareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "say what differs between two result files, or two contestants, by more than chance",
		ArgsUsage: "OLD.json [NEW.json]",
		Description: "With two files, compares each contestant in OLD with itself in NEW. With one, compares two\n" +
			"contestants in it (--contestants REFERENCE,OTHER); that is the better way, because they ran in\n" +
			"alternation on the same machine. Files are written by run and sweep with -o.\n\n" +
			"For each scenario, part and metric: medians, the range of their 95% confidence intervals, the\n" +
			"change, and p of the Mann-Whitney test. At least 5 runs on each side are needed, 10 are better\n" +
			"(--rounds 10).\n\n" +
			"Exit codes: 0 no regression, 1 a regression (significant, and worse by more than --threshold)\n" +
			"or a failure, 2 wrong usage.\n\n" +
			"Examples:\n" +
			"   firqbench compare old.json new.json\n" +
			"   firqbench compare results/run.json --contestants baseline-1,lockfree\n" +
			"   firqbench compare old.json new.json --metrics tasks/s,queue-p99 --threshold 10%\n" +
			"   firqbench compare old.json new.json --format benchfmt | benchstat -col side -",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "contestants", Category: whatToRun, Usage: "with one file: the two to compare, the reference first; with two: only these (`LIST`)"},
			&cli.StringFlag{Name: "metrics", Category: whatToRun, Usage: "compare this `LIST` only, such as tasks/s,enqueue-p99.9,queue-p99,allocs/task", DefaultText: "all"},
			&cli.StringFlag{Name: "threshold", Category: howToRun, Value: "5%", Usage: "a significant change for the worse by more than this `PART` is a regression"},
			&cli.FloatFlag{Name: "alpha", Category: howToRun, Value: 0.05, Usage: "a change is significant if p is at most `P`"},
			&cli.BoolFlag{Name: "all", Category: whereTo, Usage: "show the figures that have not changed, too"},
			formatFlag(),
		},
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(contest.ForRun(), nil),
		Action:        runCompare,
	}
}

func runCompare(_ context.Context, cmd *cli.Command) error {
	paths := cmd.Args().Slice()
	if len(paths) < 1 || len(paths) > 2 {
		return command.Misuse(cmd, fmt.Errorf("compare needs one or two files, there are %d", len(paths)))
	}
	options, err := compareOptions(cmd, len(paths))
	if err != nil {
		return command.Misuse(cmd, err)
	}
	var files []*report.File
	for _, path := range paths {
		f, err := report.ReadFile(path)
		if err != nil {
			return err
		}
		if len(f.Cells()) == 0 {
			return fmt.Errorf("%s: has no runs to compare (a replay is one pass)", path)
		}
		files = append(files, f)
	}
	if cmd.String("format") == export.Benchfmt {
		return benchmarks(cmd, files)
	}
	c, err := compareFiles(files, options)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	c.Old, c.New = paths[0], paths[len(paths)-1]
	if len(paths) == 1 {
		c.Old, c.New = options.Contestants[0]+" in "+c.Old, options.Contestants[1]+" in "+c.New
	}
	out := cmd.Root().Writer
	switch cmd.String("format") {
	case export.JSON:
		err = export.WriteJSON(out, c)
	case export.CSV:
		err = c.CSV(out)
	default:
		c.Table(out, cmd.Bool("all"))
	}
	return errors.Join(err, c.Err())
}

func compareFiles(files []*report.File, o compare.Options) (*compare.Comparison, error) {
	if len(files) == 1 {
		return compare.Contestants(files[0], o)
	}
	return compare.Files(files[0], files[1], o)
}

// benchmarks writes the files for benchstat, which compares them itself.
func benchmarks(cmd *cli.Command, files []*report.File) error {
	w := export.NewBenchmarks(cmd.Root().Writer)
	for i, side := range []string{"old", "new"}[:len(files)] {
		if len(files) == 1 {
			side = ""
		}
		if err := w.Write(files[i], side); err != nil {
			return err
		}
	}
	return nil
}

func compareOptions(cmd *cli.Command, files int) (o compare.Options, err error) {
	if err := export.Check(cmd.String("format")); err != nil {
		return o, named("--format", err)
	}
	if o.Threshold, err = parsePart(cmd.String("threshold")); err != nil {
		return o, named("--threshold", err)
	}
	if o.Alpha = cmd.Float("alpha"); !(o.Alpha > 0) || o.Alpha >= 1 {
		return o, fmt.Errorf("--alpha: %v, must be between 0 and 1", o.Alpha)
	}
	if o.Metrics, err = metric.Choose(list(cmd.String("metrics"))); err != nil {
		return o, named("--metrics", err)
	}
	for _, name := range list(cmd.String("contestants")) {
		if name == "baseline" { // as elsewhere
			name = contest.OneLock
		}
		o.Contestants = append(o.Contestants, name)
	}
	if files == 1 && len(o.Contestants) != 2 && cmd.String("format") != export.Benchfmt {
		return o, errors.New("one file: --contestants REFERENCE,OTHER says which two to compare")
	}
	return o, nil
}

// parsePart parses a part: 5%, or 0.05.
func parsePart(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q, must be a part such as 5%% or 0.05", text)
	}
	return x, nil
}
