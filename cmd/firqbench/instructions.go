package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/instructions"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

func instructionsCommand() *cli.Command {
	return &cli.Command{
		Name:      "instructions",
		Usage:     "count what a task takes in instructions, under callgrind",
		ArgsUsage: "[SCENARIO...]",
		Description: "Runs each contestant in every scenario (or the named ones) for two numbers of tasks under\n" +
			"callgrind, and divides the difference of the instructions by that of the tasks. It counts the whole\n" +
			"process, the load generator included, without work between the calls, with one thread at a time: how\n" +
			"threads disturb each other is not in it. A busy machine counts nearly the same. Scenarios that go by the\n" +
			"clock (overload, hot_tenant_sustained, busy_neighbour, deadline_expiration) have no such figure.\n" +
			"Needs valgrind. All of it takes about ten minutes.\n\n" +
			"Examples:\n" +
			"   firqbench instructions -o instructions.json\n" +
			"   firqbench instructions contended --contestants lockfree,baseline --rounds 3\n" +
			"   firqbench matrix run.json instructions.json --costs",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "contestants", Category: whatToRun, DefaultText: "all but floor", Usage: "count this `LIST` (see firqbench list)"},
			&cli.StringFlag{Name: "tasks", Category: howToRun, Value: "10000,40000", Usage: "the two `NUMBERS` of tasks"},
			&cli.IntFlag{Name: "rounds", Category: howToRun, Value: 1, Usage: "`N` counts of each; tables show medians"},
			&cli.IntFlag{Name: "once", Hidden: true},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: whereTo, Usage: "write the result to `PATH` as JSON; a directory gets a file named after the time"},
		},
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(contest.ForRun(), scenario.Names()),
		Action:        countInstructions,
	}
}

func countInstructions(ctx context.Context, cmd *cli.Command) error {
	plan, err := countPlan(cmd)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	if n := cmd.Int("once"); n > 0 {
		return instructions.Child(ctx, plan.Scenarios[0], plan.Contestants[0], n)
	}
	tool, err := instructions.Tool(ctx)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	env := machine.Read()
	destination := cmd.String("output")
	if destination != "" {
		if destination, err = report.Destination(destination, "instructions", env.Start); err != nil {
			return err
		}
	}
	count := instructions.Callgrind(program, func(scenario, contestant string, tasks int) []string {
		return []string{"instructions", scenario, "--contestants", contestant, "--once", strconv.Itoa(tasks)}
	})
	section, err := plan.Run(ctx, tool, count, func(done, total int, scenario, contestant string) {
		report.Printf(cmd.Root().ErrWriter, "%d of %d: %s, %s\n", done+1, total, scenario, contestant)
	})
	if err != nil {
		return err
	}
	var order []string
	for _, c := range plan.Contestants {
		order = append(order, c.Name)
	}
	report.Env(cmd.Root().Writer, env)
	report.Instructions(cmd.Root().Writer, section, order)
	return save(cmd, &report.File{Schema: report.Schema, Env: env, Instructions: section}, destination)
}

// countPlan makes a plan of the flags. All its errors are the user's.
func countPlan(cmd *cli.Command) (*instructions.Plan, error) {
	named := cmd.Args().Slice()
	chosen, err := scenario.Choose(named, nil)
	if err != nil {
		return nil, err
	}
	if len(named) == 0 { // all that can; Check refuses those that are named and cannot
		chosen = slices.DeleteFunc(chosen, func(s scenario.Scenario) bool { return !s.CanCount() })
	}
	plan := &instructions.Plan{Scenarios: chosen, Rounds: cmd.Int("rounds")}
	if plan.Contestants, err = contest.Select(contest.ForRun(), command.List(cmd.String("contestants"))); err != nil {
		return nil, err
	}
	var ns []int
	for _, text := range command.List(cmd.String("tasks")) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("--tasks: %q, must be a number", text)
		}
		ns = append(ns, n)
	}
	if len(ns) != 2 {
		return nil, errors.New("--tasks: two numbers are needed, such as 10000,40000")
	}
	plan.Fewer, plan.More = ns[0], ns[1]
	return plan, plan.Check()
}

// addCounts gives each run the instructions that the file of --instructions has.
func addCounts(cmd *cli.Command, plan *suite.Plan) error {
	path := cmd.String("instructions")
	if path == "" {
		return nil
	}
	f, err := report.ReadFile(path)
	if err != nil {
		return err
	}
	if f.Instructions == nil {
		return fmt.Errorf("%s: is not a file of firqbench instructions", path)
	}
	next := plan.Recorded
	plan.Recorded = func(c *suite.Cell, r *suite.Run) error {
		at := slices.IndexFunc(f.Instructions.Cells, func(o suite.Cell) bool { return o.Scenario == c.Scenario })
		if at >= 0 {
			r.InstructionsPerTask, _ = f.Instructions.Median(c.Scenario.Name, r.Contestant)
		}
		if next == nil {
			return nil
		}
		return next(c, r)
	}
	return nil
}
