package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/page"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "make a web page with charts of result files",
		ArgsUsage: "RESULT...",
		Description: "Makes one HTML file of the results that run, sweep and replay wrote with -o: first how many times\n" +
			"as fast as the others the low-contention core was in each scenario; then throughput by scenario,\n" +
			"cores and tenants, fairness against it, queue times by rate with the knee, distributions of\n" +
			"latency, who was served when, queue times of quiet tenants, with the numbers, the machines and\n" +
			"the commands. It needs neither a script nor the network. What the files lack is said in it.\n\n" +
			"Files of the same machine, settings and commit are pooled, others are shown apart.\n\n" +
			"Examples:\n" +
			"   firqbench report results/*.json\n" +
			"   firqbench report run.json replay.json -o charts.html\n" +
			"   firqbench report results/*.json --only latency,scenario=contended,contestant=lockfree",
		Flags: []cli.Flag{&cli.StringFlag{Name: "only", Category: whereTo, DefaultText: "all", Usage: "make this `LIST` of sections (" + strings.Join(page.Sections(), ", ") + ") of these scenarios and contestants (scenario=NAME, contestant=NAME)"}, &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: whereTo, Value: "report.html",
			Usage: "write the page to `FILE`; -: to the standard output"}},
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(nil, nil),
		Action:        makeReport,
	}
}

func makeReport(_ context.Context, cmd *cli.Command) error {
	paths := cmd.Args().Slice()
	if len(paths) == 0 {
		return command.Misuse(cmd, errors.New("report needs a RESULT, there is none"))
	}
	output := cmd.String("output")
	if output == "" {
		return command.Misuse(cmd, errors.New("--output: is empty"))
	}
	only, err := page.ParseOnly(command.List(cmd.String("only")))
	if err != nil {
		return command.Misuse(cmd, fmt.Errorf("--only: %w", err))
	}
	files, err := page.Read(paths)
	if err != nil {
		return err
	}
	if err := only.Check(files); err != nil {
		return command.Misuse(cmd, fmt.Errorf("--only: %w", err))
	}
	if output == "-" {
		return page.Write(cmd.Root().Writer, files, only)
	}
	if err := report.WriteWhole(output, func(w io.Writer) error { return page.Write(w, files, only) }); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	report.Printf(cmd.Root().ErrWriter, "wrote %s\n", output)
	return nil
}
