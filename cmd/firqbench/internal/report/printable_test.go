package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"":                     "",
		"acme":                 "acme",
		`C:\tmp\x "a" 'b'`:     `C:\tmp\x "a" 'b'`,
		"Zürich, 東京, ё, é, 🐎":  "Zürich, 東京, ё, é, 🐎",
		"\x1b[31mred":          `\x1b[31mred`,
		"ding\a":               `ding\a`,
		"a\nb\r\tc\x00\x7f":    `a\nb\r\tc\x00\x7f`,
		"c1 \u009b31m\u0085":   `c1 \u009b31m\u0085`,
		"\u202egnp.exe\u2066":  `\u202egnp.exe\u2066`,
		"a\u200bb\ufeff\u2028": `a\u200bb\ufeff\u2028`,
		"\xff\xfe, \x9b31m":    `\xff\xfe, \x9b31m`,
		"cut \xe6\x9d":         `cut \xe6\x9d`,
		"\ufffd stays":         "\ufffd stays",
		"\U000e0041":           `\U000e0041`,
	} {
		if got := Printable(s); got != want || Printable(got) != got {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

// hostile is a name that would turn the terminal red, ring, run backwards and
// begin a line.
const hostile = "\x1b[31m\a\u009b\u202e\xff\nx"

const tame = `\x1b[31m\a\u009b\u202e\xff\nx`

// wantTame fails if text has more than text in it, or not the name.
func wantTame(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range strings.ReplaceAll(text, "\n", "") {
		if !unicode.IsPrint(r) || !utf8.ValidString(text) {
			t.Errorf("%s: %q in %q", what, r, text)
			return
		}
	}
	if !strings.Contains(text, tame) || strings.Contains(text, "\nx") {
		t.Errorf("%s: %s is missing in\n%s", what, tame, text)
	}
}

type named string

func (n named) String() string { return "<" + string(n) + ">" }

func TestPrintf(t *testing.T) {
	var b strings.Builder
	Printf(&b, "%s|%v|%q|%-30s|%v|%v|%5.1f|%3d|%.3s|%d%%\n", hostile, hostile, hostile, hostile, named(hostile), []string{hostile}, 1.25, 7, "abcdef", 5)
	wantTame(t, "Printf", b.String())
	if want := fmt.Sprintf("|%-30s|<%s>|[%s]|  1.2|  7|abc|5%%\n", tame, tame, tame); !strings.HasSuffix(b.String(), want) {
		t.Errorf("got %s, want %s at the end", &b, want)
	}
	b.Reset()
	Printf(&b, "%v\n", errors.Join(errors.New("a"), fmt.Errorf("b: %w", errors.New("\x1b"))))
	if b.String() != "a; b: \\x1b\n" {
		t.Errorf("got %q", &b)
	}
}

// Everything that a result file may hold is tame in every table.
func TestTablesAreTame(t *testing.T) {
	s := scenario.All()[0]
	s.Name, s.About = hostile, hostile
	all := cells(s)
	for i := range all {
		all[i].Variant.Arrivals, all[i].Errors = hostile, []string{hostile}
		all[i].Point = &suite.Point{GOMAXPROCS: 2}
		for j := range all[i].Runs {
			if all[i].Runs[j].Contestant == contest.Channel {
				all[i].Runs[j].Contestant = hostile
			}
		}
	}
	r := replayed()
	r.Trace.Name, r.Results[0].Contestant, r.Results[0].Groups[2].Name = hostile, hostile, hostile
	env := machine.Env{Command: hostile, CPU: hostile, Commit: "\x1b", Kernel: hostile, GoVersion: hostile, OS: hostile, Load: hostile}
	for what, write := range map[string]func(b *strings.Builder){
		"a table": func(b *strings.Builder) {
			tab := NewTable()
			tab.AppendHeader(table.Row{hostile})
			tab.AppendRow(table.Row{hostile, 1})
			Print(b, tab.Render())
		},
		"Scenario":   func(b *strings.Builder) { Scenario(b, all, nil) },
		"Sweep":      func(b *strings.Builder) { Sweep(b, &sweep.Report{Cells: all}) },
		"Env":        func(b *strings.Builder) { Env(b, env) },
		"ReplayPlan": func(b *strings.Builder) { ReplayPlan(b, r.Trace, r.Plan) },
		"Replay":     func(b *strings.Builder) { Replay(b, r) },
		"List": func(b *strings.Builder) {
			_ = List(b, []scenario.Scenario{s}, []contest.Contestant{{Name: hostile}}, nil)
		},
		"Progress":  func(b *strings.Builder) { NewProgress(b, b, nil).Before(1, 2, &all[0], hostile, 0) },
		"ReplayBar": func(b *strings.Builder) { NewReplayBar(b, 5).Show(hostile, 1) },
		"a failure": func(b *strings.Builder) { Printf(b, "%v", errors.New(strings.ReplaceAll(hostile, "\n", `\n`))) },
	} {
		var b strings.Builder
		write(&b)
		text := b.String()
		if what == "Scenario" || what == "Sweep" { // errors that were joined are put on one line
			if !strings.Contains(text, strings.ReplaceAll(tame, `\n`, "; ")) {
				t.Errorf("%s: no failure in\n%s", what, text)
			}
		}
		wantTame(t, what, text)
	}
}
