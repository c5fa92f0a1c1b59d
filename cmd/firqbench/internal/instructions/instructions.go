// Package instructions counts what a task takes in instructions: scheduler, driver and Go's
// own goroutine switches, by callgrind, on one thread at a time.
//
// A run of the given number of tasks is counted whole, and so is a run of more. What both have, the start of
// the program and the first sight of the tenants, is in neither's difference. A machine that is
// busy counts the same, but for what Go does by the clock.
package instructions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Section is what "firqbench instructions" counted. The runs of its cells have
// InstructionsPerTask and nothing else.
type Section struct {
	Tool   string       `json:"tool"`
	Fewer  int          `json:"fewer_tasks"` // of the two runs
	More   int          `json:"more_tasks"`
	Rounds int          `json:"rounds"`
	Cells  []suite.Cell `json:"cells"`
}

// Plan is what to count.
type Plan struct {
	Scenarios   []scenario.Scenario
	Contestants []contest.Contestant
	Fewer, More int
	Rounds      int
}

// Check returns an error that names the flag whose value makes no sense.
func (p *Plan) Check() error {
	switch {
	case p.Fewer < 1 || p.More <= p.Fewer || p.More > 10_000_000:
		return fmt.Errorf("--tasks: %d,%d, must be two numbers, the second one larger and at most 10000000", p.Fewer, p.More)
	case p.Rounds < 1 || p.Rounds > 1000:
		return fmt.Errorf("--rounds: %d, must be 1 to 1000", p.Rounds)
	case len(p.Scenarios) == 0:
		return errors.New("no scenario is left")
	}
	for i := range p.Scenarios {
		if !p.Scenarios[i].CanCount() {
			return fmt.Errorf("%s goes by the clock: its instructions depend on how fast the machine is", p.Scenarios[i].Name)
		}
	}
	return nil
}

// takesPart: channel-0 is a contestant of ping_pong alone.
func takesPart(c *contest.Contestant, s *scenario.Scenario) bool {
	return !c.WakeOnly || s.Shape == scenario.PingPong
}

// Counter counts the instructions of a process that runs the given number of tasks.
type Counter func(ctx context.Context, scenario, contestant string, tasks int) (uint64, error)

// Run counts everything. before is called for each pair of runs.
func (p *Plan) Run(ctx context.Context, tool string, count Counter, before func(done, total int, scenario, contestant string)) (*Section, error) {
	s := &Section{Tool: tool, Fewer: p.Fewer, More: p.More, Rounds: p.Rounds}
	done, total := 0, 0
	for i := range p.Scenarios {
		for k := range p.Contestants {
			if takesPart(&p.Contestants[k], &p.Scenarios[i]) {
				total += p.Rounds
			}
		}
	}
	for i := range p.Scenarios {
		cell := suite.Cell{Scenario: p.Scenarios[i]}
		for round := range p.Rounds {
			for k := range p.Contestants {
				c := &p.Contestants[k]
				if !takesPart(c, &cell.Scenario) {
					continue
				}
				before(done, total, cell.Scenario.Name, c.Name)
				done++
				fewer, err := count(ctx, cell.Scenario.Name, c.Name, p.Fewer)
				if err != nil {
					return nil, err
				}
				more, err := count(ctx, cell.Scenario.Name, c.Name, p.More)
				if err != nil {
					return nil, err
				}
				run := suite.Run{Contestant: c.Name, Round: round}
				run.InstructionsPerTask = (float64(more) - float64(fewer)) / float64(p.More-p.Fewer)
				cell.Runs = append(cell.Runs, run)
			}
		}
		s.Cells = append(s.Cells, cell)
	}
	return s, nil
}

// Tool returns the version of valgrind.
func Tool(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "valgrind", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("valgrind is needed (apt-get install valgrind): %w", err)
	}
	return "callgrind, " + strings.TrimSpace(string(out)), nil
}

// Callgrind counts by starting this program again, with the arguments that child returns for
// a run, under callgrind.
func Callgrind(program string, child func(scenario, contestant string, tasks int) []string) Counter {
	return func(ctx context.Context, scenario, contestant string, tasks int) (uint64, error) {
		args := append([]string{"--tool=callgrind", "--callgrind-out-file=/dev/null", program}, child(scenario, contestant, tasks)...)
		cmd := exec.CommandContext(ctx, "valgrind", args...)
		// What Go does by the clock, or when memory is short, would differ from run to run.
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return 0, fmt.Errorf("%s, %s, %d tasks: %w\n%s", scenario, contestant, tasks, err, &said)
		}
		return parse(said.String())
	}
}

var collected = regexp.MustCompile(`(?m)^==\d+== Collected : (\d+)`)

// parse finds the count in what callgrind says at the end.
func parse(said string) (uint64, error) {
	m := collected.FindStringSubmatch(said)
	if m == nil {
		return 0, fmt.Errorf("callgrind says no count:\n%s", said)
	}
	return strconv.ParseUint(m[1], 10, 64)
}

// Child is the run that is counted.
func Child(ctx context.Context, s scenario.Scenario, c contest.Contestant, tasks int) error {
	runtime.GOMAXPROCS(1)
	if s.Deep { // both runs have this many more
		tasks += s.Window
	}
	_, err := load.Run(ctx, load.Spec{Scenario: s, Contestant: c, Tasks: tasks, Probe: -1})
	return err
}

// Median returns the count of a contestant in a scenario, and whether there is one.
func (s *Section) Median(scenario, contestant string) (float64, bool) {
	for i := range s.Cells {
		if s.Cells[i].Scenario.Name != scenario {
			continue
		}
		for _, l := range s.Cells[i].Summarize(contest.Reference) {
			if l.Contestant == contestant {
				return l.Instructions, l.Instructions > 0
			}
		}
	}
	return 0, false
}
