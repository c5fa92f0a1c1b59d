package firqredis

import (
	"fmt"
	"testing"
)

// A tenant that is too large for one core is split into four, each with a quarter of its weight and in another partition:
// together they get the share of one tenant, and the others keep theirs.
func TestHotTenant(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		const parts = 4
		hot := map[string]bool{}
		weight := func(tenant string) float64 {
			if hot[tenant] {
				return 1.0 / parts
			}
			return 1
		}
		q, ctx := open(t, s, Config[string]{Partitions: parts, WeightFor: weight}), bounded(t)
		lives := map[int]bool{}
		for k := 0; len(hot) < parts; k++ { // acme#0 to acme#3, but for those that would share a partition
			name := fmt.Sprint("acme#", k)
			if p := at(q).Lane(name); !lives[p] {
				lives[p], hot[name] = true, true
			}
		}
		const others = 12
		each := s.much(90)
		for name := range hot {
			put(t, q, many(name, each)...)
		}
		for k := range others {
			put(t, q, many(in(q, k%parts, k), 2*each)...)
		}
		n := map[string]int{}
		for served := 0; served < each*(1+others); {
			its, err := q.DequeueBatch(ctx, 4)
			ok(t, err)
			for _, it := range its {
				if hot[it.Tenant] {
					n["acme"]++
				} else {
					n[it.Tenant]++
				}
			}
			served += len(its)
			ok(t, q.Ack(ctx, its...))
		}
		// A quarter of the weight may be one task ahead or behind in each of four partitions.
		const slack = 17
		for name, k := range n {
			if k < each-slack || k > each+slack {
				t.Errorf("%s was served %d times of %d: %v", name, k, each, n)
			}
		}
		same(t, "tenants served", len(n), 1+others)
	})
}

// Tasks of a cost beyond all bounds do not end fairness between the others.
func TestMonstrousCost(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		for range 12 { // one counts as 1e15 at most
			put(t, q, job{Tenant: "monster", Cost: 1 << 60})
		}
		put(t, q, job{Tenant: "monster"})
		ok(t, q.Ack(ctx, now(t, q, 13)...))
		v, err := at(q).db.HGet(ctx, at(q).prefix[0]+":m", "v").Float64()
		ok(t, err)
		if v+1 != v {
			t.Fatalf("at a virtual time of %v no cost of 1 is lost", v)
		}
		put(t, q, append(many("a", 50), many("b", 50)...)...)
		n := map[string]int{}
		for _, it := range now(t, q, 50) {
			n[it.Tenant]++
		}
		if n["a"] < 20 || n["b"] < 20 {
			t.Errorf("served: %v", n)
		}
	})
}
