package main

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

// mutant is one planted fault.
type mutant struct {
	name    string
	why     string // what is wrong then
	file    string // from the root of the module
	old     string // occurs in it exactly once
	new     string
	killers []killer // expected, tried in this order
}

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

// load reads all lists.
func load() ([]mutant, error) {
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
	return all, nil
}

// parse reads a list:
//
//	== name
//	why   what is wrong then
//	file  lockfree/enqueue.go
//	test  ./lockfree TestName/subtest [race] [schedules] [long]
//	-- old
//	lines that occur in the file exactly once
//	-- new
//	the lines in their place, maybe none
//
// There may be several lines test, and before the first mutant any text. race and
// schedules say how the test is built, long that it runs without -short.
func parse(text string) (all []mutant, err error) {
	var m *mutant
	var part *string // old, new or nil: the head
	n := 0
	for line := range strings.Lines(text) {
		n++
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch {
		case strings.HasPrefix(line, "== "):
			all = append(all, mutant{name: rest})
			m, part = &all[len(all)-1], nil
		case m == nil:
			// What the file is about.
		case line == "-- old\n":
			part = &m.old
		case line == "-- new\n":
			part = &m.new
		case part != nil:
			*part += line
		case word == "":
		case word == "why":
			m.why = rest
		case word == "file":
			m.file = rest
		case word == "test":
			k, err := parseKiller(strings.Fields(rest))
			if err != nil {
				return nil, fmt.Errorf("%d: %w", n, err)
			}
			m.killers = append(m.killers, k)
		default:
			return nil, fmt.Errorf("%d: what is %q?", n, word)
		}
	}
	for i := range all {
		m := &all[i]
		// The empty lines between two mutants belong to neither.
		m.old, m.new = trimEnd(m.old), trimEnd(m.new)
		if m.why == "" || m.file == "" || m.old == "" || m.old == m.new || len(m.killers) == 0 {
			return nil, fmt.Errorf(" %s: incomplete", m.name)
		}
	}
	return all, nil
}

// trimEnd leaves one newline at the end, of text that is not empty.
func trimEnd(s string) string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return ""
	}
	return s + "\n"
}

func parseKiller(words []string) (k killer, err error) {
	if len(words) < 2 || !strings.HasPrefix(words[1], "Test") {
		return k, fmt.Errorf("a test is ./package TestName, not %q", words)
	}
	k.pkg, k.test = words[0], words[1]
	for _, w := range words[2:] {
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

// plant returns the file with the fault in it.
func (m *mutant) plant(src string) (string, error) {
	if n := strings.Count(src, m.old); n != 1 {
		return "", fmt.Errorf("%s: its old text occurs %d times in %s", m.name, n, m.file)
	}
	return strings.Replace(src, m.old, m.new, 1), nil
}
