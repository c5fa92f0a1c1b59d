package live_test

import (
	"fmt"

	"github.com/firq-go/firq/cmd/firqbench/internal/live"
)

func ExampleTable() {
	fmt.Print(live.Table(&live.View{Scenario: "overload", About: "too much", Sides: []live.Side{{
		Contestant: "lockfree", Span: 1e9, TasksPerSec: 48_800, Queued: 640, Fairness: live.Fairness{Tenants: 64, Jain: 0.998, Worst: 0.97, WorstTenant: "tenant-000009"},
	}}}, 80))
	// Output:
	// overload: too much
	// after 0s                    lockfree
	// ─────────────────────────────────────────────────
	// tasks/s                     48.8k
	// offered/s                   0
	// rejected/s                  0
	// expired/s                   0
	// queued now                  640
	// enqueue p50, p99, max       -
	// queue time p50, p99, max    -
	// fairness (Jain)             0.998 of 64 tenants
	// worst off has of its share  97% tenant-000009
}
