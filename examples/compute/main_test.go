package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func few() options {
	return options{
		orders: 500, tenants: 10, slots: 2, ttl: time.Hour, quiet: 20, noisy: 200, reports: 2,
		deadline: 10 * time.Second, play: 300 * time.Millisecond,
	}
}

func (o options) fill() *orders { return fill(o.orders, o.tenants, o.slots) }

// All three ways are played, every call is answered within its generous deadline, and kept
// results are used.
func TestShow(t *testing.T) {
	var out strings.Builder
	o := few()
	if err := o.show(t.Context(), o.fill(), &out); err != nil {
		t.Fatal(err)
	}
	ways := []string{"the table alone", "compute, keeps nothing", "compute, TTL 1h0m0s"}
	rows := 0
	for line := range strings.Lines(out.String()) {
		i := slices.IndexFunc(ways, func(way string) bool { return strings.HasPrefix(line, way+"  ") })
		if i < 0 {
			continue
		}
		rows++
		words := strings.Fields(strings.TrimPrefix(line, ways[i]))
		if len(words) != 8 || words[2] != words[4] || words[2] == "0" || words[5] == "0" {
			t.Errorf("not every tenant was answered: %s", line)
			continue
		}
		calls, err1 := strconv.Atoi(words[6])
		queries, err2 := strconv.Atoi(words[7])
		const different = 9*2 + 10*2 // reports that the tenants ask for
		if err1 != nil || err2 != nil || i == 0 && queries != calls || queries > calls || i == 2 && queries > different || calls <= different {
			t.Errorf("%d calls and %d queries: %s", calls, queries, line)
		}
	}
	if rows != len(ways) {
		t.Errorf("%d rows:\n%s", rows, &out)
	}
}

// A report agrees with a plain sum over the table.
func TestTop(t *testing.T) {
	db := few().fill()
	const tenant, last = "acme-3", 100
	for i := range 40 { // on the first day that counts, and on the last that does not
		name := fmt.Sprint("product ", i)
		db.rows = append(db.rows, order{tenant, name, 266, 500.25}, order{tenant, name, 265, 900})
	}
	sums := map[string]float64{}
	for _, r := range db.rows {
		if r.tenant == tenant && 266 <= r.day && r.day <= 365 {
			sums[r.product] += r.amount
		}
	}
	got, err := db.top(t.Context(), tenant, last)
	if err != nil || len(got) != 5 || len(sums) < 6 {
		t.Fatalf("%v, %v; of %d products", got, err, len(sums))
	}
	for i, p := range got {
		if d := p.Sum - sums[p.Name]; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s: %v, want %v", p.Name, p.Sum, sums[p.Name])
		}
		if i > 0 && p.Sum > got[i-1].Sum {
			t.Errorf("not in order: %v", got)
		}
		delete(sums, p.Name)
	}
	for name, sum := range sums {
		if sum > got[4].Sum+1e-6 {
			t.Errorf("%s with %v is missing: %v", name, sum, got)
		}
	}
}

// web returns the handler over a server of reports, and a way to ask it.
func web(t *testing.T, s *compute.Server[string, int, []product]) func(ctx context.Context, tenant, query string) *httptest.ResponseRecorder {
	t.Helper()
	g := gate.New(10, gate.Config[string]{})
	t.Cleanup(func() { _ = s.Close(); _ = g.Close() })
	h := few().handler(newAPI(s, 10), g)
	return func(ctx context.Context, tenant, query string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/top?"+query, nil)
		r.Header.Set(header, tenant)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

func TestServe(t *testing.T) {
	o := few()
	db := o.fill()
	s, err := o.open(db, o.ttl)
	if err != nil {
		t.Fatal(err)
	}
	get := web(t, s)
	for _, want := range []string{"reports; fwd=miss", "reports; hit"} {
		w := get(t.Context(), "acme-3", "days=30")
		var got []product
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || len(got) == 0 {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		if status := w.Header().Get("Cache-Status"); status != want {
			t.Errorf("Cache-Status is %q, want %q", status, want)
		}
	}
	if w := get(t.Context(), "acme-4", "days=30"); w.Header().Get("Cache-Status") != "reports; fwd=miss" {
		t.Error("a tenant got another's report")
	}
	for query, want := range map[string]int{"": 400, "days=x": 400, "days=0": 400, "days=366": 400, "days=365": 200} {
		if w := get(t.Context(), "acme-3", query); w.Code != want {
			t.Errorf("%q: %d, want %d", query, w.Code, want)
		}
	}
	if w := get(t.Context(), "nobody", "days=30"); w.Code != http.StatusForbidden {
		t.Errorf("a tenant that there is not: %d", w.Code)
	}
	_ = s.Close()
	if w := get(t.Context(), "acme-3", "days=30"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("after Close: %d", w.Code)
	}
}

// A tenant that has as many calls waiting as it may gets a 429; a report that fails is a 500.
func TestRefused(t *testing.T) {
	release, running := make(chan struct{}), make(chan struct{})
	s, err := compute.New(func(context.Context, compute.Call[string, int]) ([]product, error) {
		running <- struct{}{}
		<-release
		return nil, errors.New("no such table")
	}, compute.Config[string, int, []product]{Limit: 1, Gate: gate.Config[string]{MaxPerTenant: 1}})
	if err != nil {
		t.Fatal(err)
	}
	get := web(t, s)
	codes := make(chan int, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() { codes <- get(ctx, "acme-3", "days=1").Code }()
	<-running
	go func() { codes <- get(ctx, "acme-3", "days=2").Code }()
	for s.Stats().Groups[0].Queue.QueueLen == 0 {
		if ctx.Err() != nil {
			t.Fatal("no caller waits")
		}
		time.Sleep(100 * time.Microsecond)
	}
	w := get(ctx, "acme-3", "days=3")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "tenant_full") {
		t.Errorf("%d, %v, %s", w.Code, w.Header(), w.Body)
	}
	release <- struct{}{}
	<-running
	release <- struct{}{}
	for range 2 {
		if code := <-codes; code != http.StatusInternalServerError {
			t.Errorf("a report that failed: %d", code)
		}
	}
}

// The service comes up, and ends on a signal.
func TestListen(t *testing.T) {
	o := few()
	o.listen = "127.0.0.1:0"
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := o.serve(ctx, o.fill()); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	o := few()
	o.slots = 0
	if err := o.run(t.Context()); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error(err)
	}
}
