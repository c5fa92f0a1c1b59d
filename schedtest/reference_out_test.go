package schedtest_test

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/firq-go/firq"
)

// This is the reference's delivery, its end, and its counters.

func (r *reference[K, T]) TryDequeue() (firq.Item[K, T], bool) {
	r.rethrow()
	var dst [1]firq.Item[K, T]
	n, drops := r.take(dst[:])
	r.report(drops, dst[:n]...)
	return dst[0], n == 1
}

func (r *reference[K, T]) Dequeue(ctx context.Context) (firq.Item[K, T], error) {
	var dst [1]firq.Item[K, T]
	_, err := r.DequeueBatch(ctx, dst[:])
	return dst[0], err
}

func (r *reference[K, T]) DequeueBatch(ctx context.Context, dst []firq.Item[K, T]) (int, error) {
	if ctx == nil {
		return 0, fmt.Errorf("%w: ctx is nil", firq.ErrInvalidArgument)
	}
	if len(dst) == 0 {
		return 0, fmt.Errorf("%w: dst is empty", firq.ErrInvalidArgument)
	}
	r.rethrow()
	for {
		n, drops := r.take(dst)
		r.report(drops, dst[:n]...)
		if n > 0 {
			return n, nil
		}
		r.mu.Lock()
		if r.closed || r.draining && r.queued == 0 {
			r.mu.Unlock()
			return 0, firq.ErrClosed
		}
		if r.deliverable() {
			r.mu.Unlock()
			continue
		}
		changed := r.change()
		r.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(5 * time.Millisecond): // it may be simple and poll, what it proves is not the waking
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (r *reference[K, T]) deliverable() bool { return r.ready() }

// take fills dst with what is deliverable.
func (r *reference[K, T]) take(dst []firq.Item[K, T]) (n int, drops []refDrop[K, T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for n < len(dst) {
		f := r.next(now, &drops)
		if f == nil {
			break
		}
		tk, t := *r.front(f, now), f.t
		r.remove(t, int(tk.Priority), r.end(t, int(tk.Priority)))
		if tk.line != nil {
			tk.line.deficit -= tk.Cost // now that nobody asks for it again
		}
		wait := now.Sub(tk.at)
		dst[n] = firq.Item[K, T]{Tenant: t.key, Payload: tk.Payload, Cost: tk.Cost, Priority: tk.Priority, Deadline: tk.due, Wait: wait, Flow: tk.Flow}
		token := uint64(tk.Priority) // no more than that: not in flight
		if t.says.inFlight > 0 {
			r.token += 8
			token |= r.token
			r.inFlight[token] = t
			r.stats.InFlight++
			if t.flights++; r.blocked(t) {
				r.block(t)
			}
		}
		dst[n].Bind(f, token)
		r.record(t.key, wait)
		n++
	}
	if n > 0 || len(drops) > 0 {
		r.wake()
	}
	return n, drops
}

// record counts a delivery.
func (r *reference[K, T]) record(tenant K, wait time.Duration) {
	r.stats.Dequeued++
	q := &r.stats.QueueTime
	q.Samples++
	q.Sum += wait
	q.Max = max(q.Max, wait)
	r.buckets[bits.Len64(uint64(wait))]++
	if len(r.waits) < 1000 {
		r.waits = append(r.waits, wait)
	}
	if _, ok := r.served[tenant]; ok || len(r.served) < 1000 {
		r.served[tenant]++
	}
}

func (r *reference[K, T]) Stats() firq.Stats[K] {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(time.Now())
	st := r.stats
	st.QueueLen, st.Tenants, st.MaxGlobal = r.queued, len(r.tenants), r.most
	st.Dropped = st.RejectedGlobal + st.RejectedTenant + st.TimeoutRejected + st.DroppedPolicy
	st.QueueSaturation = float64(r.queued) / float64(r.most)
	q := &st.QueueTime
	for i, n := range r.buckets {
		if n > 0 {
			q.Buckets = append(q.Buckets, firq.Bucket{UpperBound: time.Duration(1)<<i - 1, Count: n})
		}
	}
	if n := len(r.waits); n > 0 {
		sorted := slices.Sorted(slices.Values(r.waits))
		q.P50, q.P95, q.P99, q.P999 = sorted[n/2], sorted[n*95/100], sorted[n*99/100], sorted[n*999/1000]
	}
	for k, n := range r.served {
		st.TopTenants = append(st.TopTenants, firq.TenantCount[K]{Tenant: k, Dequeued: n})
	}
	slices.SortFunc(st.TopTenants, func(a, b firq.TenantCount[K]) int { return cmp.Compare(b.Dequeued, a.Dequeued) })
	st.TopTenants = st.TopTenants[:min(len(st.TopTenants), max(r.cfg.TopTenants, 0))]
	return st
}

func (r *reference[K, T]) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("%w: ctx is nil", firq.ErrInvalidArgument)
	}
	for {
		r.mu.Lock()
		r.draining = true
		closed, left := r.closed, r.queued
		r.wake()
		changed := r.change()
		r.mu.Unlock()
		switch {
		case closed:
			return firq.ErrClosed
		case left == 0:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *reference[K, T]) Close() error {
	r.mu.Lock()
	var drops []refDrop[K, T]
	if !r.closed {
		r.closed = true
		for _, t := range r.tenants {
			for p := range t.tasks {
				for len(t.tasks[p]) > 0 {
					drops = append(drops, refDrop[K, T]{t.key, t.tasks[p][0].Payload, firq.DropClosed})
					r.remove(t, p, 0)
					r.stats.Closed++
				}
			}
			for i := range t.flows {
				r.leave(&t.flows[i])
			}
		}
	}
	r.wake()
	r.mu.Unlock()
	r.report(drops)
	return nil
}
