package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/export"
	"github.com/firq-go/firq/cmd/firqbench/internal/matrix"
	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// markdown is a format of matrix alone: the tables in BENCHMARKS.md.
const markdown = "markdown"

func matrixCommand() *cli.Command {
	return &cli.Command{
		Name:      "matrix",
		Usage:     "put results of several machines side by side",
		ArgsUsage: "RESULT...",
		Description: "Shows how many times the tasks/s (or --metric) of others the low-contention core had, a row for\n" +
			"each scenario, a column for each kind of machine (processor, number of processors, system, Go).\n" +
			"Only ratios compare between machines. Of sweeps over three or more numbers of processors it fits Gunther's\n" +
			"Universal Scalability Law for each contestant: how much is done one after another, what each\n" +
			"processor costs each other one, and how many would be best. scripts/cloud makes such results.\n\n" +
			"Examples:\n" +
			"   firqbench matrix */run-*.json */multicore/*.json\n" +
			"   firqbench matrix a.json b.json --over baseline-1,channel --format json\n" +
			"   firqbench matrix a.json --metric cpu/task\n" +
			"   firqbench matrix a.json instructions.json --costs",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "only", Category: whatToRun, Usage: "show this `LIST` of scenarios"},
			&cli.StringFlag{Name: "subject", Category: whatToRun, Value: contest.Lockfree, Usage: "the `CONTESTANT` whose figures are divided"},
			&cli.StringFlag{Name: "metric", Category: whatToRun, Value: "tasks/s", Usage: "compare this `METRIC`; firqbench compare --help lists them"},
			&cli.BoolFlag{Name: "costs", Category: whatToRun, Usage: "show what a task of the subject takes: processor time, context switches, allocations, and instructions where a RESULT of firqbench instructions has them"},
			&cli.StringFlag{Name: "over", Category: whatToRun, Value: contest.OneLock + "," + contest.Simple, Usage: "by those of each in this `LIST`"},
			&cli.StringFlag{Name: "format", Category: whereTo, Value: export.Table, Usage: "print as `FORMAT`: table, json or markdown"},
		},
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(contest.ForRun(), nil),
		Action:        showMatrix,
	}
}

func showMatrix(_ context.Context, cmd *cli.Command) error {
	paths := cmd.Args().Slice()
	if len(paths) == 0 {
		return command.Misuse(cmd, errors.New("matrix needs a RESULT, there is none"))
	}
	subject, over, format := cmd.String("subject"), command.List(cmd.String("over")), cmd.String("format")
	if format != export.Table && format != export.JSON && format != markdown {
		return command.Misuse(cmd, fmt.Errorf("--format: %q, must be table, json or markdown", format))
	}
	chosen, err := metric.Choose([]string{cmd.String("metric")})
	if err != nil {
		return command.Misuse(cmd, fmt.Errorf("--metric: %w", err))
	}
	subject = fullName(subject)
	for i := range over {
		over[i] = fullName(over[i])
	}
	if len(over) == 0 {
		return command.Misuse(cmd, errors.New("--over: is empty"))
	}
	for _, name := range append([]string{subject}, over...) {
		if _, err := contest.Select(contest.ForRun(), []string{name}); err != nil {
			return command.Misuse(cmd, fmt.Errorf("--subject, --over: %w", err))
		}
	}
	files, err := readAll(paths)
	if err != nil {
		return err
	}
	if only := command.List(cmd.String("only")); len(only) > 0 {
		if _, err := scenario.Choose(only, nil); err != nil {
			return command.Misuse(cmd, fmt.Errorf("--only: %w", err))
		}
		for _, f := range files {
			if f.Instructions != nil {
				f.Instructions.Cells = slices.DeleteFunc(f.Instructions.Cells, func(c suite.Cell) bool { return !slices.Contains(only, c.Scenario.Name) })
			}
			if f.Run != nil {
				f.Run.Cells = slices.DeleteFunc(f.Run.Cells, func(c suite.Cell) bool { return !slices.Contains(only, c.Scenario.Name) })
			}
		}
	}
	m := matrix.Of(files, chosen[0], subject, over)
	if cmd.Bool("costs") {
		if err := m.AddCosts(files, subject); err != nil {
			return err
		}
	}
	switch out := cmd.Root().Writer; format {
	case export.JSON:
		return export.WriteJSON(out, m)
	case markdown:
		m.Markdown(out, subject)
	default:
		m.Table(out, subject)
	}
	return nil
}

// fullName is a contestant's, where people say less, as elsewhere.
func fullName(name string) string {
	if name == "baseline" {
		return contest.OneLock
	}
	return name
}
