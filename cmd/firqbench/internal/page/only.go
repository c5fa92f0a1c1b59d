package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

// Only is what a page is to be about. An empty list means all.
type Only struct {
	Sections, Contestants, Scenarios []string
}

// The filters that ParseOnly knows.
const (
	contestantIs = "contestant"
	scenarioIs   = "scenario"
)

// ParseOnly reads words, each of which is the name of a section, contestant=NAME or
// scenario=NAME.
func ParseOnly(words []string) (o Only, err error) {
	for _, w := range words {
		key, value, filter := strings.Cut(w, "=")
		switch {
		case filter && key == contestantIs:
			o.Contestants = append(o.Contestants, value)
		case filter && key == scenarioIs:
			o.Scenarios = append(o.Scenarios, value)
		case filter:
			return Only{}, fmt.Errorf("unknown filter %q; there are %s=NAME and %s=NAME", key, contestantIs, scenarioIs)
		case !slices.Contains(Sections(), w):
			return Only{}, fmt.Errorf("unknown section %q; there are %s, and the filters %s=NAME and %s=NAME", w, strings.Join(Sections(), ", "), contestantIs, scenarioIs)
		default:
			o.Sections = append(o.Sections, w)
		}
	}
	return o, nil
}

// Check returns an error that names what o asks for and files do not have.
func (o Only) Check(files []File) error {
	var contestants, scenarios []string
	add := func(to *[]string, name string) {
		if !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	for _, f := range files {
		for _, c := range f.Cells() {
			add(&scenarios, c.Scenario.Name)
			for _, r := range c.Runs {
				add(&contestants, r.Contestant)
			}
		}
		if f.Replay != nil {
			for _, r := range f.Replay.Results {
				add(&contestants, r.Contestant)
			}
		}
	}
	for _, asked := range []struct {
		what      string
		names, of []string
	}{{contestantIs, o.Contestants, contestants}, {scenarioIs, o.Scenarios, scenarios}} {
		for _, name := range asked.names {
			if slices.Contains(asked.of, name) {
				continue
			}
			if len(asked.of) == 0 {
				return fmt.Errorf("unknown %s %q; the files have none", asked.what, name)
			}
			return fmt.Errorf("unknown %s %q; the files have %s", asked.what, name, strings.Join(asked.of, ", "))
		}
	}
	return nil
}

// choose returns copies of files that have only the results which o asks for. A file without any stays, with its
// facts. The originals do not change.
func (o Only) choose(files []File) ([]File, error) {
	if err := o.Check(files); err != nil {
		return nil, err
	}
	if len(o.Contestants)+len(o.Scenarios) == 0 {
		return files, nil
	}
	chosen := slices.Clone(files)
	for i, f := range files {
		part := *f.File
		if f.Run != nil {
			part.Run = &report.RunSection{}
			*part.Run = *f.Run
			part.Run.Cells = o.cells(f.Run.Cells)
		}
		if f.Sweep != nil {
			part.Sweep = &sweep.Report{}
			*part.Sweep = *f.Sweep
			part.Sweep.Cells = o.cells(f.Sweep.Cells)
		}
		if f.Replay != nil {
			r := *f.Replay
			r.Results = nil
			for _, res := range f.Replay.Results {
				if len(o.Scenarios) == 0 && takes(o.Contestants, res.Contestant) { // a replay has no scenario
					r.Results = append(r.Results, res)
				}
			}
			if part.Replay = &r; len(r.Results) == 0 {
				part.Replay = nil
			}
		}
		chosen[i].File = &part
	}
	return chosen, nil
}

func (o Only) cells(all []suite.Cell) (chosen []suite.Cell) {
	for _, c := range all {
		if !takes(o.Scenarios, c.Scenario.Name) {
			continue
		}
		runs := c.Runs
		c.Runs = nil
		for _, r := range runs {
			if takes(o.Contestants, r.Contestant) {
				c.Runs = append(c.Runs, r)
			}
		}
		chosen = append(chosen, c)
	}
	return chosen
}

func takes(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }
