package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// place is where files were measured: the same machine, system, Go, commit and share of the
// processors. Files of one place are repetitions of each other, files of two are not to be
// compared.
type place struct {
	name string // short, and no other place of the page has it where something was run
	env  machine.Env
	ran  bool // something else than a replay, which titles do not name
}

// where says what must be the same for two files to be of one place.
func where(e machine.Env) string {
	e.Start, e.Command, e.Load = time.Time{}, "", ""
	return fmt.Sprintf("%+v", e)
}

// whereAtAll is the same for places that differ in the number of processors alone.
func whereAtAll(e machine.Env) string {
	e.GOMAXPROCS, e.Pinned = 0, nil
	return where(e)
}

// processors returns how many Go could use.
func processors(e machine.Env) int {
	n := min(e.GOMAXPROCS, e.Cores)
	if p := len(e.Pinned); p > 0 {
		n = min(n, p)
	}
	return n
}

// findPlaces finds out which files were measured in the same place. Those with most results
// come first.
func (b *builder) findPlaces() {
	cells, known := map[string]int{}, map[string]int{}
	for _, f := range b.files {
		k := where(f.Env)
		if cells[k] += len(f.Cells()); known[k] == 0 {
			b.places = append(b.places, place{env: f.Env})
			known[k] = len(b.places)
		}
	}
	slices.SortStableFunc(b.places, func(p, q place) int { return cells[where(q.env)] - cells[where(p.env)] })
	for i := range b.places {
		k := where(b.places[i].env)
		known[k], b.places[i].ran = i, cells[k] > 0
	}
	for _, f := range b.files {
		b.placeOf = append(b.placeOf, known[where(f.Env)])
	}
	for i := range b.places {
		e := &b.places[i].env
		name := strings.TrimSpace(strings.NewReplacer("(R)", "", "(TM)", "").Replace(e.CPU))
		if name == "" {
			name = "unknown processor"
		}
		name += ", " + plural(processors(*e), "core")
		if e.Quota > 0 {
			name += fmt.Sprintf(", quota %d%%", e.Quota)
		}
		b.places[i].name = name
	}
	for _, detail := range []func(*machine.Env) string{
		func(e *machine.Env) string { return "commit " + commitOf(e) },
		func(e *machine.Env) string { return e.GoVersion },
		func(e *machine.Env) string { return "kernel " + e.Kernel },
		func(e *machine.Env) string { return fmt.Sprintf("pinned to %v", e.Pinned) },
		func(e *machine.Env) string { return fmt.Sprintf("%s/%s", e.OS, e.Arch) },
		func(e *machine.Env) string { return "GOGC " + e.GOGC },
	} {
		b.tellApart(detail)
	}
	b.tellApart(func(e *machine.Env) string { return fmt.Sprintf("place %d", 1+known[where(*e)]) })
}

// tellApart adds a detail to the names of places that are called the same and differ in it.
func (b *builder) tellApart(detail func(*machine.Env) string) {
	details := map[string][]string{} // by name
	for i := range b.places {
		p := &b.places[i]
		if d := detail(&p.env); p.ran && !slices.Contains(details[p.name], d) {
			details[p.name] = append(details[p.name], d)
		}
	}
	for i := range b.places {
		if p := &b.places[i]; p.ran && len(details[p.name]) > 1 {
			p.name += ", " + detail(&p.env)
		}
	}
}

func commitOf(e *machine.Env) string {
	commit := e.Commit[:min(len(e.Commit), 7)]
	if e.Modified {
		commit += " (modified)"
	}
	return commit
}

// at returns the name of a place for a title; "" where all that was run, was in one place.
func (b *builder) at(place int) string {
	for _, g := range b.groups {
		if g.place != b.groups[0].place {
			return ", " + b.places[place].name
		}
	}
	return ""
}

// filesOf returns the names of a place's files for which use is true.
func (b *builder) filesOf(place int, use func(File) bool) (names []string) {
	for i, f := range b.files {
		if b.placeOf[i] == place && use(f) {
			names = append(names, b.names[i])
		}
	}
	return names
}

// group is all that was measured of one scenario in one variant in one place.
type group struct {
	place    int
	files    []int
	sweep    bool
	scenario scenario.Scenario
	variant  suite.Variant
	point    *suite.Point
	cells    []*suite.Cell
}

// findGroups pools the cells of all files.
func (b *builder) findGroups() {
	known := map[string]*group{}
	for i, f := range b.files {
		cells := f.Cells()
		for j := range cells {
			c := &cells[j]
			k := fmt.Sprintf("%d %t %+v %+v", b.placeOf[i], f.Sweep != nil, c.Scenario, c.Variant)
			if p := c.Point; p != nil {
				k += fmt.Sprintf(" %d %d", p.GOMAXPROCS, len(p.Pinned))
			}
			g := known[k]
			if g == nil {
				g = &group{place: b.placeOf[i], sweep: f.Sweep != nil, scenario: c.Scenario, variant: c.Variant, point: c.Point}
				known[k] = g
				b.groups = append(b.groups, g)
			}
			g.cells, g.files = append(g.cells, c), append(g.files, i)
		}
	}
	slices.SortStableFunc(b.groups, func(g, h *group) int { return g.place - h.place })
}

// runs returns all rounds of a contestant.
func (g *group) runs(contestant string) (rs []*suite.Run) {
	for _, c := range g.cells {
		for i := range c.Runs {
			if r := &c.Runs[i]; r.Contestant == contestant {
				rs = append(rs, r)
			}
		}
	}
	return rs
}

// contestants returns the names in order of first appearance.
func (g *group) contestants() (names []string) {
	for _, c := range g.cells {
		for i := range c.Runs {
			if name := c.Runs[i].Contestant; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// cores returns how many processors Go could use.
func (b *builder) cores(g *group) int {
	if g.point != nil {
		return cores(g.point)
	}
	return processors(b.places[g.place].env)
}

func cores(p *suite.Point) int {
	n := p.GOMAXPROCS
	if k := len(p.Pinned); k > 0 {
		n = min(n, k)
	}
	return n
}

// setting says where in a sweep a group is, "" for others.
func (g *group) setting() string {
	if g.point == nil {
		return ""
	}
	s := g.scenario
	return fmt.Sprintf(", %s, %s, %s, %s", plural(cores(g.point), "core"), plural(s.Producers, "producer"), plural(s.Consumers, "consumer"), plural(s.Tenants, "tenant"))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
