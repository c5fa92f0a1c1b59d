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
}

func (p *top[K, T]) delivered(t *Tenant[K, T]) {
	t.delivered++
	if n := t.delivered; t.topRank || n&63 != 0 && (n > 64 || n&(n-1) != 0) {
		return
	}
	p.offer(t)
}

func (p *top[K, T]) offer(t *Tenant[K, T]) {
	if len(p.tenants) < p.size {
		p.tenants = append(p.tenants, t)
		t.topRank = true
		return
	}
	least := -1
	for i, x := range p.tenants {
		if least < 0 || x.delivered < p.tenants[least].delivered {
			least = i
		}
	}
	if least >= 0 && p.tenants[least].delivered < t.delivered {
		p.tenants[least].topRank = false
		p.tenants[least] = t
		t.topRank = true
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
