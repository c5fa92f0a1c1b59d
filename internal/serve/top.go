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
	floor   uint64 // who has no more than this cannot get in
}

func (p *top[K, T]) delivered(t *Tenant[K, T]) {
	t.delivered++
	if n := t.delivered; n&63 == 0 || n < 64 && n&(n-1) == 0 {
		p.offer(t)
	}
}

func (p *top[K, T]) offer(t *Tenant[K, T]) {
	if t.delivered <= p.floor {
		return
	}
	least := -1
	for i, x := range p.tenants {
		if x == t {
			return
		}
		if least < 0 || x.delivered < p.tenants[least].delivered {
			least = i
		}
	}
	switch {
	case len(p.tenants) < p.size:
		p.tenants = append(p.tenants, t)
	case p.tenants[least].delivered < t.delivered:
		p.tenants[least] = t
	default:
		p.floor = p.tenants[least].delivered // theirs only grow
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
			continue
		}
		at[row.Tenant] = len(merged)
		merged = append(merged, row)
	}
	slices.SortStableFunc(merged, func(a, b firq.TenantCount[K]) int { return cmp.Compare(b.Dequeued, a.Dequeued) })
	return merged[:min(max(n, 0), len(merged))]
}
