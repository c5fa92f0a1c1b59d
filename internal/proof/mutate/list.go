package main

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

// mutant is one planted fault.
type mutant struct {
	name    string
	why     string // what is wrong then
	in      string // a package or a file, and what it declares
	changes []change
	killers []killer // expected, tried in this order

	file   string // from the root of the module, see plant
	faulty string // its text with the fault
	wrong  error  // why there is none
}

// change is code that occurs exactly once, and what comes in its place.
type change struct{ old, new string }

// killer is a test of one package.
type killer struct {
	pkg, test             string
	race, schedules, long bool
}

func (k killer) String() string {
	s := how(k.pkg, k.race, k.schedules) + " " + k.test
	if k.long {
		s += ", without -short"
	}
	return s
}

//go:embed mutants/*.txt
var lists embed.FS

// load reads all lists, and makes the faulty files from the code in root.
func load(root string) ([]mutant, error) {
	files, err := lists.ReadDir("mutants")
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, f := range files {
		text, err := lists.ReadFile(path.Join("mutants", f.Name()))
		if err != nil {
			return nil, err
		}
		some, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("mutants/%s:%w", f.Name(), err)
		}
		all = append(all, some...)
	}
	code := sources{root: root, read: map[string][]source{}}
	for i := range all {
		all[i].wrong = all[i].plant(&code)
	}
	return all, nil
}

// parse reads a list:
//
//	== name | what is wrong then
//	in lockfree shard.serve | TestName/subtest [race] [schedules] [long] | ./other TestName
//	- code that occurs in shard.serve exactly once
//	+ the code in its place, maybe none
//
// A test is in the package of the fault unless a package precedes its name. race and
// schedules say how the test is built, long that it runs without -short. Before the first
// mutant there may be any text.
func parse(text string) (all []mutant, err error) {
	var m *mutant
	replaces := false
	n := 0
	for line := range strings.Lines(text) {
		n++
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch {
		case strings.HasPrefix(line, "== "):
			name, why, _ := strings.Cut(rest, " | ")
			all = append(all, mutant{name: name, why: why})
			m, replaces = &all[len(all)-1], false
		case m == nil:
			// What the file is about.
		case word == "-":
			if replaces || len(m.changes) == 0 {
				m.changes = append(m.changes, change{})
				replaces = false
			}
			m.changes[len(m.changes)-1].old += rest + "\n"
		case word == "+" && len(m.changes) > 0:
			replaces = true
			c := &m.changes[len(m.changes)-1]
			if c.new != "" {
				c.new += "\n"
			}
			c.new += strings.TrimPrefix(strings.TrimRight(line[1:], "\n"), " ")
		case word == "":
		case word == "in":
			parts := strings.Split(rest, " | ")
			m.in = parts[0]
			for _, test := range parts[1:] {
				k, err := parseKiller(m.pkg(), strings.Fields(test))
				if err != nil {
					return nil, fmt.Errorf("%d: %w", n, err)
				}
				m.killers = append(m.killers, k)
			}
		default:
			return nil, fmt.Errorf("%d: what is %q?", n, word)
		}
	}
	for i := range all {
		m := &all[i]
		if m.why == "" || m.in == "" || len(m.changes) == 0 || len(m.killers) == 0 ||
			slices.ContainsFunc(m.changes, func(c change) bool { return len(tokens(c.old, false)) == 0 }) {
			return nil, fmt.Errorf(" %s: incomplete", m.name)
		}
	}
	return all, nil
}

// pkg returns the package that the fault is in, as the go command wants it.
func (m *mutant) pkg() string {
	place, _, _ := strings.Cut(m.in, " ")
	switch {
	case place == ".":
		return "."
	case isFile(place):
		place = path.Dir(place)
	}
	return "./" + place
}

func parseKiller(pkg string, words []string) (k killer, err error) {
	if len(words) > 0 && !strings.HasPrefix(words[0], "Test") {
		pkg, words = words[0], words[1:]
	}
	if len(words) == 0 || !strings.HasPrefix(words[0], "Test") {
		return k, fmt.Errorf("a test is TestName or ./package TestName, not %q", words)
	}
	k.pkg, k.test = pkg, words[0]
	for _, w := range words[1:] {
		switch w {
		case "race":
			k.race = true
		case "schedules":
			k.schedules = true
		case "long":
			k.long = true
		default:
			return k, fmt.Errorf("what is %q?", w)
		}
	}
	return k, nil
}
