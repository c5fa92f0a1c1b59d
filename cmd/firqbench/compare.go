package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/compare"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/export"
	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

func compareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "say what differs between two programs, or two contestants, by more than chance",
		ArgsUsage: "OLD.json... -- NEW.json...",
		Description: "Compares each contestant in the OLD files with itself in the NEW ones. A file is a series, and\n" +
			"counts as one value, the median of its rounds: rounds of one series are not independent. At least\n" +
			"5 series of each program are needed, 8 are better, in alternation on the same machine (scripts/ab\n" +
			"in the repository builds two commits and runs them so). With one file each (the -- may be left out)\n" +
			"it says what differs between the two series, and calls nothing a regression.\n\n" +
			"With one file in all, compares two contestants in it (--contestants REFERENCE,OTHER) over its\n" +
			"rounds, in which they alternated; 10 rounds are good (--rounds 10). Files are written by run and\n" +
			"sweep with -o.\n\n" +
			"For each scenario, part and metric: medians, the range of their 95% confidence intervals, the\n" +
			"change, p of the Mann-Whitney test, and q, which is p adjusted for the number of comparisons\n" +
			"(Benjamini and Hochberg).\n\n" +
			"Exit codes: 0 no regression, 1 a regression (significant, and worse by more than --threshold)\n" +
			"or a failure, 2 wrong usage.\n\n" +
			"Examples:\n" +
			"   firqbench compare old*.json -- new*.json\n" +
			"   firqbench compare --metrics all --threshold 10% old*.json -- new*.json\n" +
			"   firqbench compare results/run.json --contestants baseline-1,lockfree\n" +
			"   firqbench compare old.json new.json --format benchfmt | benchstat -col side -",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "contestants", Category: whatToRun, Usage: "with one file: the two to compare, the reference first; with two: only these (`LIST`)"},
			&cli.StringFlag{Name: "metrics", Category: whatToRun, Value: "tasks/s,enqueue-p99,queue-p99", Usage: "compare this `LIST`, such as tasks/s,enqueue-p99.9,cpu/task,allocs/task, or all"},
			&cli.StringFlag{Name: "threshold", Category: howToRun, Value: "5%", Usage: "a significant change for the worse by more than this `PART` is a regression"},
			&cli.FloatFlag{Name: "alpha", Category: howToRun, Value: 0.05, Usage: "a change is significant if q is at most `P`: of all that are called so, at most that part is chance"},
			&cli.BoolFlag{Name: "all", Category: whereTo, Usage: "show the figures that have not changed, too"},
			formatFlag(),
		},
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(contest.ForRun(), nil),
		Action:        runCompare,
	}
}

func runCompare(_ context.Context, cmd *cli.Command) error {
	olds, news, err := sides(cmd.Args().Slice())
	if err != nil {
		return command.Misuse(cmd, err)
	}
	options, err := compareOptions(cmd, len(olds)+len(news))
	if err != nil {
		return command.Misuse(cmd, err)
	}
	before, err := readAll(olds)
	if err != nil {
		return err
	}
	after, err := readAll(news)
	if err != nil {
		return err
	}
	if cmd.String("format") == export.Benchfmt {
		return benchmarks(cmd, before, after)
	}
	for _, f := range slices.Concat(before, after) {
		if f.Run == nil && f.Instructions != nil { // its runs have one metric
			f.Run = &report.RunSection{Rounds: f.Instructions.Rounds, Cells: f.Instructions.Cells}
		}
	}
	var c *compare.Comparison
	if len(after) == 0 {
		c, err = compare.Contestants(before[0], options)
	} else {
		c, err = compare.Files(before, after, options)
	}
	if err != nil {
		return command.Misuse(cmd, err)
	}
	c.Old, c.New = strings.Join(olds, " "), strings.Join(news, " ")
	if len(news) == 0 {
		c.Old, c.New = options.Contestants[0]+" in "+c.Old, options.Contestants[1]+" in "+c.Old
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

// between stands between the OLD files and the NEW ones.
const between = "--"

// keepBetween returns a command line of compare in which the -- between the files is
// still there when the flags have been read: the first one only ends the flags.
func keepBetween(args []string) []string {
	at := slices.Index(args, between)
	if len(args) < 2 || args[1] != "compare" || at < 0 {
		return args
	}
	return slices.Insert(slices.Clone(args), at, between)
}

// sides splits the files; no news: there is one file.
func sides(args []string) (olds, news []string, err error) {
	if at := slices.Index(args, between); at >= 0 {
		olds, news = args[:at], args[at+1:]
		if len(olds) == 0 || len(news) == 0 {
			return nil, nil, fmt.Errorf("compare needs files on both sides of --, there are %d and %d", len(olds), len(news))
		}
		for _, path := range news {
			if strings.HasPrefix(path, "-") {
				return nil, nil, fmt.Errorf("%s: options come before the --", path)
			}
		}
		return olds, news, nil
	}
	switch len(args) {
	case 1:
		return args, nil, nil
	case 2:
		return args[:1], args[1:], nil
	}
	return nil, nil, fmt.Errorf("compare needs one or two files, or OLD... -- NEW..., there are %d", len(args))
}

func readAll(paths []string) (files []*report.File, err error) {
	for _, path := range paths {
		f, err := report.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if len(f.Cells()) == 0 && f.Instructions == nil {
			return nil, fmt.Errorf("%s: has no runs to compare (a replay is one pass)", path)
		}
		files = append(files, f)
	}
	return files, nil
}

// benchmarks writes the files for benchstat, which compares them itself.
func benchmarks(cmd *cli.Command, before, after []*report.File) error {
	w := export.NewBenchmarks(cmd.Root().Writer)
	old := "old"
	if len(after) == 0 {
		old = ""
	}
	for _, side := range []struct {
		name  string
		files []*report.File
	}{{old, before}, {"new", after}} {
		for _, f := range side.files {
			if err := w.Write(f, side.name); err != nil {
				return err
			}
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
	names := command.List(cmd.String("metrics"))
	if slices.Equal(names, []string{"all"}) {
		names = nil
	}
	if o.Metrics, err = metric.Choose(names); err != nil {
		return o, named("--metrics", err)
	}
	for _, name := range command.List(cmd.String("contestants")) {
		o.Contestants = append(o.Contestants, fullName(name))
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
