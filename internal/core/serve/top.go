package serve

import (
	"cmp"
	"slices"

	"github.com/firq-go/firq"
)

// top keeps the tenants of a shard that were delivered most. A tenant asks to
// be let in when its count is a power of two, then at each 64th delivery, so
// the ranking is approximate by that much; the counts are exact as long as the
// tenant is remembered. An entry outlives its tenant.
type top[K comparable, T any] struct {
	tenants []*Tenant[K, T]
	size    int
	floor   uint64 // a tenant that has no more than this cannot get in
}

// ranked is the bit of Tenant.delivered that says that the tenant is among them.
const ranked = 1 << 63

// count returns how many of the tenant's tasks were delivered.
func (t *Tenant[K, T]) count() uint64 { return t.delivered &^ (ranked | isIdle) }

// offer lets a tenant in that is not among them, if it has enough.
func (p *top[K, T]) offer(t *Tenant[K, T]) {
	if t.delivered&ranked != 0 || t.count() <= p.floor || p.size == 0 {
		return
	}
	if len(p.tenants) < p.size {
		p.tenants = append(p.tenants, t)
		t.delivered |= ranked
		return
	}
	least := 0
	for i, x := range p.tenants {
		if x.count() < p.tenants[least].count() {
			least = i
		}
	}
	if out := p.tenants[least]; out.count() < t.count() {
		out.delivered &^= ranked
		p.tenants[least] = t
		t.delivered |= ranked
	} else {
		p.floor = out.count() // theirs only grow
	}
}

// rankTop sorts the rows of all shards and keeps the first n. A tenant that was
// forgotten and came back has two rows until then.
func rankTop[K comparable](rows []firq.TenantCount[K], n int) []firq.TenantCount[K] {
	at := make(map[K]int, len(rows))
	merged := rows[:0]
	for _, row := range rows {
		if i, ok := at[row.Tenant]; ok {
			merged[i].Dequeued += row.Dequeued
			merged[i].Lag = max(merged[i].Lag, row.Lag)
			continue
		}
		at[row.Tenant] = len(merged)
		merged = append(merged, row)
	}
	slices.SortStableFunc(merged, func(a, b firq.TenantCount[K]) int { return cmp.Compare(b.Dequeued, a.Dequeued) })
	return merged[:min(max(n, 0), len(merged))]
}
