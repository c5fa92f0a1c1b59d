package firqprom_test

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/lockfree"
)

// Two schedulers in one registry. The tenants of the second are numbers, which
// its label turns into names.
func Example() {
	api, err := lockfree.New(firq.Config[string, string]{MaxGlobal: 4})
	if err != nil {
		panic(err)
	}
	jobs, err := lockfree.New(firq.Config[int, string]{})
	if err != nil {
		panic(err)
	}
	apiMetrics, err := firqprom.New(api, firqprom.Options[string]{Scheduler: "api"})
	if err != nil {
		panic(err)
	}
	jobMetrics, err := firqprom.New(jobs, firqprom.Options[int]{
		Scheduler:   "jobs",
		TenantLabel: func(id int) string { return fmt.Sprintf("account-%d", id) },
		TopTenants:  5,
	})
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry() // with promhttp.HandlerFor(registry, ...) on /metrics
	registry.MustRegister(apiMetrics, jobMetrics)

	for _, tenant := range []string{"alice", "alice", "alice", "bob", "bob"} { // one more than there is room for
		_ = api.Enqueue(tenant, firq.Task[string]{})
	}
	_ = jobs.Enqueue(7, firq.Task[string]{})
	jobs.TryDequeue()

	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		show := []string{"firq_enqueued_total", "firq_rejected_global_total", "firq_queue_saturation_ratio", "firq_tenant_dequeued_total"}
		if !slices.Contains(show, f.GetName()) {
			continue
		}
		for _, m := range f.Metric {
			fmt.Print(f.GetName())
			for _, l := range m.Label {
				fmt.Printf(" %s=%s", l.GetName(), l.GetValue())
			}
			fmt.Println("", m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
	// Output:
	// firq_enqueued_total scheduler=api 4
	// firq_enqueued_total scheduler=jobs 1
	// firq_queue_saturation_ratio scheduler=api 1
	// firq_queue_saturation_ratio scheduler=jobs 0
	// firq_rejected_global_total scheduler=api 1
	// firq_rejected_global_total scheduler=jobs 0
	// firq_tenant_dequeued_total scheduler=jobs tenant=account-7 1
}
