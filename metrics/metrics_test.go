package metrics_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/metrics"
	"github.com/firq-go/firq/metrics/metricstest"
	"github.com/firq-go/firq/watchdog"
)

// series returns what a table tells of s, but histograms: values by name and labels.
func series[S any](table metrics.Table[S], s S) map[string]float64 {
	all := map[string]float64{}
	for _, m := range table {
		if !m.IsHistogram() {
			m.Series(&s, func(v float64, labels ...string) { all[strings.Join(append([]string{m.Name}, labels...), " ")] = v })
		}
	}
	return all
}

// Every number that a part counts is written: a field that is new to it fails here.
func TestEveryField(t *testing.T) {
	recorded := metricstest.Recorder().Recorded()
	for name, c := range map[string]struct {
		part any
		told map[string]float64
	}{
		"gate":    {metricstest.Gate(), series(metrics.Gate[string](), metricstest.Gate())},
		"traffic": {metricstest.Traffic(), series(metrics.Traffic(), metricstest.Traffic())},
		"pool":    {metricstest.Pool(), series(metrics.Pool(), metricstest.Pool())},
		"redis":   {metricstest.Redis(), series(metrics.Redis(), metricstest.Redis())},
		"fleet":   {metricstest.Fleet(), series(metrics.Fleet(), metricstest.Fleet())},
		"cluster": {metricstest.Cluster(), series(metrics.Cluster(), metricstest.Cluster())},
		"compute": {metricstest.Compute(), series(metrics.Compute[string](), metricstest.Compute())},
		"actors":  {metricstest.System(), series(metrics.System(), metricstest.System())},
		"kinds":   {recorded.Kinds[0], series(metrics.Kinds(), actor.Recorded{Kinds: recorded.Kinds[:1]})},
	} {
		told := slices.Collect(maps.Values(c.told))
		part := reflect.ValueOf(c.part)
		for i := range part.NumField() {
			f, field := part.Field(i), part.Type().Field(i).Name
			if d, ok := f.Interface().(time.Duration); ok {
				f = reflect.ValueOf(d.Seconds())
			}
			sum := name == "compute" && field == "Refused" // of the four refusals
			if (f.CanInt() || f.CanUint() || f.CanFloat()) && !sum {
				if v := f.Convert(reflect.TypeFor[float64]()).Float(); v == 0 || !slices.Contains(told, v) {
					t.Errorf("%s: nothing says %s, which is %v: %v", name, field, v, c.told)
				}
			}
		}
	}
}

// Before the first interval, and where the runtime does not tell, there is no
// number rather than a wrong one.
func TestWatchdogUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		says watchdog.Status
		want int // series
	}{
		"before the first interval": {watchdog.Status{}, 1 + 1 + 12 + 2},
		"a runtime that tells little": {watchdog.Status{Sample: watchdog.Sample{
			End: time.Unix(2, 0), NoScheduling: true, Goroutines: -1, Runnable: -1, Processors: 2,
		}}, 1 + 1 + 12 + 2 + 1 + 1},
	} {
		if told := series(metrics.Watchdog(), c.says); len(told) != c.want {
			t.Errorf("%s: %d series, want %d: %v", name, len(told), c.want, told)
		}
	}
}

// Tenants that share a label are added up; their lag is that of the one furthest behind.
func TestTenants(t *testing.T) {
	type key struct{ org, user int }
	rows := []firq.TenantCount[key]{
		{Tenant: key{1, 1}, Dequeued: 50, Lag: 2}, {Tenant: key{2, 1}, Dequeued: 40},
		{Tenant: key{1, 2}, Dequeued: 7, Lag: 9}, {Tenant: key{3, 3}, Dequeued: 2, Lag: 90},
	}
	for _, c := range []struct {
		name  string
		top   int
		label func(key) string
		want  string
	}{
		{"as printed", 0, nil, "{1 1} 50 lag 2, {1 2} 7 lag 9, {2 1} 40 lag 0, {3 3} 2 lag 90"},
		{"the first two", 2, nil, "{1 1} 50 lag 2, {2 1} 40 lag 0"},
		{"more than there are", 100, nil, "{1 1} 50 lag 2, {1 2} 7 lag 9, {2 1} 40 lag 0, {3 3} 2 lag 90"},
		{"none", -1, nil, ""},
		{"the same label twice", 0, func(k key) string { return fmt.Sprint("org ", k.org) }, "org 1 57 lag 9, org 2 40 lag 0, org 3 2 lag 90"},
		{"the limit counts tenants", 3, func(key) string { return "all" }, "all 97 lag 9"},
		{"not UTF-8, and then the same", 2, func(k key) string { return []string{"x\xff", "x\xfe"}[k.org-1] }, "x\uFFFD 90 lag 2"},
		{"empty", 0, func(key) string { return "" }, " 99 lag 90"},
	} {
		told := series(metrics.Queue(c.top, c.label), firq.Stats[key]{TopTenants: rows})
		var got []string
		for name, n := range told {
			if label, ok := strings.CutPrefix(name, "tenant.dequeued "); ok {
				got = append(got, fmt.Sprintf("%s %v lag %v", label, n, told["tenant.lag "+label]))
			}
		}
		slices.Sort(got)
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: got %q, want %q", c.name, s, c.want)
		}
	}
}
