package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// orders is a table in memory, without an index: a report reads all of it. As a database with a
// pool of connections, it answers some queries at a time; the others wait.
type orders struct {
	rows  []order
	conns chan struct{}
	asked atomic.Int64 // how many queries there were
}

type order struct {
	tenant, product string
	day             int // 1 to days
	amount          float64
}

// product is a row of a report.
type product struct {
	Name string  `json:"product"`
	Sum  float64 `json:"sum"`
}

// days is the number of days for which there are orders.
const days = 365

func tenantName(i int) string { return fmt.Sprint("acme-", i) }

// fill makes a table of n orders, which answers conns queries at a time.
func fill(n, tenants, conns int) *orders {
	names, products := make([]string, tenants), make([]string, 40)
	for i := range names {
		names[i] = tenantName(i)
	}
	for i := range products {
		products[i] = fmt.Sprint("product ", i)
	}
	r := rand.New(rand.NewPCG(1, 2))
	o := &orders{rows: make([]order, n), conns: make(chan struct{}, conns)}
	for i := range o.rows {
		o.rows[i] = order{names[i%tenants], products[r.IntN(len(products))], 1 + r.IntN(days), float64(1+r.IntN(10_000)) / 100}
	}
	return o
}

// top returns the products that sold best in the last days; last says how many days.
func (o *orders) top(ctx context.Context, tenant string, last int) ([]product, error) {
	o.asked.Add(1)
	select {
	case o.conns <- struct{}{}:
		defer func() { <-o.conns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	sums := map[string]float64{}
	for some := range slices.Chunk(o.rows, 10_000) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, r := range some {
			if r.tenant == tenant && r.day > days-last {
				sums[r.product] += r.amount
			}
		}
	}
	all := make([]product, 0, len(sums))
	for name, sum := range sums {
		all = append(all, product{name, sum})
	}
	slices.SortFunc(all, func(a, b product) int { return cmp.Or(cmp.Compare(b.Sum, a.Sum), cmp.Compare(a.Name, b.Name)) })
	return all[:min(5, len(all))], nil
}
