package queue

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/firq-go/firq"
)

// Survey has the Stats and TopTenants of a queue for callers that look again and again, as metrics and status pages do. Those of
// Queue look at every tenant that has tasks. Those of Survey look at 10,000 per call at most, and remember what they have seen of
// the others: with more tenants, Stats.Oldest and the choice of TopTenants lag by the number of calls that it takes to look at
// all of them. Counters, and the numbers of the tenants that are returned, are always up to date.
//
// A queue has one. Safe for concurrent use.
type Survey[T any] struct {
	q    *Queue[T]
	turn chan struct{} // has room for the call that looks, which has the rest

	least  int       // at how many tenants a call looks
	most   int       // tenants that were asked for
	seen   ranking   // by the pass that is under way
	before ranking   // by the one before
	cursor string    // where the pass is
	looked time.Time // when it went on
	whole  bool      // the last step was a whole pass
}

const (
	// surveyed is the number of tenants that a survey looks at per call.
	surveyed = 10_000
	// surveyEvery is how often that happens at most, if it is not all of them.
	surveyEvery = time.Second
	// surveyLeast is for how many tenants of each order a survey remembers at least the next tenant.
	surveyLeast = 100
)

// Survey returns the queue's survey.
func (q *Queue[T]) Survey() *Survey[T] { return q.survey }

// Engine is Queue.Engine.
func (s *Survey[T]) Engine() Engine { return s.q.engine }

func newSurvey[T any](q *Queue[T]) *Survey[T] {
	return &Survey[T]{q: q, turn: make(chan struct{}, 1), least: surveyed, most: surveyLeast, seen: ranking{}, before: ranking{}}
}

// Stats is Queue.Stats.
func (s *Survey[T]) Stats(ctx context.Context) (Stats, error) {
	st, _, err := s.Overview(ctx, 1)
	return st, err
}

// TopTenants is Queue.TopTenants.
func (s *Survey[T]) TopTenants(ctx context.Context, n int, by By) ([]TenantStats, error) {
	if err := topArgs(n, by); err != nil {
		return nil, err
	}
	if err := s.q.call(ctx, "TopTenants"); err != nil {
		return nil, err
	}
	tops, err := s.tops(ctx, n, by)
	if err != nil {
		return nil, err
	}
	return tops[0], nil
}

// Overview returns Stats, and TopTenants in several orders, at the cost of one call.
func (s *Survey[T]) Overview(ctx context.Context, n int, by ...By) (Stats, [][]TenantStats, error) {
	by = append(slices.Clone(by), ByOldest)
	for _, b := range by {
		if err := topArgs(n, b); err != nil {
			return Stats{}, nil, err
		}
	}
	if err := s.q.call(ctx, "Overview"); err != nil {
		return Stats{}, nil, err
	}
	st, err := s.q.engine.Stats(ctx)
	if err != nil {
		return Stats{}, nil, err
	}
	tops, err := s.tops(ctx, n, by...)
	if err != nil {
		return Stats{}, nil, err
	}
	last := len(by) - 1
	if oldest := tops[last]; len(oldest) > 0 {
		st.Oldest = oldest[0].Oldest
	}
	return st, tops[:last], nil
}

// QueueTimes is Queue.QueueTimes.
func (s *Survey[T]) QueueTimes(ctx context.Context) ([]firq.Bucket, time.Duration, error) {
	return s.q.QueueTimes(ctx)
}

// tops looks at some more tenants, and returns the first ones of all that it knows, as they are now, in several orders.
func (s *Survey[T]) tops(ctx context.Context, n int, by ...By) ([][]TenantStats, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	s.most = max(s.most, min(n, surveyed))
	if s.whole || time.Since(s.looked) >= surveyEvery {
		if err := s.look(ctx); err != nil {
			return nil, err
		}
	}
	known := maps.Clone(s.before)
	maps.Copy(known, s.seen)
	if !s.whole {
		var err error
		if known, err = s.again(ctx, known, max(n, surveyLeast), by); err != nil {
			return nil, err
		}
	}
	tops := make([][]TenantStats, len(by))
	for i, b := range by {
		tops[i] = known.top(n, b)
	}
	return tops, nil
}

// again looks at the first n once more, by each order: what is known of them may be old.
func (s *Survey[T]) again(ctx context.Context, known ranking, n int, by []By) (ranking, error) {
	var names []string
	named := map[string]bool{}
	for _, b := range by {
		for _, t := range known.top(n, b) {
			if !named[t.Tenant] {
				named[t.Tenant] = true
				names = append(names, t.Tenant)
			}
		}
	}
	now := ranking{}
	for some := range slices.Chunk(names, MaxBatch) {
		all, err := s.q.engine.TenantStats(ctx, some)
		if err != nil {
			return nil, err
		}
		for i := range all {
			now.add(&all[i])
		}
	}
	return now, nil
}

// look is a step of a pass over all tenants.
func (s *Survey[T]) look(ctx context.Context) error {
	s.looked, s.whole = time.Now(), false
	began := s.cursor == ""
	for left := s.least; left > 0; {
		some, next, err := s.q.engine.Tenants(ctx, s.cursor, tenantsAtOnce)
		if err != nil {
			return err
		}
		for i := range some {
			s.seen.add(&some[i])
		}
		s.seen.prune(s.most)
		left -= 1 + len(some)
		if s.cursor = next; next == "" {
			s.before, s.seen, s.whole = s.seen, ranking{}, began
			return nil
		}
	}
	return nil
}

// ranking holds the numbers of tenants that were seen.
type ranking map[string]TenantStats

// add notes the numbers of a tenant; a tenant without tasks is removed.
func (r ranking) add(t *TenantStats) {
	if t.Queued+t.Delayed+t.InFlight > 0 {
		r[t.Tenant] = *t
	} else {
		delete(r, t.Tenant)
	}
}

// top returns the first n by an order.
func (r ranking) top(n int, by By) []TenantStats {
	all := slices.Collect(maps.Values(r))
	key := func(t *TenantStats) int64 { return [...]int64{int64(t.Queued), int64(t.InFlight), int64(t.Oldest)}[by] }
	slices.SortFunc(all, func(a, b TenantStats) int {
		return cmp.Or(cmp.Compare(key(&b), key(&a)), cmp.Compare(a.Tenant, b.Tenant))
	})
	return all[:min(n, len(all))]
}

// prune forgets those that are not among the first n by any order, once they are many.
func (r ranking) prune(n int) {
	const orders = int(ByOldest) + 1
	if len(r) < 4*orders*n {
		return
	}
	kept := ranking{}
	for by := range By(orders) {
		for _, t := range r.top(n, by) {
			kept[t.Tenant] = t
		}
	}
	clear(r)
	maps.Copy(r, kept)
}

func topArgs(n int, by By) error {
	if n < 1 || by > ByOldest {
		return invalidArgument("TopTenants: n: %d, by: %d", n, by)
	}
	return nil
}
