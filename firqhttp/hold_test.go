package firqhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/gate"
)

// others are tenants besides a. One of them may have a's place; all of them have it once in 64^4 times.
var others = []string{"b", "c", "d", "e"}

// refusing are the handlers of this package, each with a queue that is full of tenant a's tasks,
// and of each other's.
func refusing(t *testing.T, longest time.Duration, f func(t *testing.T, h http.Handler)) {
	t.Run("Middleware", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := gate.New(1, gate.Config[string]{MaxPerTenant: 1, MaxQueueAge: time.Hour})
			defer g.Close()
			if _, err := g.Acquire(t.Context(), "a", gate.Request{}); err != nil {
				t.Fatal(err)
			}
			for _, tenant := range append(others, "a") {
				go func() { _, _ = g.Acquire(t.Context(), tenant, gate.Request{}) }()
			}
			synctest.Wait()
			m := New(g, Config{Tenant: Header("X-Tenant"), HoldBack: longest})
			f(t, m.Handler(http.NotFoundHandler()))
		})
	})
	t.Run("JSON", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, err := compute.New(func(ctx context.Context, _ compute.Call[string, int64]) (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			}, compute.Config[string, int64, int]{Limit: 1, Gate: gate.Config[string]{MaxPerTenant: 1, MaxQueueAge: time.Hour}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i, tenant := range append([]string{"a", "a"}, others...) {
				go func() { _, _ = s.Do(t.Context(), tenant, -int64(i)-1) }()
				synctest.Wait()
			}
			var keys atomic.Int64
			f(t, JSON(s, func(r *http.Request) (string, int64, error) { return r.Header.Get("X-Tenant"), keys.Add(1), nil }, JSONConfig{HoldBack: longest}))
		})
	})
}

// refuse is a request, and returns how long its refusal took.
func refuse(ctx context.Context, t *testing.T, h http.Handler, tenant string) time.Duration {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	r.Header.Set("X-Tenant", tenant)
	w, began := httptest.NewRecorder(), time.Now()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusTooManyRequests {
		t.Errorf("status %d %s", w.Code, w.Body)
	}
	return time.Since(began)
}

// The first refusals leave immediately, further ones a hundred a second; each tenant's for itself.
func TestHoldBack(t *testing.T) {
	refusing(t, 0, func(t *testing.T, h http.Handler) {
		for i := range heldBeyond {
			if d := refuse(t.Context(), t, h, "a"); d != 0 {
				t.Fatalf("refusal %d took %v", i, d)
			}
		}
		for range 50 { // a client that comes back immediately
			if d := refuse(t.Context(), t, h, "a"); d > 20*time.Millisecond {
				t.Fatalf("a refusal took %v", d)
			}
		}
		began := time.Now()
		var all sync.WaitGroup
		for range 150 { // more than leave until HoldBack is over
			all.Go(func() {
				if d := refuse(t.Context(), t, h, "a"); d > DefaultHoldBack {
					t.Errorf("a refusal took %v", d)
				}
			})
		}
		synctest.Wait()
		var immediate atomic.Int64
		for _, other := range others {
			all.Go(func() {
				if refuse(t.Context(), t, h, other) == 0 {
					immediate.Add(1)
				}
			})
		}
		synctest.Wait()
		if immediate.Load() == 0 {
			t.Error("those of all other tenants are held, too")
		}
		all.Wait()
		if d := time.Since(began); d != DefaultHoldBack {
			t.Errorf("all took %v", d)
		}
		time.Sleep(3 * time.Second)
		if d := refuse(t.Context(), t, h, "a"); d != 0 {
			t.Errorf("after a pause one took %v", d)
		}
	})
	refusing(t, -1, func(t *testing.T, h http.Handler) {
		for range 10 * heldBeyond {
			if d := refuse(t.Context(), t, h, "a"); d != 0 {
				t.Fatalf("one took %v", d)
			}
		}
	})
}

// A refusal that is held ends with its client's connection; at most mostHeld are held.
func TestHoldBackIsBounded(t *testing.T) {
	refusing(t, time.Hour, func(t *testing.T, h http.Handler) {
		for range heldBeyond {
			refuse(t.Context(), t, h, "a")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		began, held := time.Now(), atomic.Int64{}
		for range mostHeld + 100 {
			held.Add(1)
			all.Go(func() { refuse(ctx, t, h, "a"); held.Add(-1) })
		}
		synctest.Wait()
		if n := held.Load(); n < mostHeld-1 || n > mostHeld {
			t.Errorf("%d are held", n)
		}
		cancel()
		all.Wait()
		if d := time.Since(began); d > 0 {
			t.Errorf("they went after %v", d)
		}
	})
}

// Shutdown of the server does not wait for what is held.
func TestHoldBackEndsWithTheServer(t *testing.T) {
	h := newHolder(time.Hour)
	h.next[0].Store(int64(time.Minute))
	began := make(chan struct{})
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		h.wait(r, 0)
		w.WriteHeader(http.StatusTooManyRequests)
	})}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	answer := make(chan int, 1)
	go func() {
		client := http.Client{Timeout: 20 * time.Second}
		defer client.CloseIdleConnections()
		res, err := client.Get("http://" + listener.Addr().String())
		if err != nil {
			t.Error(err)
			answer <- 0
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		answer <- res.StatusCode
	}()
	<-began
	until(t, "it is held", func() bool { return h.held.Load() == 1 })
	until(t, "it has asked the server", func() bool { n := 0; h.servers.Range(func(any, any) bool { n++; return true }); return n == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if code := <-answer; code != http.StatusTooManyRequests {
		t.Errorf("status %d", code)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
