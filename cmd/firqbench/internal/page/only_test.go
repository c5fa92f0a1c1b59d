package page

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// With Only the page has these sections of these scenarios and contestants, and the files
// stay as they were.
func TestOnly(t *testing.T) {
	files := everything()
	cells, runs, results := len(files[0].Run.Cells), len(files[0].Run.Cells[0].Runs), len(files[3].Replay.Results)
	page := func(words ...string) string {
		only, err := ParseOnly(words)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, files, only); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := page("answer", "quiet")
	for title, want := range map[string]bool{"The answer": true, "Queue time of quiet tenants": true, "Latency": false, "Throughput": false, "Environment and commands": true} {
		if strings.Contains(text, ">"+title+"</h2>") != want {
			t.Errorf("%s: want %t", title, want)
		}
	}
	text = page("scenario=zipf", "contestant=channel", "contestant=lockfree", "latency", "throughput", "quiet")
	cs := charts(text)
	if len(cs) < 8 {
		t.Errorf("%d charts", len(cs))
	}
	for _, c := range cs {
		if !slices.Equal(c.series, []string{"lockfree", "channel"}) || !strings.HasPrefix(c.title, "zipf") && !strings.HasPrefix(c.title, "Throughput by scenario") {
			t.Errorf("%s: %q", c.title, c.series)
		}
	}
	if !strings.Contains(text, "No file is a replay") {
		t.Error("a replay is of no scenario")
	}
	for _, c := range charts(page("contestant=fifo")) {
		if !slices.Equal(c.legend, []string{"fifo"}) && !slices.Equal(c.legend, []string{"asked for", "fifo"}) {
			t.Errorf("%s: %q", c.title, c.legend)
		}
	}
	if len(files[0].Run.Cells) != cells || len(files[0].Run.Cells[0].Runs) != runs || len(files[3].Replay.Results) != results {
		t.Error("files have changed")
	}
}

// What is not known is named, with what there is.
func TestOnlyRefuses(t *testing.T) {
	const filters = "contestant=NAME and scenario=NAME"
	for _, c := range []struct{ word, want string }{
		{"speed", `unknown section "speed"; there are answer, throughput, fairness, rate, latency, service, quiet, and the filters ` + filters},
		{"tenant=1", `unknown filter "tenant"; there are ` + filters},
	} {
		if _, err := ParseOnly([]string{"answer", c.word}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.word, err, c.want)
		}
	}
	for _, c := range []struct {
		word, want string
		files      []File
	}{
		{"scenario=fast", `unknown scenario "fast"; the files have contended, zipf`, everything()[2:4]},
		{"contestant=mine", `unknown contestant "mine"; the files have lockfree, baseline-1, baseline-sharded, channel, mutex-simple, fifo`, everything()[2:4]},
		{"scenario=zipf", `unknown scenario "zipf"; the files have none`, everything()[3:4]},
	} {
		only, err := ParseOnly([]string{c.word})
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(&bytes.Buffer{}, c.files, only); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.word, err, c.want)
		}
	}
}
