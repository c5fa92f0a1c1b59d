package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// fake is as much of an engine as the tests of this package need: package queuetest has those of whole ones. Tasks come in their order,
// and there are three lanes.
type fake struct {
	Engine
	mu     sync.Mutex
	queued []Raw
	leases map[uint64]Raw
	token  uint64
	lost   uint64
	asked  int // for how many tenants
	news   chan struct{}
}

func (f *fake) Traits() Traits                      { return Traits{Name: "fake", Lanes: 3} }
func (f *fake) Open(context.Context, Options) error { return nil }
func (f *fake) Close() error                        { return nil }
func (f *fake) From(_, _ []string) Source           { return f }

func (f *fake) Lane(tenant string) int {
	n, _ := strconv.Atoi(tenant)
	return n % 3
}

func (f *fake) Push(_ context.Context, _ int, ps []*Push) (rs []Result, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range ps {
		f.queued = append(f.queued, p.Raw)
		rs = append(rs, Result{ID: p.ID})
	}
	f.ring()
	return rs, nil
}

func (f *fake) ring() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *fake) Pop(ctx context.Context, want func() int) ([]Delivery, error) {
	for n := want(); n > 0; n = want() {
		if ds := f.pop(n); len(ds) > 0 {
			return ds, nil
		}
		select {
		case <-f.news:
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil, nil
}

func (f *fake) pop(n int) (ds []Delivery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queued) > 0 && len(ds) < n {
		f.token++
		f.leases[f.token] = f.queued[0]
		ds = append(ds, Delivery{Item: Item[[]byte]{Task: f.queued[0].Task, Attempt: 1, Token: f.token}})
		f.queued = f.queued[1:]
	}
	return ds
}

// end ends deliveries.
func (f *fake) end(ls []Lease, again bool) (errs []error, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range ls {
		raw, there := f.leases[l.Token]
		delete(f.leases, l.Token)
		if !there {
			f.lost++
			errs = append(errs, ErrLeaseLost)
			continue
		}
		errs = append(errs, nil)
		if again {
			f.queued = append([]Raw{raw}, f.queued...)
		}
	}
	f.ring()
	return errs, nil
}

func (f *fake) Ack(_ context.Context, _ int, ls []Lease) ([]error, error) { return f.end(ls, false) }

func (f *fake) Release(_ context.Context, _ int, ls []Lease) ([]error, error) { return f.end(ls, true) }

func (f *fake) Nack(_ context.Context, _ int, l Lease, r Retry) error {
	errs, _ := f.end([]Lease{l}, !r.Dead)
	return errs[0]
}

func (f *fake) Extend(_ context.Context, _ int, d time.Duration, counts bool, ls []Lease) (until time.Time, errs []error, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range ls {
		_, there := f.leases[l.Token]
		errs = append(errs, map[bool]error{false: ErrLeaseLost}[there])
		if !there && counts {
			f.lost++
		}
	}
	return time.Now().Add(d), errs, nil
}

func (f *fake) Stats(context.Context) (Stats, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Stats{Queued: len(f.queued), InFlight: len(f.leases), LeaseLost: f.lost}, nil
}

// numbers are those of all tenants, by name.
func (f *fake) numbers() []TenantStats {
	all := map[string]*TenantStats{}
	for i := range f.queued {
		name := f.queued[i].Tenant
		if all[name] == nil {
			all[name] = &TenantStats{Tenant: name, Oldest: time.Hour - time.Duration(i)}
		}
		all[name].Queued++
	}
	var list []TenantStats
	for _, t := range all {
		list = append(list, *t)
	}
	return list
}

func (f *fake) TenantStats(_ context.Context, names []string) (some []TenantStats, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked += len(names)
	for _, t := range f.numbers() {
		if slices.Contains(names, t.Tenant) {
			some = append(some, t)
		}
	}
	return some, nil
}

func (f *fake) Tenants(_ context.Context, cursor string, n int) (some []TenantStats, next string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.numbers()
	slices.SortFunc(all, func(a, b TenantStats) int { return cmpNames(a.Tenant, b.Tenant) })
	from := 0
	if cursor != "" {
		from, _ = strconv.Atoi(cursor)
	}
	some = all[min(from, len(all)):min(from+n, len(all))]
	f.asked += len(some)
	if from+n < len(all) {
		next = fmt.Sprint(from + n)
	}
	return some, next, nil
}

func cmpNames(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func open(t testing.TB) (*Queue[string], *fake) {
	t.Helper()
	f := &fake{leases: map[uint64]Raw{}, news: make(chan struct{}, 1)}
	q, err := New(context.Background(), Engine(f), Config[string]{})
	ok(t, err)
	t.Cleanup(func() { ok(t, q.Close()) })
	return q, f
}

func put(t testing.TB, q *Queue[string], tenants ...string) {
	t.Helper()
	ts := make([]Task[string], len(tenants))
	for i := range ts {
		ts[i].Tenant = tenants[i]
	}
	_, err := q.EnqueueBatch(bounded(t), ts)
	ok(t, err)
}

func now(t testing.TB, q *Queue[string], n int) []*Item[string] {
	t.Helper()
	its, err := q.DequeueBatch(bounded(t), n)
	ok(t, err)
	return its
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func same[V comparable](t testing.TB, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func want(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%v, want %v", err, target)
	}
}

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}
