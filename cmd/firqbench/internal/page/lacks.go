package page

import (
	"slices"
	"strings"
)

// lacks collects what is to be said of files or rows: those of which the same is said are
// named together.
type lacks struct {
	order []string
	names map[string][]string
}

func (l *lacks) add(name, what string) {
	if l.names == nil {
		l.names = map[string][]string{}
	}
	if l.names[what] == nil {
		l.order = append(l.order, what)
	}
	if !slices.Contains(l.names[what], name) {
		l.names[what] = append(l.names[what], name)
	}
}

func (l *lacks) sentences() (all []string) {
	for _, what := range l.order {
		all = append(all, strings.Join(l.names[what], ", ")+": "+what)
	}
	return all
}

// note is one sentence: what is said of all but a few, then what is said of those.
func (l *lacks) note() string {
	if len(l.order) == 0 {
		return ""
	}
	order := slices.Clone(l.order)
	slices.SortStableFunc(order, func(a, b string) int { return len(l.names[b]) - len(l.names[a]) })
	said := []string{"Marks: " + order[0]}
	for _, what := range order[1:] {
		said = append(said, strings.Join(l.names[what], ", ")+": "+what)
	}
	return strings.Join(said, "; ") + "."
}
