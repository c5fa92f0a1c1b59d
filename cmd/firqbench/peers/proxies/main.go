// Command proxies compares contrib/firqproxy with nginx, haproxy and httputil.ReverseProxy: what a request costs, and how long
// quiet tenants wait while another one floods the service. Each proxy is a process, and so are the service and the load (wrk).
//
//	go run ./proxies -o results/
//
// README.md says what is measured, and what is fair and unfair about it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
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

// serveCommand is what the program calls itself with, to be a service or a proxy.
const serveCommand = "serve"

func app(stdout, stderr io.Writer) *cli.Command {
	return command.Root(&cli.Command{
		Name:  "proxies",
		Usage: "compare proxies that limit what a service does at a time",
		Description: "Measures each contestant in rounds that begin with another one each, and prints medians, ratios of the same round\n" +
			"and goals in Markdown. Needs /proc (Linux) and wrk, and takes about 12 s per contestant and round at first, by --seconds.\n" +
			"Contestants whose program is not installed are skipped (apt-get install wrk nginx-light haproxy redis-server).\n\n" +
			"Exit codes: 0 all went well, 1 something failed, 2 wrong usage, 130 interrupted.\n\n" +
			"Contestants:\n" + about() + "\n" +
			"Examples:\n" +
			"   go run ./proxies -o results/\n" +
			"   go run ./proxies --contestants firqproxy,nginx,reverseproxy --rounds 3\n" +
			"   go run ./proxies --rounds 1 --seconds 0.5",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "contestants", DefaultText: "all", Usage: "compare this `LIST`"},
			&cli.IntFlag{Name: "rounds", Value: 5, Usage: "`N` runs of each"},
			&cli.FloatFlag{Name: "seconds", Value: 3, Usage: "how long each load lasts"},
			command.OutputFlag(),
		},
		Commands: []*cli.Command{{Name: serveCommand, Hidden: true, Action: serve, OnUsageError: command.OnUsageError}},
		Action:   command.Alone(parse, run),
	}, stdout, stderr)
}

func about() (text string) {
	for _, c := range contestants {
		text += fmt.Sprintf("   %-16s %s\n", c.name, c.about)
	}
	return text
}

// plan is what the flags say.
type plan struct {
	contestants []contestant
	rounds      int
	load        time.Duration
}

// parse makes a plan of the flags. All its errors are the user's.
func parse(cmd *cli.Command) (*plan, error) {
	if err := command.InRange(cmd, map[string]int{"rounds": 1000}); err != nil {
		return nil, err
	}
	s := cmd.Float("seconds")
	if math.IsNaN(s) || s < 0.1 || s > 60 {
		return nil, fmt.Errorf("--seconds: %v, must be 0.1 to 60", s)
	}
	p := &plan{rounds: cmd.Int("rounds"), load: time.Duration(s * float64(time.Second))}
	names := command.List(cmd.String("contestants"))
	for _, c := range contestants {
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
	Schema   string              `json:"schema"`
	Env      machine.Env         `json:"env"`
	Modules  map[string]string   `json:"modules"`  // versions of all that is compiled in
	Programs map[string]string   `json:"programs"` // versions of the others
	Skipped  map[string]string   `json:"skipped,omitempty"`
	Rounds   int                 `json:"rounds"`
	Load     time.Duration       `json:"load"` // of each
	Runs     goals.Runs[metrics] `json:"runs"`
}

// result is a run of a contestant.
type result = goals.Run[metrics]

func run(ctx context.Context, cmd *cli.Command, p *plan) (err error) {
	f := &file{
		Schema: "firq-proxies/1", Env: machine.Read(), Modules: command.Modules(), Programs: map[string]string{}, Skipped: map[string]string{},
		Rounds: p.rounds, Load: p.load,
	}
	dir, err := os.MkdirTemp("", "proxies")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	failed := 0
	err = command.Record(cmd, "proxies", f.Env.Start, f, func(stdout, stderr io.Writer) error {
		there, err := prepare(ctx, f, p.contestants, dir, stderr)
		if err != nil {
			return err
		}
		defer markdown(stdout, f)
		for round := range p.rounds {
			for i := range there {
				c := there[(round+i)%len(there)]
				r := result{Contestant: c.name, Round: round}
				b := &bench{dir: filepath.Join(dir, fmt.Sprint(c.name, round)), bin: dir, load: p.load}
				err := b.run(ctx, c, &r.Metrics)
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
