package firqprom_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/metrics/metricstest"
)

// A tenant whose name is not UTF-8 must not cost the scrape; two such names that
// come out alike must not either.
func TestTenantNamesNotUTF8(t *testing.T) {
	for _, newScheduler := range metricstest.Cores {
		s := newScheduler(t, firq.Config[string, string]{})
		for _, tenant := range []string{"a\xff", "a\xfe", "b\n\"\\", ""} {
			if err := s.Enqueue(tenant, firq.Task[string]{}); err != nil {
				t.Fatal(err)
			}
			s.TryDequeue()
		}
		err := testutil.CollectAndCompare(collector(t, s, firqprom.Options[string]{}), strings.NewReader(`
# HELP firq_tenant_dequeued_total Tasks delivered, by tenant, for the top tenants only.
# TYPE firq_tenant_dequeued_total counter
firq_tenant_dequeued_total{tenant=""} 1
firq_tenant_dequeued_total{tenant="a`+"\uFFFD"+`"} 2
firq_tenant_dequeued_total{tenant="b\n\"\\"} 1
`), "firq_tenant_dequeued_total")
		if err != nil {
			t.Error(err)
		}
	}
}

// The options of tenants are those of the series.
func TestTenantOptions(t *testing.T) {
	src := metricstest.Of(metricstest.Queue())
	err := testutil.CollectAndCompare(collector(t, src, firqprom.Options[string]{
		TopTenants: 2, TenantLabel: func(tenant string) string { return "<" + tenant + ">" },
	}), strings.NewReader(`
# HELP firq_tenant_dequeued_total Tasks delivered, by tenant, for the top tenants only.
# TYPE firq_tenant_dequeued_total counter
firq_tenant_dequeued_total{tenant="<a>"} 60
firq_tenant_dequeued_total{tenant="<b>"} 30
`), "firq_tenant_dequeued_total")
	if err != nil {
		t.Error(err)
	}
}
