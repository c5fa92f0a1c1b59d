// Command bench measures firqpg on a PostgreSQL that it starts itself, with fsync, and the processor time of all the server's processes.
// scripts/peers-postgres compiles other queues into it, which are measured in alternation.
//
//	go run ./contrib/firqpg/internal/bench -parts throughput,single
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
	"time"

	"github.com/firq-go/firq/contrib/firqpg/internal/pgserver"
)

// bench is a run of the command.
type bench struct {
	tasks, tenants, rounds, samples, noisy, queued int
	workers                                        []int

	server *pgserver.Server
	out    io.Writer
}

// part measures one thing of a system, and returns a line of a table.
type part struct {
	name string
	head string
	run  func(ctx context.Context, b *bench, name string) (rows []string, err error)
}

var parts = []part{
	{"throughput", "workers | enqueue/s (us) | process/s (us) | both/s (us)", throughput},
	{"processes", "workers in each of 16 processes | both/s (us)", processes},
	{"single", "one connection, enqueue/s (us)", single},
	{"batches", "500 in a call, enqueue/s (us)", batches},
	{"latency", "64 idle workers: p50; p99; idle, % of a core", latency},
	{"fairness", "the last of 100 quiet ones is at position", fairness},
	{"backlog", "queued | of tenants | the first, process/s (us) | the next (us)", backlog},
	{"snapshot", "before, tasks/s (us) | a snapshot is held, tasks/s (us)", snapshot},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	b := &bench{out: out, workers: []int{16, 64, 256}}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(out)
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	chosen := f.String("parts", strings.Join(names, ","), "measure these")
	systems := f.String("systems", strings.Join(known(), ","), "measure these")
	f.IntVar(&b.tasks, "tasks", 10_000, "tasks of a round")
	f.IntVar(&b.tenants, "tenants", 64, "their tenants")
	f.IntVar(&b.rounds, "rounds", 3, "rounds, of all systems in turn")
	f.IntVar(&b.samples, "samples", 100, "latencies")
	f.IntVar(&b.queued, "queued", 1_000_000, "tasks of a backlog")
	f.IntVar(&b.noisy, "noisy", 20_000, "tasks of the noisy tenant")
	if err := f.Parse(args); err != nil {
		return err
	}
	for _, name := range strings.Split(*chosen, ",") {
		k := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if k < 0 {
			return fmt.Errorf("-parts: %q is not one of %s", name, strings.Join(names, ", "))
		}
		if err := b.measure(ctx, &parts[k], strings.Split(*systems, ",")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// measure runs a part for all systems in turn, each on a server that is new, so that none inherits what another has left.
func (b *bench) measure(ctx context.Context, p *part, systems []string) error {
	_, _ = fmt.Fprintf(b.out, "\n| %s | round | %s |\n%s\n", p.name, p.head, strings.Repeat("|---", 3+strings.Count(p.head, "|"))+"|")
	for round := range b.rounds {
		for _, name := range systems {
			rows, err := b.alone(ctx, p, name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for _, row := range rows {
				_, _ = fmt.Fprintf(b.out, "| %s | %d | %s |\n", name, round+1, row)
			}
		}
	}
	return nil
}

func (b *bench) alone(ctx context.Context, p *part, name string) (rows []string, err error) {
	if err := b.start(); err != nil {
		return nil, err
	}
	defer func() { b.server.Stop() }()
	return p.run(ctx, b, name)
}

// start starts a server.
func (b *bench) start() (err error) {
	if b.server, err = pgserver.New("shared_buffers = 512MB", "max_wal_size = 4GB", "max_connections = 400"); err != nil {
		return err
	}
	return b.server.Start()
}

// spent is what a phase took.
type spent struct {
	wall, cpu time.Duration
	tasks     int
}

// timed measures a phase of that many tasks.
func (b *bench) timed(tasks int, f func() error) (s spent, err error) {
	began, cpu := time.Now(), b.server.CPU()
	err = f()
	return spent{time.Since(began), b.server.CPU() - cpu, tasks}, err
}

func (s spent) plus(t spent) spent { return spent{s.wall + t.wall, s.cpu + t.cpu, s.tasks} }

func (s spent) String() string {
	n := float64(max(s.tasks, 1))
	return fmt.Sprintf("%.0f (%.0f)", n/s.wall.Seconds(), float64(s.cpu.Microseconds())/n)
}
