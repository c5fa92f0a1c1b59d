package page

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/internal/proof/race"
)

// A page of ten files is at most 1.5 MB large: of the latest commit's runs with the replays, of
// ten times the largest from one place, and from ten places; and so is one of every committed
// file, however many there are. Where there is no room for all, the page says what is left out,
// and a page of that alone has it.
func TestSize(t *testing.T) {
	race.OneGoroutine(t)
	const most = 1_500_000
	paths, err := filepath.Glob("../../../../results/run-*.json")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d results, %v", len(paths), err)
	}
	replays, _ := filepath.Glob("../../../../results/replay-*.json")
	all, err := Read(append(paths, replays...))
	if err != nil {
		t.Fatal(err)
	}
	runs, rest := all[:len(paths)], all[len(paths):]
	var latest []File
	largest := runs[len(runs)-1] // names hold dates
	for _, f := range runs {
		if f.Env.Commit == largest.Env.Commit {
			latest = append(latest, f)
		}
		if len(f.Cells()) > len(largest.Cells()) {
			largest = f
		}
	}
	latest = append(latest, rest...)
	latest = latest[:min(10, len(latest))]
	repeated := func(change func(f *report.File, i int)) (ten []File) {
		for i := range 10 {
			f := *largest.File
			change(&f, i)
			ten = append(ten, File{fmt.Sprintf("%d.json", i), &f})
		}
		return ten
	}
	const left = "Left out, because the page would become too large"
	for name, c := range map[string]struct {
		files []File
		whole bool
	}{
		"the latest commit": {latest, true},
		"one place":         {repeated(func(f *report.File, i int) { f.Env.Load = fmt.Sprint(i) }), true},
		"ten places":        {repeated(func(f *report.File, i int) { f.Env.Commit = fmt.Sprint(i, f.Env.Commit) }), false},
	} {
		text := write(t, c.files)
		if len(text) > most || len(text) < 300_000 {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		if whole := !strings.Contains(text, left); whole != c.whole {
			t.Errorf("%s: everything is shown: %t", name, whole)
		}
	}
	for name, files := range map[string][]File{"all files": all, "all files, three times": slices.Concat(all, all, all)} {
		if text := write(t, files); len(text) > most {
			t.Errorf("%s: %d bytes", name, len(text))
		}
	}
	var b strings.Builder
	only := Only{Sections: []string{"latency"}, Scenarios: []string{"contended"}, Contestants: []string{"lockfree", "baseline-1"}}
	if err := Write(&b, repeated(func(f *report.File, i int) { f.Env.Commit = fmt.Sprint(i, f.Env.Commit) }), only); err != nil || strings.Contains(b.String(), left) || strings.Count(b.String(), "<figure ") != 40 {
		t.Errorf("%d charts of two contestants in one scenario, %v", strings.Count(b.String(), "<figure "), err)
	}
}
