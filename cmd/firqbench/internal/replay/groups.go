package replay

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/trace"
	"github.com/firq-go/firq/hist"
)

// Report is a whole replay.
type Report struct {
	Trace   TraceFacts `json:"trace"`
	Plan    Plan       `json:"plan"`
	Results []Result   `json:"results"`
}

// TraceFacts is what a report says about its trace.
type TraceFacts struct {
	Name     string        `json:"name"`
	Requests int           `json:"requests"`
	Tenants  int           `json:"tenants"`
	Span     time.Duration `json:"span_ns"`
	Cost     int64         `json:"cost"`
}

// Facts returns those of t.
func Facts(t *trace.Trace) TraceFacts {
	return TraceFacts{Name: t.Name, Requests: len(t.Requests), Tenants: len(t.Tenants), Span: t.Span(), Cost: t.Cost()}
}

// Group is a set of tenants that are looked at together.
type Group struct {
	Name     string `json:"name"`
	Tenants  int    `json:"tenants"`
	Requests int    `json:"requests"`
	Cost     int64  `json:"cost"`

	has []bool // by tenant
}

// GroupTime is a group with the queue times of its delivered requests.
type GroupTime struct {
	Group
	Queue load.Latency    `json:"queue"`                     // of all passes together
	P99s  []time.Duration `json:"p99_by_round_ns,omitempty"` // of each pass

	waits *hist.Snapshot // of Queue
}

// Names of the groups that every report has.
const (
	GroupAll   = "all tenants"
	GroupQuiet = "quiet tenants"
	// GroupBusiest is there when more than one tenant is shown by itself.
	GroupBusiest = "busiest tenants"
)

// Groups returns all tenants; the quiet ones, which are the half of them that
// asks for least (by cost over the whole trace; of an odd number the smaller
// half); and the n that ask for most, together and each by itself. What has the same
// tenants as a group before it is left out.
func Groups(t *trace.Trace, n int) []Group {
	cost := make([]int64, len(t.Tenants))
	for _, r := range t.Requests {
		cost[r.Tenant] += r.Cost
	}
	byCost := make([]int, len(t.Tenants)) // most first
	for i := range byCost {
		byCost[i] = i
	}
	slices.SortFunc(byCost, func(a, b int) int {
		return cmp.Or(cmp.Compare(cost[b], cost[a]), cmp.Compare(t.Tenants[a], t.Tenants[b]))
	})
	group := func(name string, members []int) Group {
		g := Group{Name: name, Tenants: len(members), has: make([]bool, len(t.Tenants))}
		for _, m := range members {
			g.has[m] = true
		}
		for _, r := range t.Requests {
			if g.has[r.Tenant] {
				g.Requests++
				g.Cost += r.Cost
			}
		}
		return g
	}
	groups := []Group{group(GroupAll, byCost)}
	add := func(g Group) {
		if !slices.ContainsFunc(groups, func(other Group) bool { return slices.Equal(g.has, other.has) }) {
			groups = append(groups, g)
		}
	}
	if quiet := byCost[len(byCost)-len(byCost)/2:]; len(quiet) > 0 {
		add(group(GroupQuiet, quiet))
	}
	n = min(n, len(byCost))
	if n > 1 {
		add(group(GroupBusiest, byCost[:n]))
	}
	for _, i := range byCost[:n] {
		add(group(t.Tenants[i], []int{i}))
	}
	return groups
}

// times summarises the waits of each group.
func times(t *trace.Trace, groups []Group, waits []atomic.Int64) []GroupTime {
	var all []GroupTime
	for _, g := range groups {
		h := hist.NewLocal()
		for i := range waits {
			if wait := waits[i].Load(); wait >= 0 && g.has[t.Requests[i].Tenant] {
				h.Record(time.Duration(wait))
			}
		}
		s := hist.NewSnapshot()
		h.AddTo(s)
		queue := load.Summary(s)
		all = append(all, GroupTime{Group: g, Queue: queue, P99s: []time.Duration{queue.P99}, waits: s})
	}
	return all
}
