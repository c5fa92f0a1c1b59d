package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/export"
	"github.com/firq-go/firq/cmd/firqbench/internal/pin"
	"github.com/firq-go/firq/cmd/firqbench/internal/profile"
	"github.com/firq-go/firq/cmd/firqbench/internal/quota"
)

// Categories of flags in the help.
const (
	whatToRun   = "What to run"
	howToRun    = "How to measure"
	changeLoad  = "Change the load of each scenario"
	changePace  = "Change the pace"
	openLoop    = "Open loop"
	axesOf      = "Lists to combine"
	whereTo     = "Output"
	profileFlag = "Profiles (see go tool pprof, go tool trace)"
)

// formatFlag is --format.
func formatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", Category: whereTo, Value: export.Table,
		Usage: "print as `FORMAT`: table, json, csv or benchfmt, which benchstat reads"}
}

// named puts the name of a flag before its error; nil stays nil.
func named(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// works reads --work.
func works(cmd *cli.Command) (ds []time.Duration, err error) {
	for _, w := range command.List(cmd.String("work")) {
		d, err := time.ParseDuration(w)
		if err != nil || d < 0 || d > time.Second {
			return nil, fmt.Errorf("--work: %q, must be a duration such as 100ns, at most 1s", w)
		}
		ds = append(ds, d)
	}
	if len(ds) == 0 {
		return nil, errors.New("--work: is empty; 0s is no work")
	}
	return ds, nil
}

// rates reads --rate and --arrivals.
func rates(cmd *cli.Command) (rs []float64, shape arrivals.Shape, err error) {
	for _, text := range command.List(cmd.String("rate")) {
		r, err := arrivals.ParseRate(text)
		if err != nil {
			return nil, "", named("--rate", err)
		}
		rs = append(rs, r)
	}
	if cmd.IsSet("rate") && len(rs) == 0 {
		return nil, "", errors.New("--rate: is empty")
	}
	if cmd.IsSet("arrivals") && len(rs) == 0 {
		return nil, "", errors.New("--arrivals: needs --rate")
	}
	shape, err = arrivals.ParseShape(cmd.String("arrivals"))
	return rs, shape, named("--arrivals", err)
}

func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: whereTo,
			Usage: "write every single run as JSON to `FILE`; a directory gets a file named after the time"},
	}
}

func profileFlags() []cli.Flag {
	file := func(name, usage string) cli.Flag {
		return &cli.StringFlag{Name: name, Category: profileFlag, Usage: usage + " to `FILE`"}
	}
	return []cli.Flag{
		file("cpuprofile", "write a CPU profile"),
		file("memprofile", "write a profile of allocations"),
		file("mutexprofile", "write a profile of lock contention"),
		file("blockprofile", "write a profile of blocking"),
		file("trace", "write an execution trace"),
	}
}

func profiles(cmd *cli.Command) profile.Files {
	return profile.Files{
		CPU: cmd.String("cpuprofile"), Memory: cmd.String("memprofile"), Mutex: cmd.String("mutexprofile"),
		Block: cmd.String("blockprofile"), Trace: cmd.String("trace"),
	}
}

func gomaxprocsFlag() cli.Flag {
	return &cli.IntFlag{Name: "gomaxprocs", Category: howToRun, DefaultText: "as the Go runtime has it",
		Usage: "Go may use `N` processors"}
}

// setGOMAXPROCS applies --gomaxprocs.
func setGOMAXPROCS(cmd *cli.Command) error {
	if !cmd.IsSet("gomaxprocs") {
		return nil
	}
	n := cmd.Int("gomaxprocs")
	if n < 1 || n > 1024 {
		return command.Misuse(cmd, fmt.Errorf("--gomaxprocs: %d, must be 1 to 1024", n))
	}
	runtime.GOMAXPROCS(n)
	return nil
}

// pinCPUs applies --cpus, and returns the processors that it leaves, nil for all,
// and a function that undoes it. Where --gomaxprocs says nothing, Go uses as many.
func pinCPUs(cmd *cli.Command) (cpus []int, undo func() error, err error) {
	if !cmd.IsSet("cpus") {
		return nil, func() error { return nil }, nil
	}
	cpus, unpin, err := pin.First(cmd.Int("cpus"))
	if err != nil {
		return nil, nil, command.Misuse(cmd, fmt.Errorf("--cpus: %w", err))
	}
	if cmd.IsSet("gomaxprocs") {
		return cpus, unpin, nil
	}
	before := runtime.GOMAXPROCS(len(cpus))
	return cpus, func() error {
		runtime.GOMAXPROCS(before)
		return unpin()
	}, nil
}

// limitTime applies --quota, and returns a function that undoes it. Where neither
// --gomaxprocs nor --cpus says otherwise, Go uses as many processors as it does in a
// container with that quota.
func limitTime(cmd *cli.Command) (undo func() error, err error) {
	if !cmd.IsSet("quota") {
		return func() error { return nil }, nil
	}
	percent := cmd.Int("quota")
	lift, err := quota.Limit(percent, quota.Period)
	if err != nil {
		return nil, command.Misuse(cmd, fmt.Errorf("--quota: %w", err))
	}
	if cmd.IsSet("gomaxprocs") || cmd.IsSet("cpus") {
		return lift, nil
	}
	before := runtime.GOMAXPROCS(quota.Processors(percent, runtime.NumCPU()))
	return func() error {
		runtime.GOMAXPROCS(before)
		return lift()
	}, nil
}

// wholeNumbers reads a flag that takes a list of positive whole numbers, each of them once.
func wholeNumbers(name, list string) (all []int, err error) {
	for _, text := range command.List(list) {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--%s: %q, must be a whole number, or a list such as 8,32", name, text)
		case n < 1:
			return nil, fmt.Errorf("--%s: %d, must be positive", name, n)
		case slices.Contains(all, n):
			return nil, fmt.Errorf("--%s: %d is there twice", name, n)
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--%s: is empty", name)
	}
	return all, nil
}

// override returns a pointer to an int flag's value, nil if it is not set.
func override(cmd *cli.Command, name string) *int {
	if !cmd.IsSet(name) {
		return nil
	}
	v := cmd.Int(name)
	return &v
}

// parseSpeed parses --speed: a factor, or "max" (also 0) for as fast as possible.
func parseSpeed(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	if strings.EqualFold(s, "max") {
		return math.Inf(1), nil
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(s, "x"), 64)
	if err != nil || f < 0 || math.IsNaN(f) {
		return 0, fmt.Errorf("--speed: %q, must be a positive factor, or max", s)
	}
	if f == 0 {
		return math.Inf(1), nil
	}
	return f, nil
}
