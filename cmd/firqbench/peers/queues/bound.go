package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/firq-go/firq/cmd/firqbench/peers/queues/internal/gap"
	"github.com/firq-go/firq/contrib/firqredis"
)

// bound is the largest difference of service between two tenants, over all pairs and intervals, as a share of
// theorem 7 of docs/fairness.md.
type bound struct {
	Weighted   bool    `json:"weighted"` // weights of 0.5 to 3.7 and costs of 1 to 20; else all are 1
	Batch      int     `json:"batch"`    // at most this many tasks in a call
	Deliveries int     `json:"deliveries"`
	Gap        float64 `json:"gap"`   // cost per weight
	Share      float64 `json:"share"` // of the bound, the worst
}

func measureBound(ctx context.Context, s *server, weighted bool, batch int, seed uint64) (b bound, err error) {
	const tasks = 200
	weights, costliest := []float64{1, 1, 1, 1, 1}, int64(1)
	if weighted {
		weights, costliest = []float64{1, 2, 0.5, 3.7, 1}, 20
	}
	b.Weighted, b.Batch = weighted, batch
	q, done, err := openQueue(ctx, s, 1)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, done()) }()
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a repeatable run
	names := tenantNames(len(weights))
	most := make([]float64, len(weights))
	for i, name := range names {
		if err := q.SetTenant(ctx, name, firqredis.TenantSettings{Weight: weights[i]}); err != nil {
			return b, err
		}
		ts := make([]firqredis.Task[[]byte], tasks)
		for k := range ts {
			ts[k] = firqredis.Task[[]byte]{Tenant: name, Cost: 1 + r.Int64N(costliest)}
			most[i] = max(most[i], float64(ts[k].Cost)/weights[i])
		}
		if _, err := q.EnqueueBatch(ctx, ts); err != nil {
			return b, err
		}
	}
	left := slices.Repeat([]int{tasks}, len(weights))
	served := [][]float64{make([]float64, len(weights))} // after each delivery, per weight
	for slices.Min(left) > 0 {
		its, err := q.DequeueBatch(ctx, 1+r.IntN(batch))
		if err != nil {
			return b, err
		}
		for _, it := range its {
			i := slices.Index(names, it.Tenant)
			left[i]--
			now := slices.Clone(served[len(served)-1])
			now[i] += float64(it.Cost) / weights[i]
			if served = append(served, now); left[i] == 0 {
				break
			}
		}
	}
	b.Deliveries = len(served) - 1
	b.Gap, b.Share = gap.Worst(served, most)
	return b, nil
}

// spread is how evenly tenants of several partitions are served.
type spread struct {
	Partitions int   `json:"partitions"`
	Tenants    []int `json:"tenants"` // in each partition
	Deliveries int   `json:"deliveries"`
	Least      int   `json:"least"` // of the tenants
	Most       int   `json:"most"`
}

// measureSpread lets 8 goroutines take from 4 partitions with 10, 1, 1 and 1 tenants that have tasks all the time.
func measureSpread(ctx context.Context, s *server) (r spread, err error) {
	r = spread{Partitions: 4, Tenants: []int{10, 1, 1, 1}, Deliveries: 6000}
	q, done, err := openQueue(ctx, s, r.Partitions)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, done()) }()
	served := map[string]int{}
	left := slices.Clone(r.Tenants)
	for i := 0; slices.Max(left) > 0; i++ {
		name := fmt.Sprintf("tenant-%d", i)
		h := fnv.New32a()
		_, _ = io.WriteString(h, name)
		if p := h.Sum32() % uint32(r.Partitions); left[p] > 0 { //nolint:gosec // 4
			left[p]--
			served[name] = 0
			if _, err := q.EnqueueBatch(ctx, slices.Repeat([]firqredis.Task[[]byte]{{Tenant: name}}, 2000)); err != nil {
				return r, err
			}
		}
	}
	var mu sync.Mutex
	err = calls(ctx, 8, r.Deliveries, func(int) error {
		it, err := q.Dequeue(ctx)
		if err != nil {
			return err
		}
		mu.Lock()
		served[it.Tenant]++
		mu.Unlock()
		return q.Ack(ctx, it)
	})
	r.Least = r.Deliveries
	for _, n := range served {
		r.Least, r.Most = min(r.Least, n), max(r.Most, n)
	}
	return r, err
}

// openQueue returns an empty queue.
func openQueue(ctx context.Context, s *server, partitions int) (q *firqredis.Queue[[]byte], done func() error, err error) {
	if err := s.empty(ctx); err != nil {
		return nil, nil, err
	}
	client := s.client(enqueuers)
	q, err = firqredis.New(ctx, firqredis.Config[[]byte]{Client: client, Name: "bench", Partitions: partitions})
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return q, func() error { return errors.Join(q.Close(), client.Close()) }, nil
}
