package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// nothing is the error where no cell, contestant and metric is on both sides. It says by what
// the two sides miss each other: scenarios, how they were run, or contestants.
func nothing(before, after []*report.File, only []string) error {
	olds, news := cellsOf(before), cellsOf(after)
	scenario := func(c *suite.Cell) string { return c.Scenario.Name }
	theirs := distinct(news, scenario)
	var why []string
	for _, name := range distinct(olds, scenario) {
		if !slices.Contains(theirs, name) {
			continue
		}
		a, b := ofScenario(olds, name), ofScenario(news, name)
		was, is := distinct(a, variant), distinct(b, variant)
		if slices.ContainsFunc(was, func(v string) bool { return slices.Contains(is, v) }) {
			why = append(why, fmt.Sprintf("%s has %s in the old file and %s in the new one (or other metrics)",
				name, list(contestants(a)), list(contestants(b))))
			continue
		}
		why = append(why, fmt.Sprintf("%s was run with %s, and then with %s", name, list(was), list(is)))
	}
	if len(why) == 0 {
		why = append(why, fmt.Sprintf("the old file has the scenarios %s, the new one %s", list(distinct(olds, scenario)), list(theirs)))
	}
	said := strings.Join(why, "; ")
	if len(only) > 0 {
		said += fmt.Sprintf("; of contestants only %s were asked for (--contestants)", list(only))
	}
	return fmt.Errorf("there is nothing to compare: %s", said)
}

func cellsOf(files []*report.File) (all []*suite.Cell) {
	for _, f := range files {
		cells := f.Cells()
		for i := range cells {
			all = append(all, &cells[i])
		}
	}
	return all
}

func ofScenario(cells []*suite.Cell, name string) (some []*suite.Cell) {
	for _, c := range cells {
		if c.Scenario.Name == name {
			some = append(some, c)
		}
	}
	return some
}

func distinct(cells []*suite.Cell, of func(*suite.Cell) string) (all []string) {
	for _, c := range cells {
		if s := of(c); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// list writes names as a sentence does.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
