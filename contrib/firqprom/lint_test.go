package firqprom_test

import (
	"fmt"
	"slices"
	"testing"

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
		c := collector(t, &fixed[string]{stats: distinct()}, firqprom.Options[string]{Scheduler: "api", NativeHistogram: native})
		problems, err := testutil.CollectAndLint(c)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%s: %s", p.Metric, p.Text))
		}
		for _, c := range complaints {
			want = append(want, c.problem)
		}
		slices.Sort(got)
		slices.Sort(want)
		for _, p := range got {
			if !slices.Contains(want, p) {
				t.Errorf("new complaint: %s", p)
			}
		}
		for _, p := range want {
			if !slices.Contains(got, p) {
				t.Errorf("no longer complained about, take it off the list: %s", p)
			}
		}
	}
}
