package metric

import (
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Names and units tell metrics apart, and every value is where it should be.
func TestAll(t *testing.T) {
	good := 3.0
	r := suite.Run{Result: load.Result{
		TasksPerSec: 1, Goodput: &good, Offered: 10, Rejected: 4, Delivered: 3, Expired: 1, AllocsPerTask: 8, BytesPerTask: 9, Jain: 0.5, JainTenants: 2,
		Enqueue: load.Latency{Samples: 1, P50: 11, P99: 12, P999: 13}, Queue: load.Latency{Samples: 1, P50: 21, P95: 22, P99: 23, P999: 24},
		Focus: &load.Latency{Samples: 1, P99: 31}, Refusal: &load.Latency{Samples: 1, P50: 41},
	}}
	closed := map[string]float64{
		"tasks/s": 1, "goodput/s": 3, "enqueue-p50": 11, "enqueue-p99": 12, "enqueue-p99.9": 13, "queue-p50": 21, "queue-p95": 22, "queue-p99": 23,
		"queue-p99.9": 24, "focus-p99": 31, "refusal-p50": 41, "allocs/task": 8, "bytes/task": 9, "rejected": 0.4, "expired": 0.25, "jain": 0.5,
	}
	open := r
	open.Open = &load.Open{
		Offered: 100, Sent: 99, Enqueue: load.Latency{Samples: 1, P99: 112}, Queue: load.Latency{Samples: 1, P99: 123}, Lag: load.Latency{Samples: 1, P99: 132},
	}
	opened := map[string]float64{"offered/s": 100, "sent/s": 99, "enqueue-p99": 112, "queue-p99": 123, "generator-late-p99": 132, "enqueue-p50": 0}
	seen := map[string]bool{}
	for _, m := range All() {
		if seen[m.Name] || seen[m.Unit] && m.Unit != m.Name {
			t.Errorf("%s or %s is there twice", m.Name, m.Unit)
		}
		seen[m.Name], seen[m.Unit] = true, true
		got, ok := m.Of(&suite.Cell{}, &r)
		if want, has := closed[m.Name]; ok != has || got != want {
			t.Errorf("%s: %v, %v, want %v, %v", m.Name, got, ok, want, has)
		}
		if want, has := opened[m.Name]; has {
			if got, ok := m.Of(&suite.Cell{}, &open); !ok || got != want {
				t.Errorf("open, %s: %v, %v, want %v", m.Name, got, ok, want)
			}
		}
		if got, ok := m.Of(&suite.Cell{Variant: suite.Variant{Idle: 1}}, &suite.Run{}); ok && m.Name != "rejected" && m.Name != "expired" {
			t.Errorf("%s of nothing: %v", m.Name, got)
		}
	}
}

func TestChoose(t *testing.T) {
	if ms, err := Choose([]string{"queue-p99", "tasks/s"}); err != nil || len(ms) != 2 || ms[0].Name != "tasks/s" {
		t.Errorf("%v, %v", ms, err)
	}
	if ms, err := Choose(nil); err != nil || len(ms) != len(All()) {
		t.Errorf("%d, %v", len(ms), err)
	}
	if _, err := Choose([]string{"p99"}); err == nil || !strings.Contains(err.Error(), `"p99"; there are tasks/s, `) {
		t.Errorf("%v", err)
	}
}
