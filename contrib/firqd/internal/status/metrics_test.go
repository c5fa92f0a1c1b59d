package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/queue"
)

var sampleLine = regexp.MustCompile(`^firq_queue_[a-z_]+\{engine="redis",queue="mail"(,[a-z]+="(\\.|[^"\\\n])*")?\} [0-9.e+-]+$`)

func TestMetrics(t *testing.T) {
	s := newSite(t, "127.0.0.1:0")
	for i, tenant := range []string{`a"b\`, `a"b\`, "x", "x", "x", "small"} {
		s.enqueue(tenant, fmt.Sprint(i))
	}
	s.die("no", "d")
	code, h, text := s.ask("metrics", nil)
	if code != http.StatusOK || h.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("%d, %v", code, h)
	}
	typed := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if f := strings.Fields(line); strings.HasPrefix(line, "# TYPE ") {
			typed[f[2]] = f[3]
		} else if !strings.HasPrefix(line, "# HELP ") && !sampleLine.MatchString(line) {
			t.Errorf("not a sample: %s", line)
		}
	}
	for name, kind := range map[string]string{
		"pushed_total": "counter", "delivered_total": "counter", "acked_total": "counter", "retried_total": "counter", "dead_total": "counter",
		"expired_total": "counter", "reaped_total": "counter", "lease_lost_total": "counter", "queued": "gauge", "in_flight": "gauge", "delayed": "gauge",
		"ready_tenants": "gauge", "oldest_seconds": "gauge", "script_seconds": "histogram", "queue_seconds": "histogram", "up": "gauge",
	} {
		if typed["firq_queue_"+name] != kind {
			t.Errorf("%s is %q, want %s", name, typed["firq_queue_"+name], kind)
		}
	}
	for _, want := range []string{
		`firq_queue_up{engine="redis",queue="mail"} 1`, `firq_queue_pushed_total{engine="redis",queue="mail"} 7`, `firq_queue_queued{engine="redis",queue="mail"} 6`, `firq_queue_retried_total{engine="redis",queue="mail"} 1`,
		`firq_queue_ready_tenants{engine="redis",queue="mail"} 3`, `firq_queue_tenant_queued{engine="redis",queue="mail",tenant="x"} 3`, `firq_queue_tenant_queued{engine="redis",queue="mail",tenant="a\"b\\"} 2`,
		`firq_queue_queue_seconds_count{engine="redis",queue="mail"} 1`, `firq_queue_queue_seconds_bucket{engine="redis",queue="mail",le="+Inf"} 1`,
		`firq_queue_queue_seconds_bucket{engine="redis",queue="mail",le="1.073741824e+06"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "small") {
		t.Error("it names more tenants than Top")
	}
	m := regexp.MustCompile(`script_seconds_bucket\{engine="redis",queue="mail",le="\+Inf"\} (\d+)\n(?s:.*)script_seconds_count\{engine="redis",queue="mail"\} (\d+)`).FindStringSubmatch(text)
	if m == nil || m[1] != m[2] || m[1] == "0" {
		t.Errorf("scripts: %q", m)
	}
}

func TestBuckets(t *testing.T) {
	s := &Calls{}
	for _, d := range []time.Duration{0, bounds[0], bounds[0] + 1, time.Hour} {
		s.add(d)
	}
	if s.counts[0] != 2 || s.counts[1] != 1 || s.counts[len(bounds)] != 1 {
		t.Error(s.counts)
	}
}

func TestHealth(t *testing.T) {
	s := newSite(t, "127.0.0.1:0")
	var h queue.Health
	if code, _, text := s.ask("healthz", nil); code != http.StatusOK || json.Unmarshal([]byte(text), &h) != nil || !h.OK {
		t.Errorf("%d: %s", code, text)
	}
	s.redis.SetError("LOADING it is away")
	if code, _, text := s.ask("healthz", nil); code != http.StatusServiceUnavailable || json.Unmarshal([]byte(text), &h) != nil || h.OK || len(h.Problems) != 1 {
		t.Errorf("%d: %s", code, text)
	}
	if code, _, text := s.ask("metrics", nil); code != http.StatusOK || !strings.Contains(text, "firq_queue_up{engine=\"redis\",queue=\"mail\"} 0\n") || strings.Contains(text, "queued") {
		t.Errorf("%d: %s", code, text)
	}
	if code, _, text := s.ask("", nil); code != http.StatusServiceUnavailable || !strings.Contains(text, "it is away") || strings.Contains(text, "<dl") {
		t.Errorf("%d: %s", code, text)
	}
	if code, _, _ := s.ask("pause", url.Values{"token": {token}}); code != http.StatusBadGateway {
		t.Errorf("pause: %d", code)
	}
	s.redis.SetError("")
	if code, _, text := s.ask("healthz", nil); code != http.StatusOK {
		t.Errorf("%d: %s", code, text)
	}
}

func TestStartErrors(t *testing.T) {
	for _, addr := range []string{"", "6380", "localhost:99999"} {
		if s, err := Start(addr, Options{}); err == nil {
			t.Errorf("%q: no error", addr)
			_ = s.Close()
		}
	}
	s, err := Start(":0", Options{})
	if err != nil || s.Exposed() || !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Fatal(s, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1234 * time.Microsecond: "1ms", 1234567 * time.Microsecond: "1.23s", 77820 * time.Millisecond: "1m18s",
		26*time.Hour + 5*time.Second: "26h0m", 90 * time.Second: "1m30s",
	} {
		if got := short(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
