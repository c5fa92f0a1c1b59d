package page

import (
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/internal/bench/contest"
)

// What a contestant did whose requests arrived late is on no chart, and the page says so. The
// file stays as it is.
func TestLateReplay(t *testing.T) {
	f := replayed(8, true)
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
