package replay

import (
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/trace"
)

// Service is recorded in the given number of buckets of time.
const buckets = 50

// service returns which tenants were served when: the busiest tenants by themselves, the
// quiet ones together, and the others together. It follows from the arrivals and
// the queue times, so that recording it costs the replay nothing.
func service(t *trace.Trace, p Plan, groups []Group, waits []atomic.Int64, elapsed time.Duration) *load.Service {
	const none = -1
	s := &load.Service{Unit: "cost"}
	line := make([]int, len(t.Tenants)) // of each tenant
	for i := range line {
		line[i] = none
	}
	add := func(name string, has func(tenant int) bool) {
		n := 0
		for i := range line {
			if line[i] == none && has(i) {
				line[i] = len(s.Lines)
				n++
			}
		}
		if n > 0 {
			s.Lines = append(s.Lines, load.ServiceLine{Name: name, Tenants: n, Asked: make([]int64, buckets), Served: make([]int64, buckets)})
		}
	}
	for _, g := range groups {
		if g.Tenants == 1 || g.Name == GroupQuiet {
			add(g.Name, func(i int) bool { return g.has[i] })
		}
	}
	add("other tenants", func(int) bool { return true })

	end := max(p.Span, elapsed, buckets)
	for i := range buckets {
		s.Ends = append(s.Ends, end*time.Duration(i+1)/buckets)
	}
	bucket := func(at time.Duration) int { return min(buckets-1, int(float64(at)/float64(end)*buckets)) }
	for i, r := range t.Requests {
		l := &s.Lines[line[r.Tenant]]
		at := scaled(r.At, p.Speed)
		l.Asked[bucket(at)] += r.Cost
		if wait := waits[i].Load(); wait >= 0 {
			l.Served[bucket(at+time.Duration(wait))] += r.Cost
		}
	}
	return s
}
