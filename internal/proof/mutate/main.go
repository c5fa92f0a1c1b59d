// Command mutate plants faults in the concurrent code, one at a time, and tells
// which test notices each. A fault that no test notices is a missing test.
//
// The faults are in mutants/*.txt. Each names the tests that are expected to
// notice it; if they do not, the tests of every package that depends on the file
// get their turn: short, with the schedules, and under the race detector. The
// checkout is not changed: the compiler is shown the faulty file in place of the
// real one (go build -overlay).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	names   []string // patterns of mutants; none: all
	list    bool
	sound   bool // run the killers without any fault first
	wide    bool // go on to the wider suite
	jobs    int
	timeout time.Duration // of one test binary
}

func parseArgs(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("scripts/mutate", flag.ContinueOnError)
	flags.BoolVar(&o.list, "list", false, "print the mutants and their expected killers, and run nothing")
	flags.BoolVar(&o.sound, "sound", true, "first run the expected killers without a fault: they have to pass")
	flags.BoolVar(&o.wide, "wide", true, "let the wider suite have a try at what its expected killer missed")
	flags.IntVar(&o.jobs, "jobs", max(1, runtime.NumCPU()/2), "how many mutants at a time")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "of one test binary that is expected to kill; a hang is a kill.\nThe wider suite has ten times as long")
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, `usage: scripts/mutate [option ...] [pattern ...]

Plants the faults of internal/proof/mutate/mutants one at a time in the concurrent
code, and reports which test notices each. A pattern is as in a shell, and is
compared with the name of a mutant and with its file: 'park: *', '*credit.go'.

`)
		flags.PrintDefaults()
		fmt.Fprint(os.Stderr, `
It exits with 1 if a mutant survives or the list is wrong, with 2 on a wrong
command line or if no fault has such a name. The checkout is not changed.
`)
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.jobs < 1 || o.timeout <= 0 {
		return o, errors.New("-jobs and -timeout have to be positive")
	}
	o.names = flags.Args()
	for _, p := range o.names {
		if _, err := path.Match(p, ""); err != nil {
			return o, fmt.Errorf("%s: %w", p, err)
		}
	}
	return o, nil
}

// chosen returns the mutants that a pattern names.
func chosen(all []mutant, patterns []string) []mutant {
	if len(patterns) == 0 {
		return all
	}
	var some []mutant
	for _, m := range all {
		for _, p := range patterns {
			name, _ := path.Match(p, m.name)
			// A * of path.Match ends at a slash.
			file, _ := path.Match(p, strings.ReplaceAll(m.file, "/", ":"))
			if name || file || p == m.file {
				some = append(some, m)
				break
			}
		}
	}
	return some
}

func main() {
	o, err := parseArgs(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scripts/mutate:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "scripts/mutate:", err)
	if errors.Is(err, errNoSuch) {
		os.Exit(2)
	}
	os.Exit(1)
}

var errNoSuch = errors.New("no fault has such a name, or is in such a file")

func run(ctx context.Context, o options) (err error) {
	all, err := load(".")
	if err != nil {
		return err
	}
	some := chosen(all, o.names)
	if len(some) == 0 {
		return fmt.Errorf("%q: %w", o.names, errNoSuch)
	}
	if o.list {
		for _, m := range some {
			fmt.Printf("%s\n\t%s: %s\n", m.name, m.file, m.why)
			for _, k := range m.killers {
				fmt.Printf("\tkilled by %s\n", k)
			}
		}
		fmt.Printf("%d mutants\n", len(some))
		return nil
	}
	dir, err := os.MkdirTemp("", "firq-mutate-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l := &lab{options: o, dir: dir}
	if o.sound {
		if err := l.sound(ctx, some); err != nil {
			return err
		}
	}
	return l.killAll(ctx, some)
}
