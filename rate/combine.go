package rate

import (
	"context"
	"time"
)

// Count returns t with a cost of 1 for every call, whatever it says, and a Charge that does
// nothing: requests, next to a Taker of tokens in the same All.
func Count[K comparable](t Taker[K]) Taker[K] {
	if t == nil {
		panic("firq: rate: Count: t is nil")
	}
	return count[K]{t}
}

type count[K comparable] struct{ t Taker[K] }

func (c count[K]) Take(ctx context.Context, tenant K, cost int64, maxWait time.Duration) (Result, error) {
	if cost >= 0 {
		cost = 1 // else it is refused as it is
	}
	return c.t.Take(ctx, tenant, cost, maxWait)
}

func (c count[K]) Charge(context.Context, K, int64) error { return nil }

func (c count[K]) undo(ctx context.Context, tenant K, _ int64) { Undo(ctx, c.t, tenant, 1) }

// All returns a Taker that takes from each of ts, one after the other, or from none, and
// waits at most maxWait for all of them. Its Result is that of the one that refuses, or
// else of the one that has least left. Charge charges all, and returns the first error.
func All[K comparable](ts ...Taker[K]) Taker[K] {
	for _, t := range ts {
		if t == nil {
			panic("firq: rate: All: a Taker is nil")
		}
	}
	return all[K](append([]Taker[K](nil), ts...))
}

type all[K comparable] []Taker[K]

func (ts all[K]) Take(ctx context.Context, tenant K, cost int64, maxWait time.Duration) (least Result, err error) {
	taken := 0
	defer func() { // also if one panics
		if 0 < taken && taken < len(ts) {
			ts[:taken].undo(context.WithoutCancel(ctx), tenant, cost)
		}
	}()
	waited := time.Duration(0)
	for _, t := range ts {
		r, err := t.Take(ctx, tenant, cost, maxWait)
		waited += r.Waited
		maxWait -= min(maxWait, r.Waited)
		if err != nil {
			r.Waited = waited
			return r, err
		}
		taken++
		if least.Limit == (Limit{}) || r.Limit != (Limit{}) && r.Remaining < least.Remaining {
			least = r
		}
	}
	least.Waited = waited
	return least, nil
}

func (ts all[K]) Charge(ctx context.Context, tenant K, delta int64) (err error) {
	for _, t := range ts {
		if e := t.Charge(ctx, tenant, delta); err == nil {
			err = e
		}
	}
	return err
}

func (ts all[K]) undo(ctx context.Context, tenant K, cost int64) {
	for _, t := range ts {
		Undo(ctx, t, tenant, cost)
	}
}

// Undo gives back what a Take of this cost took, from every Taker that t is made of: for
// work that was not done after all. (Charge corrects what work has cost; of a Count it
// changes nothing.) It does so also if ctx has ended.
func Undo[K comparable](ctx context.Context, t Taker[K], tenant K, cost int64) {
	if u, ok := t.(interface {
		undo(context.Context, K, int64)
	}); ok {
		u.undo(ctx, tenant, cost)
	} else if cost > 0 {
		_ = t.Charge(ctx, tenant, -cost) // a nil ctx, or a server that is away: the tokens come back by themselves
	}
}
