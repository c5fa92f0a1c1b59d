package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// goTest is one call of go test.
type goTest struct {
	dir                   string // of the module, "" for this one
	pkgs                  []string
	tests                 []string // exact names; none: all
	race, schedules, long bool
	overlay               string // file, "" without a fault
	cache                 buildCache
	timeout               time.Duration
}

func (g *goTest) args() []string {
	args := []string{"test", "-json", "-vet=off", "-count=1", "-failfast", "-timeout=" + g.timeout.String()}
	if g.overlay != "" {
		args = append(args, "-overlay="+g.overlay)
	}
	if g.race {
		args = append(args, "-race")
	}
	if g.schedules {
		args = append(args, "-tags=firq_failpoints")
	}
	if !g.long {
		args = append(args, "-short")
	}
	if len(g.tests) > 0 {
		exact := make([]string, 0, len(g.tests))
		for _, name := range g.tests {
			parts := strings.Split(name, "/")
			for i, p := range parts {
				parts[i] = "^" + regexp.QuoteMeta(p) + "$"
			}
			exact = append(exact, strings.Join(parts, "/"))
		}
		args = append(args, "-run="+strings.Join(exact, "|"))
	}
	return append(args, g.pkgs...)
}

// outcome is what go test said.
type outcome struct {
	failed string                   // the test that failed first, "" if all passed
	ran    int                      // tests that passed or failed
	missed string                   // a test that did not run, though it was asked for
	output string                   // the end of what was printed
	took   map[string]time.Duration // by the tests that passed
}

// errBuild is about a mutant that does not compile, which shows nothing.
var errBuild = errors.New("does not compile")

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// run runs it until the first test fails, or to the end.
func (g *goTest) run(ctx context.Context) (o outcome, err error) {
	// A backstop: go test itself ends a binary that hangs.
	ctx, cancel := context.WithTimeout(ctx, g.timeout*time.Duration(len(g.pkgs))+10*time.Minute)
	defer cancel()
	inner, enough := context.WithCancel(ctx)
	defer enough()
	cmd := exec.CommandContext(inner, "go", g.args()...)
	cmd.Dir = g.dir
	cmd.Env = g.cache.env()
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return o, err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err = cmd.Start(); err != nil {
		return o, err
	}
	log, broken := o.read(pipe, g.tests)
	if o.failed != "" || broken {
		enough() // the rest would only take time
	}
	waitErr := cmd.Wait()
	o.output = tail(log+stderr.String(), 30)
	switch {
	case ctx.Err() != nil:
		return o, ctx.Err()
	case broken:
		return o, fmt.Errorf("%w:\n%s", errBuild, o.output)
	case waitErr != nil && o.failed == "":
		return o, fmt.Errorf("go test: %w\n%s", waitErr, o.output)
	case o.failed == "" && o.missed != "":
		return o, fmt.Errorf("there is no test %s: go %s", o.missed, strings.Join(g.args(), " "))
	}
	return o, nil
}

// read follows the events up to the first failure. tests are expected to run.
func (o *outcome) read(r io.Reader, tests []string) (log string, broken bool) {
	var b strings.Builder
	seen := map[string]bool{}
	o.took = map[string]time.Duration{}
	defer func() {
		for _, name := range tests {
			if !seen[name] {
				o.missed = name
			}
		}
	}()
	hangs := false
	running := ""
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		b.WriteString(e.Output)
		switch e.Action {
		case "run":
			running = e.Test
			seen[e.Test] = true
		case "output":
			hangs = hangs || strings.HasPrefix(e.Output, "panic: test timed out")
		case "build-fail":
			broken = true
		case "pass":
			if e.Test != "" {
				o.ran++
				o.took[e.Test] = time.Duration(e.Elapsed * float64(time.Second))
			}
		case "fail":
			if broken {
				return b.String(), true
			}
			if o.failed = e.Test; o.failed == "" {
				if o.failed = running; o.failed == "" {
					o.failed = e.Package
				}
			}
			if hangs {
				o.failed += " (hangs)"
			}
			o.ran++
			return b.String(), false
		}
	}
	return b.String(), broken
}

// tail returns the last lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// dependents returns, by folder, the packages of this module whose tests see it.
func dependents(ctx context.Context) (map[string][]string, error) {
	const format = `{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{end}}`
	cmd := exec.CommandContext(ctx, "go", "list", "-test", "-tags=firq_failpoints", "-f", format, "./...")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	sees := map[string]map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		pkg := words[0]
		for _, dep := range words {
			dep = strings.TrimSuffix(dep, ".test")
			if !strings.HasPrefix(dep, module) {
				continue
			}
			if sees[dep] == nil {
				sees[dep] = map[string]bool{}
			}
			sees[dep][pkg] = true
		}
	}
	all := map[string][]string{}
	for dep, pkgs := range sees {
		dir := strings.TrimPrefix(strings.TrimPrefix(dep, module), "/")
		for pkg := range pkgs {
			all[dir] = append(all[dir], pkg)
		}
		slices.Sort(all[dir])
	}
	return all, nil
}

const module = "github.com/firq-go/firq"
