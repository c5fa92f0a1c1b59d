// Command compute compares package compute with what else answers calls for results that
// cost something to make.
//
//	go run . -o results/
//
// README.md says what is measured, and against what. It is a module of its own, so that
// firq does not depend on the others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/firq-go/firq/internal/bench/machine"
	"github.com/firq-go/firq/internal/bench/report"
)

// schema names the format of file. It changes when a field changes its meaning.
const schema = "firq-compute/1"

// file is a result file.
type file struct {
	Schema      string            `json:"schema"`
	Env         machine.Env       `json:"env"`
	Modules     map[string]string `json:"modules"`
	Interrupted bool              `json:"interrupted"`
	Rounds      int               `json:"rounds"`
	Figures     []figure          `json:"figures"`
}

// figure is one number of one round.
type figure struct {
	Case   string  `json:"case"`
	System string  `json:"system"`
	Metric string  `json:"metric"`
	Round  int     `json:"round"`
	Value  float64 `json:"value"`
}

func (f *file) add(what, system, metric string, round int, v float64) {
	f.Figures = append(f.Figures, figure{what, system, metric, round, v})
}

// plan is what the flags say.
type plan struct {
	parts    []part
	rounds   int
	seeds    int           // rounds of what hardly differs: hit ratios, memory, router
	time     time.Duration // of a round of a throughput
	over     time.Duration // of a round of the overload, and of the router
	calls    int           // of one caller alone
	requests int           // of a trace
	entries  int           // whose memory is measured
	wrk      string        // the load generator
	moved    int           // keys of which some move
}

// part is a part of the measurements.
type part struct {
	name string
	run  func(ctx context.Context, p *plan, f *file, say func(string, ...any)) error
}

var parts = []part{
	{"speed", runSpeed}, {"single", runSingle}, {"overload", runOverload}, {"ratio", runRatio}, {"memory", runMemory}, {"router", runRouter},
	{"document", runDocument}, {"http", runHTTP},
}

// aside is a part that is measured only if it is named: it needs a program that may not be there.
const aside = "http"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute returns the exit code: 0 all went well, 1 something failed, 2 wrong usage, 130
// interrupted.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p, destination, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		report.Printf(stderr, "compute: %v\n", err)
		return 2
	}
	out := report.NewChecked(stdout)
	if err = run(ctx, p, destination, out, stderr); err == nil {
		err = out.Err()
	}
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		report.Printf(stderr, "compute: interrupted\n")
		return 130
	}
	report.Printf(stderr, "compute: %v\n", err)
	return 1
}

func parse(args []string, stderr io.Writer) (*plan, string, error) {
	p := new(plan)
	fs := flag.NewFlagSet("compute", flag.ContinueOnError)
	fs.SetOutput(stderr)
	names := fs.String("parts", strings.TrimSuffix(partNames(), ","+aside), "measure this list; "+aside+" too is there, and needs wrk")
	fs.StringVar(&p.wrk, "wrk", "wrk", "the load generator of the part "+aside)
	fs.IntVar(&p.rounds, "rounds", 7, "rounds; the systems take turns in each")
	fs.IntVar(&p.seeds, "seeds", 3, "rounds of hit ratios, memory and router")
	fs.DurationVar(&p.time, "time", time.Second, "of each round of a throughput")
	fs.DurationVar(&p.over, "over", 4*time.Second, "of each round of the overload, of the router and of http")
	fs.IntVar(&p.calls, "calls", 500_000, "calls of one caller alone")
	fs.IntVar(&p.requests, "requests", 1_000_000, "requests of each trace")
	fs.IntVar(&p.entries, "entries", 200_000, "entries whose memory is measured")
	fs.IntVar(&p.moved, "moved", 50_000, "keys of which some move when a group is added")
	destination := fs.String("o", "", "write every figure as JSON to this file; a directory gets a file named after the time")
	if err := fs.Parse(args); err != nil {
		return nil, "", err
	}
	if fs.NArg() > 0 {
		return nil, "", fmt.Errorf("unknown argument %q", fs.Arg(0))
	}
	if p.time <= 0 || p.over <= 0 || slices.Min([]int{p.rounds, p.seeds, p.calls, p.requests, p.entries, p.moved}) < 1 {
		return nil, "", errors.New("every number must be above 0")
	}
	for name := range strings.SplitSeq(*names, ",") {
		i := slices.IndexFunc(parts, func(x part) bool { return x.name == name })
		if i < 0 {
			return nil, "", fmt.Errorf("-parts: there is no part %q, only %s", name, partNames())
		}
		p.parts = append(p.parts, parts[i])
	}
	return p, *destination, nil
}

func partNames() string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return strings.Join(names, ",")
}

func run(ctx context.Context, p *plan, destination string, stdout, stderr io.Writer) error {
	f := &file{Schema: schema, Env: machine.Read(), Modules: modules(), Rounds: p.rounds}
	var err error
	if destination != "" {
		if destination, err = report.Destination(destination, "compute", f.Env.Start); err != nil {
			return err
		}
	}
	began := time.Now()
	say := func(format string, args ...any) {
		report.Printf(stderr, "%5.0f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	for _, part := range p.parts {
		if err = part.run(ctx, p, f, say); err != nil {
			err = fmt.Errorf("%s: %w", part.name, err)
			break
		}
	}
	f.Interrupted = err != nil
	markdown(stdout, f)
	if destination != "" {
		err = errors.Join(err, report.WriteJSON(destination, f))
		report.Printf(stderr, "wrote %s\n", destination)
	}
	return err
}

// turn returns the systems, another one first in each round.
func turn(systems []string, round int) []string {
	at := round % len(systems)
	return slices.Concat(systems[at:], systems[:at])
}
