package firqhttp

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/firq-go/firq/gate"
)

// Traffic says what Stats says, with a different number in each field and every
// reason there is.
func TestTraffic(t *testing.T) {
	g := gate.New(1, gate.Config[string]{MaxPerTenant: 2})
	m := New(g, Config{Skip: func(r *http.Request) bool { return r.URL.Path == "/skip" }})
	release := make(chan struct{})
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			<-release
		}
	}))
	get := func(path string) { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)) }
	for range 3 {
		get("/")
	}
	for range 7 {
		get("/skip")
	}
	var held sync.WaitGroup
	for range 3 { // one runs, two wait
		held.Go(func() { get("/hold") })
	}
	until(t, "two wait", func() bool { return m.Stats().InFlight == 1 && g.Stats().Queue.QueueLen == 2 })
	sent, send := io.Pipe()
	held.Go(func() { // one has not sent its body yet
		r := httptest.NewRequest(http.MethodPost, "/", sent)
		r.ContentLength = 5
		h.ServeHTTP(httptest.NewRecorder(), r)
	})
	until(t, "one sends", func() bool { return m.Stats().Reading == 1 })
	for range 5 {
		get("/")
	}
	got := m.Traffic()
	send.Close()
	close(release)
	held.Wait()
	idle(t, g, m)

	want := map[string]uint64{"tenant_full": 5}
	for _, name := range []string{
		"tenant_threshold", "too_many_tenants", "evicted", "global_full", "timeout", "closed", "cancelled", "bad_request", "internal",
	} {
		want[name] = 0
	}
	if got.InFlight != 1 || got.Waiting != 3 || got.Reading != 1 || got.Served != 4 || got.Skipped != 7 {
		t.Errorf("%+v", got)
	}
	for name := range want {
		if _, ok := got.Rejected[name]; !ok {
			t.Errorf("no reason %s", name)
		}
	}
	for name, n := range got.Rejected {
		if n != want[name] {
			t.Errorf("rejected %d of %s, want %d", n, name, want[name])
		}
	}
	clear(got.Rejected)
	if maps.Equal(m.Traffic().Rejected, got.Rejected) {
		t.Error("the map is not the reader's own")
	}
}
