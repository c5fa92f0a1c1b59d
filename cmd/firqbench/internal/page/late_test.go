package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
)

// What a contestant did whose requests arrived late is on no chart, and the page says so. The
// file stays as it is.
func TestLateReplay(t *testing.T) {
	f := replayed(8)
	f.Replay.Plan.Speed = 60
	late := &f.Replay.Results[2]
	late.Lag.Max = 263 * time.Millisecond
	text := write(t, []File{{"r.json", f}})
	if want := "r.json: " + contest.Lockfree + " is left out, as requests arrived up to 263ms late"; !strings.Contains(text, want) {
		t.Errorf("%q is missing", want)
	}
	b := newBuilder([]File{{"r.json", f}})
	if n := len(b.files[0].Replay.Results); n != 3 || len(f.Replay.Results) != 4 {
		t.Errorf("%d results are shown, of %d", n, len(f.Replay.Results))
	}
}

// A page of files that were measured on a busy machine says so, where its figures are.
func TestBusyFiles(t *testing.T) {
	quiet, busyRun, busyReplay := answered(map[string][]float64{"contended": {2, 2, 2}}), answered(map[string][]float64{"contended": {2, 2, 2}}), replayed(8)
	for i := range busyRun.Run.Cells[0].Runs {
		busyRun.Run.Cells[0].Runs[i].Others = 0.58
	}
	busyReplay.Replay.Results[0].Others = 0.3
	b := newBuilder([]File{{"quiet.json", quiet}, {"run.json", busyRun}, {"replay.json", busyReplay}})
	if got := b.answer().Missing; !slices.Contains(got, "run.json: "+busy) {
		t.Errorf("%q", got)
	}
	if got := b.quiet().Missing; !slices.Contains(got, "replay.json: "+busy) {
		t.Errorf("%q", got)
	}
	if text := write(t, b.files); !strings.Contains(text, "58% of the machine") || !strings.Contains(text, "30% of the machine") {
		t.Error("the environment does not say how busy the machine was")
	}
}
