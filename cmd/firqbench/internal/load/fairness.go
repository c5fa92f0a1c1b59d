package load

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// Fairness probes at most the given number of tenants.
const maxProbed = 1000

// fairness returns Jain's index by delivered cost, and the number of tenants
// that it is over. It is measured apart from the timed window, because the
// tenants of a closed loop get what they send and no more: hardly any tenant always
// has work queued, and an index over delivered tasks would only say which tenant sent
// how much.
//
// So a fresh contestant gets a backlog in which every tenant has more than its
// share, mixed as the scenario mixes it (the hot tenant has many times as many
// tasks as the others), with costs of 1 to 4. The scenario's consumers then take
// half of what the least demanding tenants could get. What each tenant got in
// that time is what the index is over: all of them had work queued throughout.
func fairness(ctx context.Context, spec Spec) (jain float64, tenants int, err error) {
	s := spec.Scenario
	n := min(s.Tenants, maxProbed)
	if s.Shape != scenario.Flow || n < 2 {
		return 0, 0, nil
	}
	const costliest = 4
	each := spec.Probe
	if each == 0 {
		each = min(128, 1<<16/n)
	}
	backlog := mix(s, n, each)
	q, err := spec.Contestant.New(contest.Config{
		Shards: s.Shards, MaxGlobal: len(backlog), Quantum: costliest,
	})
	if err != nil {
		return 0, 0, err
	}
	defer q.Close() //nolint:errcheck // always nil
	if _, ok := q.(contest.Runner); ok {
		return 0, 0, nil // there is nothing to dequeue from
	}
	names := tenantKeys(n)
	for _, t := range backlog {
		task := contest.Task{Payload: uint64(t), Cost: int64(1 + t%costliest)}
		if err := q.EnqueueWait(ctx, names[t], task); err != nil {
			return 0, 0, err
		}
	}
	got, err := consume(ctx, q, s.Consumers, n, int64(n*each/2))
	if err != nil {
		return 0, 0, err
	}
	return stats.Jain(got), n, nil
}

// mix returns the tenants of a backlog in random order: each of n occurs at
// least each times, the hot ones as often as the scenario has it, those of a skew up to
// mostSkewed times as often as the last one.
func mix(s scenario.Scenario, n, each int) []int {
	if s.Skew > 0 {
		return shuffled(mixZipf(s.Skew, n, each))
	}
	hot := each
	hottest := max(1, s.Hot()) // how many share what is hot
	share := s.HotShare
	if s.HotProducers > 0 {
		share = 0.9
	}
	if share > 0 {
		hot = max(each, int(float64(each*(n-hottest))*share/(1-share))/hottest)
	}
	var backlog []int
	for t := range hottest {
		for range hot {
			backlog = append(backlog, t)
		}
	}
	for t := hottest; t < n; t++ {
		for range each {
			backlog = append(backlog, t)
		}
	}
	return shuffled(backlog)
}

// mostSkewed keeps the backlog of a steep skew small.
const mostSkewed = 16

func mixZipf(skew float64, n, each int) (backlog []int) {
	for t := range n {
		more := min(mostSkewed, math.Pow(float64(n)/float64(t+1), skew))
		for range int(float64(each) * more) {
			backlog = append(backlog, t)
		}
	}
	return backlog
}

func shuffled(backlog []int) []int {
	rnd := newRandom(1) // every contestant gets the same order
	for i := len(backlog) - 1; i > 0; i-- {
		j := rnd.below(i + 1)
		backlog[i], backlog[j] = backlog[j], backlog[i]
	}
	return backlog
}

// consume takes tasks until their cost reaches budget and returns how much each
// of n tenants got.
func consume(ctx context.Context, q contest.Queue, consumers, n int, budget int64) ([]float64, error) {
	var spent atomic.Int64
	counts := make([][]int64, consumers)
	errs := make([]error, consumers)
	var wg sync.WaitGroup
	for i := range consumers {
		counts[i] = make([]int64, n)
		wg.Go(func() {
			for spent.Load() < budget {
				it, err := q.Dequeue(ctx)
				if err != nil {
					errs[i] = err
					return
				}
				if spent.Add(it.Cost) <= budget {
					counts[i][it.Payload&tenantMask] += it.Cost
				}
			}
		})
	}
	wg.Wait()
	got := make([]float64, n)
	for i := range consumers {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for t, cost := range counts[i] {
			got[t] += float64(cost)
		}
	}
	return got, nil
}
