// Command cluster compares calls to actors on another node, contrib/firqnats, with NATS request-reply, gRPC and
// the cluster of Proto.Actor. Each part of a contestant is a process.
//
//	go run ./cluster -o results/
//
// README.md says what is measured, and what is fair and unfair about it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/goals"
)

func main() { command.Main(app) }

// Commands that the program calls itself with: one does a run, serve is a process of a contestant.
const (
	oneCommand   = "one"
	serveCommand = "serve"
)

func app(stdout, stderr io.Writer) *cli.Command {
	return command.Root(&cli.Command{
		Name:  "cluster",
		Usage: "compare calls to actors on another node",
		Description: "Measures each contestant in rounds that begin with another one each, and prints medians, ratios of the same round\n" +
			"and goals in Markdown. Needs /proc (Linux), and takes about 15 s per contestant and round at first, by --seconds and --calls.\n\n" +
			"Exit codes: 0 all went well, 1 something failed, 2 wrong usage, 130 interrupted.\n\n" +
			"Contestants:\n" + about() + "\n" +
			"Examples:\n" +
			"   go run ./cluster -o results/\n" +
			"   go run ./cluster --contestants firqnats,nats --rounds 3\n" +
			"   go run ./cluster --rounds 1 --seconds 0.1 --calls 100",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "contestants", DefaultText: "all", Usage: "compare this `LIST`"},
			&cli.IntFlag{Name: "rounds", Value: 7, Usage: "`N` runs of each"},
			&cli.FloatFlag{Name: "seconds", Value: 2, Usage: "how long 64 callers call"},
			&cli.IntFlag{Name: "calls", Value: 3000, Usage: "`N` calls of one caller, before that"},
			command.OutputFlag(),
		},
		Commands: []*cli.Command{
			{Name: oneCommand, Hidden: true, Action: one, OnUsageError: command.OnUsageError},
			{Name: serveCommand, Hidden: true, Action: serve, OnUsageError: command.OnUsageError},
		},
		Action: command.Alone(parse, run),
	}, stdout, stderr)
}

func about() (text string) {
	for _, c := range contestants() {
		text += fmt.Sprintf("   %-14s %s\n", c.name, c.about)
	}
	return text
}

// plan is what the flags say.
type plan struct {
	contestants []contestant
	rounds      int
	size        size
}

// size of a run.
type size struct {
	Calls   int
	Seconds float64
}

// parse makes a plan of the flags. All its errors are the user's.
func parse(cmd *cli.Command) (*plan, error) {
	p := &plan{rounds: cmd.Int("rounds"), size: size{cmd.Int("calls"), cmd.Float("seconds")}}
	if err := command.InRange(cmd, map[string]int{"rounds": 1000, "calls": 1_000_000}); err != nil {
		return nil, err
	}
	if s := p.size.Seconds; math.IsNaN(s) || s < 0.01 || s > 60 {
		return nil, fmt.Errorf("--seconds: %v, must be 0.01 to 60", s)
	}
	names := command.List(cmd.String("contestants"))
	for _, c := range contestants() {
		if len(names) == 0 || slices.Contains(names, c.name) {
			p.contestants = append(p.contestants, c)
		}
	}
	if len(names) > 0 && len(p.contestants) != len(names) {
		return nil, fmt.Errorf("--contestants: %s, and there are:\n%s", strings.Join(names, ","), about())
	}
	return p, nil
}

// file is a result file.
type file struct {
	Schema  string              `json:"schema"`
	Env     machine.Env         `json:"env"`
	Modules map[string]string   `json:"modules"` // versions of all that is compiled in
	Rounds  int                 `json:"rounds"`
	Size    size                `json:"size"`
	Runs    goals.Runs[metrics] `json:"runs"`
}

// result is a run of a contestant.
type result = goals.Run[metrics]

func run(ctx context.Context, cmd *cli.Command, p *plan) error {
	f := &file{Schema: "firq-cluster/1", Env: machine.Read(), Modules: command.Modules(), Rounds: p.rounds, Size: p.size}
	failed := 0
	err := command.Record(cmd, "cluster", f.Env.Start, f, func(stdout, stderr io.Writer) error {
		defer markdown(stdout, f)
		for round := range p.rounds {
			for i := range p.contestants {
				c := p.contestants[(round+i)%len(p.contestants)]
				r := result{Contestant: c.name, Round: round}
				err := inChild(ctx, c.name, p.size, &r.Metrics)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					r.Error = err.Error()
					failed++
				}
				f.Runs = append(f.Runs, r)
				report.Printf(stderr, "round %d of %d, %s: %s\n", round+1, p.rounds, c.name, r.String())
			}
		}
		return nil
	})
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d runs failed", failed, len(f.Runs)))
	}
	return err
}

// inChild does a run in a separate process: what a library leaves behind is not the next one's.
func inChild(ctx context.Context, name string, s size, m *metrics) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	ctx, end := context.WithTimeout(ctx, time.Minute+10*time.Duration(s.Seconds*float64(time.Second)))
	defer end()
	cmd := exec.CommandContext(ctx, self, oneCommand, name, string(text))
	cmd.Stderr, cmd.WaitDelay = os.Stderr, time.Second
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	out = bytes.TrimSpace(out)
	return json.Unmarshal(out[bytes.LastIndexByte(out, '\n')+1:], m) // Proto.Actor says something before
}

// one is the child.
func one(ctx context.Context, cmd *cli.Command) error {
	var s size
	if err := json.Unmarshal([]byte(cmd.Args().Get(1)), &s); err != nil {
		return command.Misuse(cmd, err)
	}
	for _, c := range contestants() {
		if c.name == cmd.Args().First() {
			m, err := c.run(ctx, s)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.Root().Writer).Encode(m)
		}
	}
	return command.Misuse(cmd, fmt.Errorf("no contestant %q", cmd.Args().First()))
}
