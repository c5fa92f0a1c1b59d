package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "describe the scenarios and the contestants",
		Description: "Examples:\n" +
			"   firqbench list",
		OnUsageError: command.OnUsageError,
		Action: alone(func(cmd *cli.Command) error {
			return report.List(cmd.Root().Writer, scenario.All(), contest.ForRun(), contest.ForReplay())
		}),
	}
}

func envCommand() *cli.Command {
	return &cli.Command{
		Name:  "env",
		Usage: "print what results of this machine are labelled with",
		Description: "Examples:\n" +
			"   firqbench env\n" +
			"   firqbench env --json",
		Flags:        []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "as JSON"}},
		OnUsageError: command.OnUsageError,
		Action: alone(func(cmd *cli.Command) error {
			if cmd.Bool("json") {
				return report.EnvJSON(cmd.Root().Writer, machine.Read())
			}
			report.Env(cmd.Root().Writer, machine.Read())
			return nil
		}),
	}
}

// alone is the action of a command that takes flags only.
func alone(run func(*cli.Command) error) cli.ActionFunc {
	return command.Alone(func(*cli.Command) (any, error) { return nil, nil },
		func(_ context.Context, cmd *cli.Command, _ any) error { return run(cmd) })
}
