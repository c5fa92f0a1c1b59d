package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/export"
	"github.com/firq-go/firq/cmd/firqbench/internal/model"
)

func modelCommand() *cli.Command {
	return &cli.Command{
		Name:      "model",
		Usage:     "predict tasks/s on more processors than there are",
		ArgsUsage: "RESULT...",
		Description: "Simulates goroutines, locks, leases and cache lines, on any number of processors. The local work of\n" +
			"each contestant is fitted to contended without work on 1 processor (where no RESULT has that, to\n" +
			"uncontended), and the costs of a cache line's transfer and of a wake-up to contended and one_to_one\n" +
			"without work on 2. All else in the RESULTs is held out: the second table shows the model's error.\n" +
			"The predictions are hypotheses (docs/model.md). scripts/multicore measures the same.\n\n" +
			"Examples:\n" +
			"   firqbench run contended one_to_one deep_backlog --gomaxprocs 1 -o one.json\n" +
			"   firqbench run contended one_to_one deep_backlog --gomaxprocs 2 -o two.json\n" +
			"   firqbench model one.json two.json\n" +
			"   firqbench model one.json two.json --processors 16,64 --transfer 40ns --tenants 4096 --format json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "processors", Category: whatToRun, Value: "1,2,8,32,128", Usage: "predict for each number in this `LIST`"},
			&cli.StringFlag{Name: "transfer", Category: whatToRun, Value: "20ns,60ns,200ns", Usage: "and for each cost of a transfer of a cache line in this `LIST`"},
			&cli.StringFlag{Name: "tenants", Category: whatToRun, Value: "64", Usage: "and for each number of tenants in this `LIST`"},
			&cli.BoolFlag{Name: "sensitivity", Category: whatToRun, Usage: "show instead how far these predictions move when parameters that are not known well change: the largest change, over the processors, at the first transfer and number of tenants"},
			&cli.StringFlag{Name: "format", Category: whereTo, Value: export.Table, Usage: "print as `FORMAT`: table, json or markdown"},
		},
		OnUsageError:  command.OnUsageError,
		ShellComplete: complete(nil, nil),
		Action:        showModel,
	}
}

func showModel(ctx context.Context, cmd *cli.Command) error {
	paths := cmd.Args().Slice()
	if len(paths) == 0 {
		return command.Misuse(cmd, errors.New("model needs a RESULT, there is none"))
	}
	format := cmd.String("format")
	if format != export.Table && format != export.JSON && format != markdown {
		return command.Misuse(cmd, fmt.Errorf("--format: %q, must be table, json or markdown", format))
	}
	processors, err := numbers(cmd, "processors", model.MaxProcessors)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	tenants, err := numbers(cmd, "tenants", model.MaxTenants)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	transfers, err := transfers(cmd)
	if err != nil {
		return command.Misuse(cmd, err)
	}
	files, err := readAll(paths)
	if err != nil {
		return err
	}
	calibrated, err := model.Calibrate(ctx, files)
	if err != nil {
		return err
	}
	if cmd.Bool("sensitivity") {
		moves, err := calibrated.Sensitivity(ctx, processors, transfers[0], tenants[0])
		if err != nil {
			return err
		}
		if format == export.JSON {
			return export.WriteJSON(cmd.Root().Writer, moves)
		}
		calibrated.WriteSensitivity(cmd.Root().Writer, moves, format == markdown)
		return nil
	}
	var all []model.Prediction
	for _, n := range tenants {
		ps, err := calibrated.Predict(ctx, processors, transfers, n)
		if err != nil {
			return err
		}
		all = append(all, ps...)
	}
	r, out := model.Of(calibrated, all), cmd.Root().Writer
	if format == export.JSON {
		return export.WriteJSON(out, r)
	}
	r.Write(out, format == markdown)
	return nil
}

// numbers reads a flag that is a list of numbers from 1 to most.
func numbers(cmd *cli.Command, flag string, most int) (ns []int, err error) {
	for _, text := range command.List(cmd.String(flag)) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("--%s: %q, must be 1 to %d", flag, text, most)
		}
		ns = append(ns, n)
	}
	if len(ns) == 0 {
		return nil, fmt.Errorf("--%s: is empty", flag)
	}
	return ns, nil
}

// transfers reads --transfer, in ns.
func transfers(cmd *cli.Command) (ns []float64, err error) {
	for _, text := range command.List(cmd.String("transfer")) {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 || d > time.Millisecond {
			return nil, fmt.Errorf("--transfer: %q, must be a duration such as 60ns, at most 1ms", text)
		}
		ns = append(ns, float64(d))
	}
	if len(ns) == 0 {
		return nil, errors.New("--transfer: is empty")
	}
	return ns, nil
}
