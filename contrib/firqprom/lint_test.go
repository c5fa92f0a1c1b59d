package firqprom_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/firq-go/firq/contrib/firqprom"
)

// What promlint has to say about the names, which are given. Anything else that
// it says is ours to mend.
var complaints = []struct{ problem, why string }{
	{"firq_queue_time_ns: metric names should not contain abbreviated units",
		"the names are in ns, as time.Duration is; the dashboard has the unit on each panel"},
	{"firq_queue_time_p95_ns: metric names should not contain abbreviated units", "the same"},
	{"firq_queue_time_p99_ns: metric names should not contain abbreviated units", "the same"},
	{"firq_queue_time_sum_ns: metric names should not contain abbreviated units", "the same"},
	{`firq_queue_time_sum_ns: counter metrics should have "_total" suffix`,
		"the name is given and the type is the truth: a gauge of this name would pass, and rate() over it would be wrong"},
	{`firq_queue_time_samples: counter metrics should have "_total" suffix`, "the same"},
}

func TestLint(t *testing.T) {
	for _, native := range []bool{false, true} {
		for kind, m := range everyKind(t, firqprom.Options[string]{Scheduler: "api", NativeHistogram: native}) {
			problems, err := testutil.CollectAndLint(m.c)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%s: %s", p.Metric, p.Text))
			}
			for _, c := range complaints {
				if kind == "scheduler" || kind == "gate" {
					want = append(want, c.problem)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			for _, p := range got {
				if !slices.Contains(want, p) {
					t.Errorf("%s: new complaint: %s", kind, p)
				}
			}
			for _, p := range want {
				if !slices.Contains(got, p) {
					t.Errorf("%s: no longer complained about, take it off the list: %s", kind, p)
				}
			}
		}
	}
}

// promtool, which some run over /metrics in CI, has nothing else to say, and the
// README tells what has to be excepted.
func TestPromtoolCheckMetrics(t *testing.T) {
	promtool := program(t, "promtool")
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind, m := range everyKind(t, firqprom.Options[string]{Scheduler: "api"}) {
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(scrape(t, pedantic(t, m.c), ""))
		out, err := cmd.CombinedOutput()
		if excepted := kind == "scheduler" || kind == "gate"; (err != nil) != excepted {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
		for line := range strings.Lines(string(out)) {
			metric, _, _ := strings.Cut(line, " ")
			if !strings.Contains(string(readme), "`"+metric+"`") {
				t.Errorf("the README does not except %s", line)
			}
		}
	}
}

// The tables in the documentation name every metric.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for kind, m := range everyKind(t, firqprom.Options[string]{}) {
		descs := make(chan *prometheus.Desc, 100)
		m.c.Describe(descs)
		close(descs)
		for d := range descs {
			name := metricName.FindString(d.String())
			if !strings.Contains(string(text), "\n//\t"+name+" ") {
				t.Errorf("%s: doc.go does not name %s", kind, name)
			}
		}
	}
}
