package live

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/hist"
)

// View is what there is to see at one time. It does not change any more.
type View struct {
	Scenario string        `json:"scenario"`
	About    string        `json:"about"`
	At       time.Duration `json:"at_ns"` // since the watch began
	Over     bool          `json:"over"`  // the run has ended; Span is all of it
	Sides    []Side        `json:"sides"` // one or two
}

// Side is one contestant. What it says is about the last Span.
type Side struct {
	Contestant string        `json:"contestant"`
	Span       time.Duration `json:"span_ns"` // 0: nothing is known yet

	TasksPerSec float64 `json:"tasks_per_sec"` // delivered
	Offered     float64 `json:"offered_per_sec"`
	Rejected    float64 `json:"rejected_per_sec"`
	Expired     float64 `json:"expired_per_sec"`
	Queued      int     `json:"queued"` // now; below 0: the contestant does not say

	Enqueue load.Latency `json:"enqueue"` // calls, one in load.SampleEvery; at a rate all
	Queue   load.Latency `json:"queue"`   // at a rate from the intended start

	Fairness Fairness `json:"fairness"`
	Top      []Tenant `json:"top"` // those served most, most first
	Tenants  int      `json:"tenants"`

	Error string `json:"error,omitempty"` // why it has ended early
}

// Fairness compares what each tenant was served with its max-min fair share: what
// it would have got of all that was served had no tenant got more than it asked for
// and none more than another that asked for more. Tenants that did not ask are
// left out.
type Fairness struct {
	Tenants int `json:"tenants"` // that asked; 0: the rest says nothing
	// Jain is Jain's index of served / fair share: 1 is best, 1 / Tenants worst.
	Jain float64 `json:"jain"`
	// Worst is the least served / fair share, and WorstTenant whose it is.
	Worst       float64 `json:"worst"`
	WorstTenant string  `json:"worst_tenant"`
}

// Tenant is one of those that were served most.
type Tenant struct {
	Name   string  `json:"name"`
	Served float64 `json:"served_per_sec"`
	Asked  float64 `json:"asked_per_sec"`
	Share  float64 `json:"share"` // of all that was served
}

const topTenants = 5

// sums is what glances add up to.
type sums struct {
	span                                  time.Duration
	offered, rejected, expired, delivered uint64
	queued                                int
	calls, waits                          *hist.Snapshot
	asked, served                         []uint64
}

func newSums(tenants int) *sums {
	return &sums{calls: hist.NewSnapshot(), waits: hist.NewSnapshot(), asked: make([]uint64, tenants), served: make([]uint64, tenants)}
}

func (s *sums) add(g *load.Glance) {
	s.span += g.Elapsed
	s.offered += g.Offered
	s.rejected += g.Rejected
	s.expired += g.Expired
	s.delivered += g.Delivered
	s.queued = g.Queued
	s.calls.Merge(g.Calls)
	s.waits.Merge(g.Waits)
	for i := range s.asked {
		s.asked[i] += g.Asked[i]
		s.served[i] += g.Served[i]
	}
}

// side says what the sums mean. name returns that of a tenant.
func (s *sums) side(contestant string, name func(int) string) Side {
	v := Side{
		Contestant: contestant, Span: s.span, Queued: s.queued, Enqueue: load.Summary(s.calls), Queue: load.Summary(s.waits),
		Tenants: len(s.asked),
	}
	perSec := func(n uint64) float64 {
		if s.span <= 0 {
			return 0
		}
		return float64(n) / s.span.Seconds()
	}
	v.TasksPerSec, v.Offered, v.Rejected, v.Expired = perSec(s.delivered), perSec(s.offered), perSec(s.rejected), perSec(s.expired)
	v.Fairness = fairness(s.asked, s.served, name)
	for _, i := range busiest(s.served, topTenants) {
		v.Top = append(v.Top, Tenant{name(i), perSec(s.served[i]), perSec(s.asked[i]), float64(s.served[i]) / float64(s.delivered)})
	}
	return v
}

// busiest returns the n indices with the largest counts above 0, largest first.
func busiest(counts []uint64, n int) (top []int) {
	for i, c := range counts {
		if c == 0 || len(top) == n && c <= counts[top[n-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, c, func(j int, c uint64) int {
			if counts[j] >= c { // the first of equals stays ahead
				return -1
			}
			return 1
		})
		if top = slices.Insert(top, at, i); len(top) > n {
			top = top[:n]
		}
	}
	return top
}

// fairness is over the tenants that asked, or were served what they had asked for
// before.
func fairness(asked, served []uint64, name func(int) string) (f Fairness) {
	var who []int
	var demands []float64
	all := 0.0
	for i := range asked {
		if d := max(asked[i], served[i]); d > 0 {
			who, demands = append(who, i), append(demands, float64(d))
			all += float64(served[i])
		}
	}
	if all == 0 {
		return f
	}
	f = Fairness{Tenants: len(who), Worst: math.Inf(1)}
	ratios := make([]float64, len(who))
	for i, share := range stats.MaxMin(demands, all) {
		ratios[i] = float64(served[who[i]]) / share
		if cmp.Less(ratios[i], f.Worst) {
			f.Worst, f.WorstTenant = ratios[i], name(who[i])
		}
	}
	f.Jain = stats.Jain(ratios)
	return f
}
