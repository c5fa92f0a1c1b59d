package firqprom_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqprom"
)

func TestTenantLabels(t *testing.T) {
	type key struct{ org, user int }
	rows := []firq.TenantCount[key]{{Tenant: key{1, 1}, Dequeued: 50}, {Tenant: key{2, 1}, Dequeued: 40}, {Tenant: key{1, 2}, Dequeued: 7}, {Tenant: key{3, 3}, Dequeued: 2}}
	for _, c := range []struct {
		name string
		opts firqprom.Options[key]
		want string
	}{
		{"as printed", firqprom.Options[key]{}, "{1 1}=50 {1 2}=7 {2 1}=40 {3 3}=2"},
		{"the first two", firqprom.Options[key]{TopTenants: 2}, "{1 1}=50 {2 1}=40"},
		{"more than there are", firqprom.Options[key]{TopTenants: 100}, "{1 1}=50 {1 2}=7 {2 1}=40 {3 3}=2"},
		{"none", firqprom.Options[key]{TopTenants: -1}, ""},
		{"the same label twice", firqprom.Options[key]{TenantLabel: func(k key) string { return fmt.Sprint("org ", k.org) }},
			"org 1=57 org 2=40 org 3=2"},
		{"the limit counts tenants", firqprom.Options[key]{TopTenants: 3, TenantLabel: func(key) string { return "all" }}, "all=97"},
		{"not UTF-8", firqprom.Options[key]{TenantLabel: func(key) string { return "x\xffy" }}, "x\uFFFDy=99"},
		{"empty", firqprom.Options[key]{TenantLabel: func(key) string { return "" }}, "=99"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := &fixed[key]{stats: firq.Stats[key]{TopTenants: rows}}
			families, err := pedantic(t, collector(t, src, c.opts)).Gather()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range families {
				if f.GetName() != "firq_tenant_dequeued_total" {
					continue
				}
				for _, m := range f.Metric {
					got = append(got, fmt.Sprintf("%s=%v", m.Label[0].GetValue(), m.GetCounter().GetValue()))
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
}

// A tenant whose name is not UTF-8 must not cost the scrape; two such names that
// come out alike must not either.
func TestTenantNamesNotUTF8(t *testing.T) {
	for _, newScheduler := range cores {
		s := newScheduler(t, firq.Config[string, int]{})
		for _, tenant := range []string{"a\xff", "a\xfe", "b\n\"\\", ""} {
			if err := s.Enqueue(tenant, firq.Task[int]{}); err != nil {
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

// Of tenants that share a label the lag is that of who is furthest behind, not the sum.
func TestTenantLags(t *testing.T) {
	rows := []firq.TenantCount[string]{{Tenant: "a\xff", Dequeued: 3, Lag: 2}, {Tenant: "a\xfe", Dequeued: 2, Lag: 7}, {Tenant: "c", Dequeued: 1, Lag: 90}}
	src := &fixed[string]{stats: firq.Stats[string]{TopTenants: rows}}
	families, err := pedantic(t, collector(t, src, firqprom.Options[string]{TopTenants: 2})).Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range families {
		if f.GetName() == "firq_tenant_lag_rounds" {
			for _, m := range f.Metric {
				got += fmt.Sprintf("%s=%v ", m.Label[0].GetValue(), m.GetGauge().GetValue())
			}
		}
	}
	if got != "a\uFFFD=7 " {
		t.Errorf("got %q", got)
	}
}
