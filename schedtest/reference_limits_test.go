package schedtest_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/firq-go/firq"
)

// These are the reference's limits that change, and its handles.

// says is what Config says of every tenant, as far as that is constant.
func (r *reference[K, T]) says() refSays {
	return refSays{quantum: r.cfg.Quantum, perTenant: r.perTenant, inFlight: r.cfg.MaxInFlightPerTenant}
}

// ask asks what Config says of the tenant.
func (r *reference[K, T]) ask(tenant K) refSays {
	says := r.says()
	if r.cfg.QuantumFor != nil {
		says.quantum = r.cfg.QuantumFor(tenant)
	}
	says.perTenant = r.askPerTenant(tenant)
	if r.cfg.MaxInFlightFor != nil {
		if n := r.cfg.MaxInFlightFor(tenant); n != 0 {
			says.inFlight = max(n, 1)
		}
	}
	return says
}

func (r *reference[K, T]) askPerTenant(tenant K) int {
	if r.cfg.MaxPerTenantFor != nil {
		return max(cmp.Or(r.cfg.MaxPerTenantFor(tenant), r.perTenant), 1)
	}
	return r.perTenant
}

func (r *reference[K, T]) limitOf(t *refTenant[K, T]) int {
	return cmp.Or(r.limits[t.key], t.says.perTenant)
}

func (r *reference[K, T]) SetMaxGlobal(n int) {
	if n < 1 || n > firq.MaxTasks {
		panic(fmt.Sprintf("SetMaxGlobal: n is %d", n))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = n
	r.wake()
}

func (r *reference[K, T]) SetLimit(tenant K, n int) {
	if n < 0 {
		panic(fmt.Sprintf("SetLimit: n is %d", n))
	}
	if tenant != tenant { // NaN
		return
	}
	perTenant := 0
	if n == 0 {
		perTenant = r.askPerTenant(tenant)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limits[tenant] = n; n == 0 {
		delete(r.limits, tenant)
		if t := r.tenants[tenant]; t != nil {
			t.says.perTenant = perTenant
		}
	}
	r.wake()
}

// refHandle is a key.
type refHandle[K comparable, T any] struct {
	r   *reference[K, T]
	key K
}

func (r *reference[K, T]) Tenant(k K) firq.Handle[K, T] { return &refHandle[K, T]{r, k} }

func (h *refHandle[K, T]) Tenant() K { return h.key }

func (h *refHandle[K, T]) Enqueue(t firq.Task[T]) error { return h.r.Enqueue(h.key, t) }

func (h *refHandle[K, T]) EnqueueWait(ctx context.Context, t firq.Task[T]) error {
	return h.r.EnqueueWait(ctx, h.key, t)
}

func (h *refHandle[K, T]) EnqueueBatch(ts []firq.Task[T]) (int, error) {
	return h.r.EnqueueBatch(h.key, ts)
}
