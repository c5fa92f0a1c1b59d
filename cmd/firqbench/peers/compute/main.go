// Command compute compares package compute with what else answers calls for results that
// cost something to make.
//
//	go run . -o results/
//
// README.md says what is measured, and against what. It is its own module, so that
// firq does not depend on the others.
package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
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
	weblog   *trace        // nil: none
	entries  int           // whose memory is measured
	moved    int           // keys of which some move
}

// part is a part of the measurements.
type part = command.Part[*plan, *file]

var parts = []part{
	{Name: "speed", Run: runSpeed}, {Name: "single", Run: runSingle}, {Name: "overload", Run: runOverload}, {Name: "ratio", Run: runRatio},
	{Name: "memory", Run: runMemory}, {Name: "router", Run: runRouter}, {Name: "crowd", Run: runCrowd}, {Name: "refusals", Run: runRefusals},
}

func main() { command.Main(app) }

func app(stdout, stderr io.Writer) *cli.Command {
	return command.Root(&cli.Command{
		Name:  "compute",
		Usage: "compare package compute with what else answers calls for results that cost something to make",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "parts", Value: command.Names(parts), Usage: "measure this `LIST`"},
			&cli.IntFlag{Name: "rounds", Value: 7, Usage: "`N` rounds; the systems take turns in each"},
			&cli.IntFlag{Name: "seeds", Value: 3, Usage: "`N` rounds of hit ratios, memory and router"},
			&cli.DurationFlag{Name: "time", Value: time.Second, Usage: "of each round of a throughput"},
			&cli.DurationFlag{Name: "over", Value: 4 * time.Second, Usage: "of each round of the overload, the router and the refusals"},
			&cli.IntFlag{Name: "calls", Value: 500_000, Usage: "`N` calls of one caller alone"},
			&cli.IntFlag{Name: "requests", Value: 1_000_000, Usage: "`N` requests of each trace"},
			&cli.StringFlag{Name: "weblog", Usage: "replay the costs in this `FILE`, too, of the format that firqbench replay takes, as keys of a trace"},
			&cli.IntFlag{Name: "entries", Value: 200_000, Usage: "`N` entries whose memory is measured"},
			&cli.IntFlag{Name: "moved", Value: 50_000, Usage: "`N` keys of which some move when a group is added"},
			command.OutputFlag(),
		},
		Action: command.Alone(parse, run),
	}, stdout, stderr)
}

// parse makes a plan of the flags. All its errors are the user's.
func parse(cmd *cli.Command) (p *plan, err error) {
	p = &plan{
		rounds: cmd.Int("rounds"), seeds: cmd.Int("seeds"), time: cmd.Duration("time"), over: cmd.Duration("over"), calls: cmd.Int("calls"),
		requests: cmd.Int("requests"), entries: cmd.Int("entries"), moved: cmd.Int("moved"),
	}
	if p.time <= 0 || p.over <= 0 || slices.Min([]int{p.rounds, p.seeds, p.calls, p.requests, p.entries, p.moved}) < 1 {
		return nil, errors.New("every number must be above 0")
	}
	if path := cmd.String("weblog"); path != "" {
		if p.weblog, err = webLog(path); err != nil {
			return nil, err
		}
	}
	p.parts, err = command.Select(cmd, parts)
	return p, err
}

func run(ctx context.Context, cmd *cli.Command, p *plan) error {
	f := &file{Schema: schema, Env: machine.Read(), Modules: command.Modules(), Rounds: p.rounds}
	return command.Record(cmd, "compute", f.Env.Start, f, func(stdout, stderr io.Writer) error {
		err := command.RunParts(ctx, p.parts, p, f, stderr)
		f.Interrupted = err != nil
		markdown(stdout, f)
		return err
	})
}

// turn returns the systems, another one first in each round.
func turn(systems []string, round int) []string {
	at := round % len(systems)
	return slices.Concat(systems[at:], systems[:at])
}
