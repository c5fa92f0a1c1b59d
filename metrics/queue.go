package metrics

import (
	"fmt"

	"github.com/firq-go/firq"
)

// Queue is about a scheduler, or the queue of a gate. top and label are the options
// TopTenants and TenantLabel of both exporters.
func Queue[K comparable](top int, label func(K) string) Table[firq.Stats[K]] {
	type stats = firq.Stats[K]
	if label == nil {
		label = func(tenant K) string { return fmt.Sprint(tenant) }
	}
	// rows are the tenants that there are series for; TopTenants has the most delivered first.
	rows := func(s *stats) []firq.TenantCount[K] {
		if top == 0 {
			return s.TopTenants
		}
		return s.TopTenants[:min(max(top, 0), len(s.TopTenants))]
	}
	return Table[stats]{
		{Name: "enqueued", Unit: "{task}", Kind: Counter, Text: "Tasks accepted.",
			Value: func(s *stats) float64 { return float64(s.Enqueued) }},
		{Name: "dequeued", Unit: "{task}", Kind: Counter, Text: "Tasks delivered to a consumer.",
			Value: func(s *stats) float64 { return float64(s.Dequeued) }},
		{Name: "expired", Unit: "{task}", Kind: Counter, Text: "Tasks dropped because their deadline had passed.",
			Value: func(s *stats) float64 { return float64(s.Expired) }},
		{Name: "cancelled", Unit: "{task}", Kind: Counter, Text: "Tasks taken out through their ticket.",
			Value: func(s *stats) float64 { return float64(s.Cancelled) }},
		{Name: "closed", Unit: "{task}", Kind: Counter, Text: "Tasks that were queued when the scheduler was closed.",
			Value: func(s *stats) float64 { return float64(s.Closed) }},
		{Name: "overload", Unit: "{task}", Kind: Counter, Text: "Tasks dropped because their tenant's had waited for too long.",
			Value: func(s *stats) float64 { return float64(s.Overload) }},

		{Name: "queue.length", Unit: "{task}", Kind: Level, Text: "Tasks queued, places reserved by calls in progress included.",
			Prometheus: "firq_queue_len_estimate", Value: func(s *stats) float64 { return float64(s.QueueLen) }},
		{Name: "queue.limit", Unit: "{task}", Kind: Level, Text: "How many tasks may be queued.",
			Prometheus: "firq_max_global_config", Value: func(s *stats) float64 { return float64(s.MaxGlobal) }},
		{Name: "queue.saturation", Unit: "1", Kind: Gauge, Text: "Tasks queued as a share of how many may be, from 0 to 1.",
			Prometheus: "firq_queue_saturation_ratio", Value: func(s *stats) float64 { return s.QueueSaturation }},
		{Name: "in_flight", Unit: "{task}", Kind: Level, Text: "Tasks delivered and not yet done; 0 without a limit of them.",
			Value: func(s *stats) float64 { return float64(s.InFlight) }},
		{Name: "tenants", Unit: "{tenant}", Kind: Level, Text: "Tenants known: queued, in flight, or idle for a short time.",
			Value: func(s *stats) float64 { return float64(s.Tenants) }},
		{Name: "lag", Unit: "{round}", Kind: Gauge, Text: "By how many rounds the tenant that is furthest behind its fair share is.",
			Prometheus: "firq_lag_rounds", Value: func(s *stats) float64 { return s.Lag.Max }},
		{Name: "queue.time_samples", Unit: "{task}", Kind: Counter, Text: "Delivered tasks whose waiting time was recorded.",
			Prometheus: "firq_queue_time_samples", Value: func(s *stats) float64 { return float64(s.QueueTime.Samples) }},

		{Name: "tenant.dequeued", Unit: "{task}", Kind: Counter, Text: "Tasks delivered, by tenant, for the top tenants only.",
			Labels: []string{"tenant"}, Each: func(s *stats, send Send) {
				for _, row := range rows(s) {
					send(float64(row.Dequeued), label(row.Tenant))
				}
			}},
		{Name: "tenant.lag", Unit: "{round}", Kind: Gauge, Text: "By how many rounds the tenant is behind its fair share, for the top tenants only.",
			Prometheus: "firq_tenant_lag_rounds", Labels: []string{"tenant"}, Each: func(s *stats, send Send) {
				most := map[string]float64{} // of those that have one label
				for _, row := range rows(s) {
					name := Valid(label(row.Tenant))
					most[name] = max(most[name], row.Lag)
				}
				for name, lag := range most {
					send(lag, name)
				}
			}},
	}
}
