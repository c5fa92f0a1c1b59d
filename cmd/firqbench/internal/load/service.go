package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// Service records which tenants were served when: a record of bounded size, some dozens of
// buckets of time by a handful of tenants.
type Service struct {
	Unit  string          `json:"unit"`    // of Asked and Served: "tasks", or "cost"
	Ends  []time.Duration `json:"ends_ns"` // of the buckets, since the record began; the first begins at 0
	Lines []ServiceLine   `json:"lines"`
}

// ServiceLine is a tenant, or a number of them together.
type ServiceLine struct {
	Name    string `json:"name"`
	Tenants int    `json:"tenants"`
	// Asked is what arrived, by bucket, accepted or not; Served what was delivered.
	Asked  []int64 `json:"asked"`
	Served []int64 `json:"served"`
}

const (
	serviceBuckets = 25
	serviceTenants = 5 // by themselves
)

// recorder makes a Service of glances.
type recorder struct {
	glances []*Glance
}

func (rec *recorder) watch(d time.Duration) *Watch {
	return &Watch{For: d, Every: max(time.Millisecond, d/serviceBuckets), See: func(g *Glance) {
		rec.glances = append(rec.glances, g)
	}}
}

// service returns the record; hot says how many tenants, the first ones, are hot.
// Those, or where there are none those that were served most, are shown by
// themselves.
func (rec *recorder) service(keys []string, hot int) *Service {
	if len(rec.glances) == 0 {
		return nil
	}
	s := &Service{Unit: "tasks"}
	alone, rest := rec.most(len(keys), hot), "other tenants"
	if hot > 0 && hot == len(alone) {
		rest = scenario.FocusQuiet
	}
	lineOf := make([]int, len(keys))
	for i := range lineOf {
		lineOf[i] = len(alone)
	}
	for line, tenant := range alone {
		lineOf[tenant] = line
		s.Lines = append(s.Lines, ServiceLine{Name: keys[tenant], Tenants: 1})
	}
	if n := len(keys) - len(alone); n > 0 {
		s.Lines = append(s.Lines, ServiceLine{Name: rest, Tenants: n})
	}
	for i := range s.Lines {
		s.Lines[i].Asked = make([]int64, len(rec.glances))
		s.Lines[i].Served = make([]int64, len(rec.glances))
	}
	for bucket, g := range rec.glances {
		s.Ends = append(s.Ends, g.At)
		for tenant, line := range lineOf {
			s.Lines[line].Asked[bucket] += int64(g.Asked[tenant])
			s.Lines[line].Served[bucket] += int64(g.Served[tenant])
		}
	}
	return s
}

// most returns the tenants that are shown by themselves.
func (rec *recorder) most(tenants, hot int) []int {
	all := make([]int, tenants)
	served := make([]uint64, tenants)
	for i := range all {
		all[i] = i
		for _, g := range rec.glances {
			served[i] += g.Served[i]
		}
	}
	if hot == 0 {
		slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(served[b], served[a]) })
		hot = tenants
	}
	return all[:min(hot, serviceTenants, tenants)]
}
