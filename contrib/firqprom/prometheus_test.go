package firqprom_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/model"

	"github.com/firq-go/firq/contrib/firqprom"
)

// TestPrometheus lets a real server scrape schedulers, and all that is around them, under load: every query of
// the dashboard has data, every alert fires, and at rest every series says what
// Stats says.
func TestPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and takes seconds; not with -short")
	}
	program(t, "prometheus") // before there is anything to clean up
	scheds := newFleet(t)
	reg := prometheus.NewPedanticRegistry()
	for name, s := range scheds.all() {
		if err := reg.Register(collector(t, s, firqprom.Options[string]{Scheduler: name, NativeHistogram: true})); err != nil {
			t.Fatal(err)
		}
	}
	parts := newService(t, scheds.stuck)
	parts.register(t, reg)
	api := startPrometheus(t, serverConfig(t, reg))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var both sync.WaitGroup
		both.Go(func() { scheds.load(ctx) })
		parts.run(ctx)
		both.Wait()
	}()
	defer func() { stop(); <-done }()

	t.Run("dashboard", func(t *testing.T) { queryDashboard(t, api) })
	t.Run("rules", func(t *testing.T) { queryRules(t, api) })
	t.Run("native histogram", func(t *testing.T) {
		nonEmpty(t, api, `histogram_quantile(0.99, rate(firq_queue_time_ns{job="native",scheduler="busy"}[5s])) > 0`)
		nonEmpty(t, api, `histogram_quantile(0.99, rate(firq_pool_handler_duration_seconds{job="native"}[5s])) < 1`)
	})
	stop()
	<-done
	t.Run("values", func(t *testing.T) { compareValues(t, api, scheds, parts) })
}

// serverConfig returns the config of a server that scrapes reg twice: as text,
// which has classic histograms only, and in the format the server asks for.
func serverConfig(t *testing.T, reg *prometheus.Registry) string {
	t.Helper()
	metrics := promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	mux := http.NewServeMux()
	mux.Handle("/native", metrics)
	mux.HandleFunc("/classic", func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept")
		metrics.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	rules, err := filepath.Abs(filepath.Join(rulesDir, "firq.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`
global: {scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms}
rule_files: [%q]
scrape_configs:
  - {job_name: classic, metrics_path: /classic, static_configs: [{targets: [%[2]q]}]}
  - {job_name: native, metrics_path: /native, static_configs: [{targets: [%[2]q]}]}
`, rules, strings.TrimPrefix(server.URL, "http://"))
}

// nonEmpty waits until the query returns a number, and not NaN only.
func nonEmpty(t *testing.T, api promv1.API, query string) {
	t.Helper()
	eventually(t, query, func(ctx context.Context) error {
		result, err := vector(ctx, api, query)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(result, func(s *model.Sample) bool { return !math.IsNaN(float64(s.Value)) }) {
			return fmt.Errorf("no data: %v", result)
		}
		return nil
	})
}

func vector(ctx context.Context, api promv1.API, query string) (model.Vector, error) {
	value, warnings, err := api.Query(ctx, query, time.Time{})
	if err != nil {
		return nil, err
	}
	if len(warnings) != 0 {
		return nil, fmt.Errorf("warnings: %v", warnings)
	}
	result, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("a %v instead of a vector", value.Type())
	}
	return result, nil
}

func queryDashboard(t *testing.T, api promv1.API) {
	d := readDashboard(t)
	for _, p := range d.graphs() {
		for _, target := range p.Targets {
			nonEmpty(t, api, fill(target.Expr))
		}
	}
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		selector, label := v.values(t)
		values, _, err := api.LabelValues(t.Context(), label, []string{fill(selector)}, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
		if err != nil || len(values) == 0 {
			t.Errorf("variable %s: %v, %v", v.Name, values, err)
		}
	}
}

// queryRules: what a rule records is there, and every alert is at least pending,
// which it is from the moment its expression has data.
func queryRules(t *testing.T, api promv1.API) {
	var records []string
	eventually(t, "rules", func(ctx context.Context) error {
		result, err := api.Rules(ctx, nil)
		if err != nil {
			return err
		}
		records = nil
		alerts := 0
		for _, group := range result.Groups {
			for _, rule := range group.Rules {
				switch rule := rule.(type) {
				case promv1.RecordingRule:
					if rule.LastError != "" {
						return fmt.Errorf("%s: %s", rule.Name, rule.LastError)
					}
					records = append(records, rule.Name)
				case promv1.AlertingRule:
					if rule.LastError != "" || rule.State == "inactive" {
						return fmt.Errorf("%s: %s %s", rule.Name, rule.State, rule.LastError)
					}
					alerts++
				}
			}
		}
		if alerts == 0 || len(records) == 0 {
			return fmt.Errorf("%d alerts and %d recording rules", alerts, len(records))
		}
		return nil
	})
	for _, name := range records {
		nonEmpty(t, api, name)
	}
}

// scraped returns what the query finds, and asks again while that is nothing: on a busy machine
// a scrape takes longer than its limit now and then, and until the next one its series are stale.
func scraped(t *testing.T, api promv1.API, query string) (result model.Vector) {
	t.Helper()
	eventually(t, query, func(ctx context.Context) (err error) {
		result, err = vector(ctx, api, query)
		if err == nil && len(result) == 0 {
			err = errors.New("no data")
		}
		return err
	})
	return result
}

// compareValues: of a scrape at rest each sample is what Stats says, nothing is
// missing, and there is nothing else.
func compareValues(t *testing.T, api promv1.API, scheds fleet, parts *service) {
	want := map[string]float64{}
	for name, s := range scheds.all() {
		expect(want, name, s.Stats())
	}
	parts.expect(want)
	n := 2 * (len(scheds.all()) + 3) // scraped twice, and there are the queues of two gates, and of the pool
	rest := time.Now()
	eventually(t, "a scrape at rest", func(ctx context.Context) error {
		result, err := vector(ctx, api, fmt.Sprintf(`timestamp(firq_enqueued_total) > %.3f`, float64(rest.UnixMilli())/1000))
		if err != nil {
			return err
		}
		if len(result) != n {
			return fmt.Errorf("%d series", len(result))
		}
		return nil
	})
	for _, s := range scraped(t, api, `{__name__=~"firq_.+", __name__!~"firq_watchdog_.+", job="classic"}`) {
		key := fmt.Sprintf("%s %s %s%s", s.Metric[model.MetricNameLabel], s.Metric["scheduler"], s.Metric["tenant"]+s.Metric["kind"]+s.Metric["method"]+s.Metric["mode"]+s.Metric["end"]+s.Metric["reason"]+s.Metric["source"], s.Metric["le"])
		value, ok := want[key]
		if !ok {
			t.Errorf("unexpected: %v", s)
		} else if float64(s.Value) != value {
			t.Errorf("%s is %v, Stats says %v", key, s.Value, value)
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("missing: %s", key)
	}
	counts := scraped(t, api, `histogram_count(firq_queue_time_ns{job="native",scheduler=~"busy|calm|stuck|closed|unfair"})`)
	if len(counts) != len(scheds.all()) {
		t.Errorf("%d native histograms, want %d", len(counts), len(scheds.all()))
	}
	for _, s := range counts {
		n := scheds.all()[string(s.Metric["scheduler"])].Stats().QueueTime.Samples
		if float64(s.Value) != float64(n) {
			t.Errorf("%v: want %d samples", s, n)
		}
	}
}
