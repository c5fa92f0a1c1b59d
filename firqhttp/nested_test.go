package firqhttp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq/gate"
)

// A request that comes with a slot of the gate waits for no second one, however many
// middlewares, and of which gates, are around its handler.
func TestSameGateTwice(t *testing.T) {
	one, other := gate.New(1, gate.Config[string]{}), gate.New(1, gate.Config[string]{MaxInFlightPerTenant: 1})
	m, again, between := New(one, Config{}), New(one, Config{Tenant: Header("X-Tenant")}), New(other, Config{})
	for name, c := range map[string]struct {
		around    []*Middleware // from the outside
		served    int           // by those of one
		skipped   int           // likewise
		otherUsed int
	}{
		"once":                  {[]*Middleware{m}, 1, 0, 0},
		"the same middleware":   {[]*Middleware{m, m}, 1, 1, 0},
		"another middleware":    {[]*Middleware{m, again}, 1, 1, 0},
		"three times":           {[]*Middleware{m, again, m}, 1, 2, 0},
		"another gate":          {[]*Middleware{m, between}, 1, 0, 1},
		"another gate between":  {[]*Middleware{m, between, again}, 1, 1, 1},
		"each twice":            {[]*Middleware{m, between, again, between}, 1, 1, 1},
		"another gate outside":  {[]*Middleware{between, m, again}, 1, 1, 1},
		"and the other way too": {[]*Middleware{between, m, between, m}, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			was := counts(m, again)
			ran := 0
			h := http.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				ran++
				if one.InUse() != 1 || other.InUse() != c.otherUsed {
					t.Errorf("%d and %d slots are taken", one.InUse(), other.InUse())
				}
				if !Charge(r.Context(), 1) {
					t.Error("it cannot be charged")
				}
			}))
			for i := len(c.around) - 1; i >= 0; i-- {
				h = c.around[i].Handler(h)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
			if now := counts(m, again); w.Code != 200 || ran != 1 || now[0]-was[0] != c.served || now[1]-was[1] != c.skipped {
				t.Errorf("%d, ran %d times, counted %v after %v", w.Code, ran, now, was)
			}
			idle(t, one, m)
			idle(t, other, between)
		})
	}
}

func counts(ms ...*Middleware) (n [2]int) {
	for _, m := range ms {
		n[0] += int(m.Stats().Served)
		n[1] += int(m.Stats().Skipped)
	}
	return n
}

// A slot that was given back lets no request through; one that is in use by a handler which the
// outer one no longer waits for is held until that returns.
func TestSameGateLater(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	m := New(g, Config{})
	var late *http.Request
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { late = r })).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	p := hold(t, g)
	ctx, cancel := context.WithTimeout(late.Context(), 20*time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was served") })).ServeHTTP(w, late.WithContext(ctx))
	if w.Code != http.StatusServiceUnavailable {
		t.Error(w.Code)
	}
	p.Release()

	inside, release := make(chan struct{}), make(chan struct{})
	inner := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(inside); <-release }))
	var wg sync.WaitGroup
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wg.Go(func() { inner.ServeHTTP(httptest.NewRecorder(), r) })
		<-inside
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	if g.InUse() != 1 {
		t.Error("the slot is free, and the inner handler runs")
	}
	close(release)
	wg.Wait()
	idle(t, g, m)
}

// Tenants of different weights behind two middlewares of a gate get what their weights say.
func TestSameGateTwiceShares(t *testing.T) {
	g := gate.New(2, gate.Config[string]{QuantumFor: func(tenant string) int64 { return map[string]int64{"gold": 3}[tenant] }})
	m := New(g, Config{Tenant: Header("X-Tenant")})
	const each = 40
	var mu sync.Mutex
	var order []string
	h := m.Handler(m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		order = append(order, r.Header.Get("X-Tenant"))
		mu.Unlock()
	})))
	hold1, hold2 := hold(t, g), hold(t, g)
	var wg sync.WaitGroup
	for i := range 2 * each {
		wg.Go(func() {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("X-Tenant", [2]string{"gold", "plain"}[i%2])
			h.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	until(t, "all wait", func() bool { return g.Stats().Queue.QueueLen == 2*each })
	hold1.Release()
	hold2.Release()
	wg.Wait()
	gold := 0
	for _, tenant := range order[:each] {
		if tenant == "gold" {
			gold++
		}
	}
	if gold < 27 || gold > 33 { // 30, and what two handlers at a time may swap
		t.Errorf("gold has %d of the first %d: %v", gold, each, fmt.Sprint(order))
	}
	idle(t, g, m)
}
