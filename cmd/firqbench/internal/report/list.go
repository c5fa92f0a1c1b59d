package report

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// List describes what can be run.
func List(w io.Writer, scenarios []scenario.Scenario, run, replay []contest.Contestant) error {
	var b strings.Builder
	b.WriteString("Scenarios of firqbench run\n\n")
	for _, s := range scenarios {
		Printf(&b, "  %s: %s\n", s.Name, s.About)
		for line := range strings.Lines(text.WrapSoft(s.More+" ("+facts(s)+")", 90)) {
			Printf(&b, "      %s\n", strings.TrimSpace(line))
		}
	}
	for _, part := range []struct {
		title string
		list  []contest.Contestant
	}{{"Contestants of firqbench run", run}, {"Contestants of firqbench replay", replay}} {
		Printf(&b, "\n%s\n\n", part.title)
		for _, c := range part.list {
			Printf(&b, "  %-17s %s\n", c.Name, c.About)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
