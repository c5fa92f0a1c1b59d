package firqhttp

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/gate"
)

// TestObserve: each request that was served or rejected is observed once, with how long
// it waited and held its slot, and after the slot is free again.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New(1, gate.Config[string]{MaxPerTenant: 1})
		var mu sync.Mutex
		seen := map[string]Outcome{}
		m := New(g, Config{
			Tenant:   Header("X-Tenant"),
			Deadline: TimeoutHeader("X-Request-Timeout"),
			Skip:     func(r *http.Request) bool { return r.Header.Get("X-Tenant") == "skipped" },
			Observe: func(r *http.Request, o Outcome) {
				mu.Lock()
				defer mu.Unlock()
				if _, twice := seen[r.Header.Get("X-Name")]; twice {
					t.Errorf("%s is observed twice", r.Header.Get("X-Name"))
				}
				seen[r.Header.Get("X-Name")] = o
			},
		})
		waits := map[string]time.Duration{}
		h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			waited, ok := Waited(r.Context())
			if skipped := r.Header.Get("X-Tenant") == "skipped"; ok == skipped {
				t.Errorf("Waited: %t", ok)
			}
			time.Sleep(2 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			waits[r.Header.Get("X-Name")] = waited
		}))
		var wg sync.WaitGroup
		send := func(r *http.Request) {
			wg.Go(func() { h.ServeHTTP(httptest.NewRecorder(), r) })
			synctest.Wait()
		}
		named := func(tenant, name string) *http.Request { return with(get(tenant), "X-Name", name) }
		send(named("a", "first"))
		time.Sleep(time.Second)
		send(named("a", "second"))
		send(named("a", "full"))
		send(with(named("b", "late"), "X-Request-Timeout", "0.5"))
		send(with(named("b", "bad"), "X-Request-Timeout", "soon"))
		send(named("skipped", "skipped"))
		gone, cancel := context.WithCancel(context.Background())
		send(named("c", "gone").WithContext(gone))
		time.Sleep(700 * time.Millisecond)
		cancel()
		wg.Wait()
		const s, ms = time.Second, time.Millisecond
		for name, want := range map[string]Outcome{
			"first":  {Tenant: "a", Held: 2 * s},
			"second": {Tenant: "a", Waited: 1 * s, Held: 2 * s},
			"full":   {Tenant: "a", Reason: TenantFull},
			"late":   {Tenant: "b", Reason: Timeout, Waited: 500 * ms},
			"bad":    {Tenant: "b", Reason: BadRequest},
			"gone":   {Tenant: "c", Reason: Cancelled, Waited: 700 * ms},
		} {
			got := seen[name]
			if (got.Err != nil) != (want.Reason != "") {
				t.Errorf("%s: error %v", name, got.Err)
			}
			got.Err = nil
			if got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
		if len(seen) != 6 {
			t.Errorf("%d are observed, want 6", len(seen))
		}
		if waits["first"] != 0 || waits["second"] != s {
			t.Errorf("Waited: %v", waits)
		}
		if _, ok := Waited(context.Background()); ok {
			t.Error("no request waited")
		}
	})
}

// TestObserveHijacked: a hijacked connection is observed when it is closed.
func TestObserveHijacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New(1, gate.Config[string]{})
		var seen []Outcome
		m := New(g, Config{Tenant: Header("X-Tenant"), Observe: func(_ *http.Request, o Outcome) {
			if seen = append(seen, o); g.InUse() != 0 {
				t.Error("it holds its slot")
			}
		}})
		a, b := net.Pipe()
		defer b.Close()
		var c interface{ Close() error }
		m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var err error
			if c, _, err = w.(http.Hijacker).Hijack(); err != nil {
				t.Fatal(err)
			}
		})).ServeHTTP(hijacks{httptest.NewRecorder(), a}, get("a"))
		time.Sleep(time.Minute)
		if len(seen) != 0 {
			t.Error("it is observed before the connection is closed")
		}
		c.Close()
		if len(seen) != 1 || seen[0] != (Outcome{Tenant: "a", Held: time.Minute}) {
			t.Errorf("%+v", seen)
		}
	})
}

// TestRetryAfter: an estimate, and not the same for all clients; none at the end.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New(2, gate.Config[string]{MaxGlobal: 40})
		m := New(g, Config{Tenant: Header("X-Tenant"), HoldBack: -1})
		h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) })) // 2 per second
		var wg sync.WaitGroup
		send := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			wg.Go(func() { h.ServeHTTP(w, get("a")) })
			synctest.Wait()
			return w
		}
		fill := func() (retryAfter map[string]int) {
			for g.Waiting() < 40 {
				send()
			}
			retryAfter = map[string]int{}
			for range 200 {
				retryAfter[send().Header().Get("Retry-After")]++
			}
			return retryAfter
		}
		only := func(when string, got map[string]int, from, to int) {
			t.Helper()
			if len(got) < 2 {
				t.Errorf("%s: all come back together: %v", when, got)
			}
			for text := range got {
				if d, err := time.ParseDuration(text + "s"); err != nil || d < time.Duration(from)*time.Second || d > time.Duration(to)*time.Second {
					t.Errorf("%s: Retry-After %q, want %d to %d", when, text, from, to)
				}
			}
		}
		only("nothing is known", fill(), 1, 2)
		time.Sleep(time.Second + time.Millisecond) // not just when they end
		only("40 wait, 2 per second", fill(), 20, 32)
		time.Sleep(time.Second)
		only("still", fill(), 20, 32)
		if n := m.Stats().Rejected[GlobalFull]; n != 600 {
			t.Errorf("%d were rejected", n)
		}
		g.Close()
		w := send()
		if got, ok := w.Header()["Retry-After"]; ok || w.Header().Get("Connection") != "close" {
			t.Errorf("at the end: Retry-After %v", got)
		}
		wg.Wait()
	})
}
