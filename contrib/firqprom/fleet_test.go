package firqprom_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/metrics/metricstest"
)

// fleet is a scheduler for each thing that can go wrong: busy is full, rejects,
// evicts, drops and makes wait; stuck has tasks and no consumer; closed is;
// calm is fine.
type fleet struct {
	busy, calm, stuck, closed *lockfree.Scheduler[string, string]
}

func (f fleet) all() map[string]firqprom.Source[string] {
	return map[string]firqprom.Source[string]{"busy": f.busy, "calm": f.calm, "stuck": f.stuck, "closed": f.closed, "unfair": unfair}
}

// unfair is what no scheduler here is: one that passes a tenant over.
var unfair = metricstest.Of(firq.Stats[string]{
	Lag: firq.Lag[string]{Max: 500, Tenant: "b"}, TopTenants: []firq.TenantCount[string]{{Tenant: "a", Dequeued: 900}, {Tenant: "b", Dequeued: 400, Lag: 500}},
})

func newFleet(t *testing.T) (f fleet) {
	t.Helper()
	policies := map[string]firq.Backpressure{
		"evicts": {Policy: firq.DropOldest},
		"waits":  {Policy: firq.Wait, Wait: time.Millisecond},
	}
	for _, s := range []**lockfree.Scheduler[string, string]{&f.busy, &f.calm, &f.stuck, &f.closed} {
		var err error
		*s, err = lockfree.New(firq.Config[string, string]{
			MaxGlobal: 100, MaxPerTenant: 40, MaxInFlightPerTenant: 1000, TenantIdle: time.Hour, Shards: 2,
			BackpressureFor: func(tenant string) firq.Backpressure { return policies[tenant] },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*s).Close() })
	}
	for range 5 {
		for _, s := range []*lockfree.Scheduler[string, string]{f.stuck, f.closed} {
			if err := s.Enqueue("a", firq.Task[string]{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.stuck.TryDequeue()
	_ = f.closed.Close()
	return f
}

// load keeps calm calm and busy full until ctx is done: per step it makes room for a few tasks
// and offers more. The first tenant gets what it may have, the last nothing but
// what is left. 80 tasks per second leave, so that they wait for a second or two.
func (f fleet) load(ctx context.Context) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for range 2 {
			if it, ok := f.busy.TryDequeue(); ok && i%10 != 0 {
				it.Done()
			}
		}
		fill := func(tenant string) {
			for f.busy.Enqueue(tenant, firq.Task[string]{}) == nil {
			}
		}
		fill("noisy")
		var ticket firq.Ticket
		_ = f.busy.Enqueue("cancels", firq.Task[string]{Ticket: &ticket})
		ticket.Cancel()
		_ = f.busy.Enqueue("expires", firq.Task[string]{Deadline: time.Unix(1, 0)})
		_ = f.busy.Enqueue("evicts", firq.Task[string]{})
		fill("quiet")
		_ = f.busy.Enqueue("waits", firq.Task[string]{})
		_ = f.calm.Enqueue("a", firq.Task[string]{})
		if it, ok := f.calm.TryDequeue(); ok {
			it.Done()
		}
	}
}

// expect puts what the series of one scheduler must say into want.
func expect(want map[string]float64, name string, st firq.Stats[string]) {
	for metric, value := range map[string]float64{
		"firq_enqueued_total":         float64(st.Enqueued),
		"firq_dequeued_total":         float64(st.Dequeued),
		"firq_expired_total":          float64(st.Expired),
		"firq_cancelled_total":        float64(st.Cancelled),
		"firq_closed_total":           float64(st.Closed),
		"firq_overload_total":         float64(st.Overload),
		"firq_lag_rounds":             st.Lag.Max,
		"firq_dropped_total":          float64(st.Dropped),
		"firq_rejected_global_total":  float64(st.RejectedGlobal),
		"firq_rejected_tenant_total":  float64(st.RejectedTenant),
		"firq_timeout_rejected_total": float64(st.TimeoutRejected),
		"firq_dropped_policy_total":   float64(st.DroppedPolicy),
		"firq_queue_len_estimate":     float64(st.QueueLen),
		"firq_max_global_config":      float64(st.MaxGlobal),
		"firq_queue_saturation_ratio": st.QueueSaturation,
		"firq_in_flight":              float64(st.InFlight),
		"firq_tenants":                float64(st.Tenants),
		"firq_queue_time_sum_ns":      float64(st.QueueTime.Sum),
		"firq_queue_time_samples":     float64(st.QueueTime.Samples),
		"firq_queue_time_p95_ns":      float64(st.QueueTime.P95),
		"firq_queue_time_p99_ns":      float64(st.QueueTime.P99),
		"firq_queue_time_ns_sum":      float64(st.QueueTime.Sum),
		"firq_queue_time_ns_count":    float64(st.QueueTime.Samples),
	} {
		want[metric+" "+name+" "] = value
	}
	for _, row := range st.TopTenants {
		want["firq_tenant_dequeued_total "+name+" "+row.Tenant] = float64(row.Dequeued)
		want["firq_tenant_lag_rounds "+name+" "+row.Tenant] = row.Lag
	}
	var upTo uint64
	for _, b := range st.QueueTime.Buckets {
		upTo += b.Count
		want[fmt.Sprintf("firq_queue_time_ns_bucket %s %v", name, float64(b.UpperBound))] = float64(upTo)
	}
	want["firq_queue_time_ns_bucket "+name+" +Inf"] = float64(st.QueueTime.Samples)
}
