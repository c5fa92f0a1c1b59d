package firqprom_test

import (
	"math"
	"strings"
	"sync"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/contrib/firqprom"
)

var _ firqprom.ComputeSource[string] = (*compute.Server[string, int, []byte])(nil)

const computeExposition = `
# TYPE firq_compute_abandoned_total counter
firq_compute_abandoned_total{scheduler="api"} 715
# TYPE firq_compute_behind_total counter
firq_compute_behind_total{scheduler="api"} 716
# TYPE firq_compute_closed_total counter
firq_compute_closed_total{scheduler="api"} 710
# TYPE firq_compute_entries gauge
firq_compute_entries{scheduler="api"} 722
# TYPE firq_compute_exec_seconds histogram
firq_compute_exec_seconds_bucket{scheduler="api",le="1e-06"} 1
firq_compute_exec_seconds_bucket{scheduler="api",le="1"} 1
firq_compute_exec_seconds_bucket{scheduler="api",le="2"} 3
firq_compute_exec_seconds_bucket{scheduler="api",le="+Inf"} 3
firq_compute_exec_seconds_sum{scheduler="api"} 3.000001
firq_compute_exec_seconds_count{scheduler="api"} 3
# TYPE firq_compute_executing gauge
firq_compute_executing{scheduler="api"} 719
# TYPE firq_compute_executions_total counter
firq_compute_executions_total{scheduler="api"} 711
# TYPE firq_compute_failed_total counter
firq_compute_failed_total{scheduler="api"} 713
# TYPE firq_compute_flights gauge
firq_compute_flights{scheduler="api"} 721
# TYPE firq_compute_gave_up_total counter
firq_compute_gave_up_total{scheduler="api"} 709
# TYPE firq_compute_limit gauge
firq_compute_limit{scheduler="api"} 718
# TYPE firq_compute_panicked_total counter
firq_compute_panicked_total{scheduler="api"} 714
# TYPE firq_compute_refused_total counter
firq_compute_refused_total{reason="global",scheduler="api"} 705
firq_compute_refused_total{reason="tenant",scheduler="api"} 706
firq_compute_refused_total{reason="timeout",scheduler="api"} 707
firq_compute_refused_total{reason="waiters",scheduler="api"} 708
# TYPE firq_compute_requests_total counter
firq_compute_requests_total{scheduler="api",source="coalesced"} 703
firq_compute_requests_total{scheduler="api",source="executed"} 704
firq_compute_requests_total{scheduler="api",source="hit"} 701
firq_compute_requests_total{scheduler="api",source="none"} 4245
firq_compute_requests_total{scheduler="api",source="stale"} 702
# TYPE firq_compute_spilled_total counter
firq_compute_spilled_total{scheduler="api"} 717
# TYPE firq_compute_succeeded_total counter
firq_compute_succeeded_total{scheduler="api"} 712
# TYPE firq_compute_waiting gauge
firq_compute_waiting{scheduler="api"} 720
# TYPE firq_compute_weight gauge
firq_compute_weight{scheduler="api"} 723
`

// fakeCompute is a server that goes wrong. One answers ever less from what it keeps, the
// other refuses, fails, and answers with what is stale.
type fakeCompute struct {
	falls bool
	mu    sync.Mutex
	says  compute.Stats[string]
	due   bool // there was a tick since the last look
	looks int
}

// Stats lets the share of hits fall with each look, not with time: a scrape may be slow.
// After x looks it is x^-0.75, and so a quarter of its mean until then.
func (f *fakeCompute) Stats() compute.Stats[string] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.falls && f.due {
		const each, good = 10_000, 4 // calls for each look; looks until it begins to fall
		f.due = false
		f.looks++
		x := float64(f.looks)
		f.says.Hits = uint64(each * x * min(math.Pow(x/good, -0.75), 1))
		f.says.Executed = each*uint64(f.looks) - f.says.Hits
	}
	return f.says
}

func (f *fakeCompute) tick() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.due = true
	if f.falls {
		return
	}
	st := &f.says
	st.Stale += 300
	st.Executed += 500
	st.Refused += 200
	st.RefusedGlobal += 200
	st.Executions += 500
	st.Failed += 500
	st.Panics += 500
	st.ExecTime.Buckets = []firq.Bucket{{UpperBound: time.Second, Count: st.Executions}}
	st.ExecTime.Sum = time.Duration(st.Executions) * time.Second
}

func (f *fakeCompute) expect(want map[string]float64, name string) {
	st := f.Stats()
	for key, value := range map[string]float64{
		"requests_total NAME hit": float64(st.Hits), "requests_total NAME stale": float64(st.Stale),
		"requests_total NAME coalesced": 0, "requests_total NAME executed": float64(st.Executed), "requests_total NAME none": float64(st.Refused),
		"refused_total NAME global": float64(st.RefusedGlobal), "refused_total NAME tenant": 0, "refused_total NAME timeout": 0, "refused_total NAME waiters": 0,
		"executions_total NAME ": float64(st.Executions), "failed_total NAME ": float64(st.Failed), "panicked_total NAME ": float64(st.Panics),
		"exec_seconds_count NAME ": float64(st.Executions), "exec_seconds_sum NAME ": float64(st.Executions),
		"exec_seconds_bucket NAME 1": float64(st.Executions), "exec_seconds_bucket NAME +Inf": float64(st.Executions),
		"gave_up_total NAME ": 0, "closed_total NAME ": 0, "succeeded_total NAME ": 0, "abandoned_total NAME ": 0, "behind_total NAME ": 0,
		"spilled_total NAME ": 0, "limit NAME ": 0, "executing NAME ": 0, "waiting NAME ": 0, "flights NAME ": 0, "entries NAME ": 0, "weight NAME ": 0,
	} {
		if f.falls && strings.HasSuffix(key, " 1") {
			continue // no buckets but the last
		}
		want["firq_compute_"+strings.ReplaceAll(key, "NAME", name)] = value
	}
}
