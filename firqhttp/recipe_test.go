package firqhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/firq-go/firq/gate"
)

// recipe is that of the README (ExampleMiddleware), with a limit to choose.
func recipe(limit int, keys ...string) (*gate.Gate[string], *Middleware) {
	customers := map[string]bool{}
	for _, key := range keys {
		customers[KeyTenant(key)] = true
	}
	g := gate.New(limit, gate.Config[string]{MaxPerTenant: 100, MaxInFlightPerTenant: max(limit/2, 1)})
	return g, New(g, Config{Tenant: FirstOf(
		Known(APIKey(), func(key string) bool { return customers[key] }),
		Remote{}.Tenant,
	)})
}

func keyed(key string) *http.Request {
	return with(httptest.NewRequest("GET", "/", nil), "X-API-Key", key)
}

// TestInventedKeys plays the attack: a client that makes up a key for each request.
// With the recipe all of them share one turn, so a quiet client is served in its
// own. Without Known the attack works, which shows that it is one.
func TestInventedKeys(t *testing.T) {
	const work = 5 * time.Millisecond
	attack := func(build func() *Middleware) (longest time.Duration, refused int) {
		synctest.Test(t, func(t *testing.T) {
			h := build().Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(work) }))
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			var wg sync.WaitGroup
			for i := range 200 {
				wg.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						w := httptest.NewRecorder()
						h.ServeHTTP(w, keyed(fmt.Sprint("invented ", i, n)).WithContext(ctx))
						if w.Code != http.StatusOK {
							time.Sleep(20 * time.Millisecond) // it does not care for Retry-After
						}
					}
				})
			}
			for ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
				before, w := time.Now(), httptest.NewRecorder()
				h.ServeHTTP(w, keyed("quiet"))
				longest = max(longest, time.Since(before))
				if w.Code != http.StatusOK {
					refused++
				}
			}
			wg.Wait()
		})
		return longest, refused
	}
	longest, refused := attack(func() *Middleware { _, m := recipe(8, "quiet"); return m })
	if refused > 0 || longest > 4*work {
		t.Errorf("a quiet client is refused %d times, and takes up to %v", refused, longest)
	}
	longest, _ = attack(func() *Middleware {
		return New(gate.New(8, gate.Config[string]{MaxPerTenant: 100}), Config{Tenant: FirstOf(APIKey(), Remote{}.Tenant)})
	})
	if longest < 10*work {
		t.Errorf("the attack is none: up to %v", longest)
	}
}

// Names that are not known share: the next way's turn, or Anonymous.
func TestKnown(t *testing.T) {
	known := Known(PlainAPIKey(), func(tenant string) bool { return tenant == "acme" || tenant == ShortName(strings.Repeat("long", 99)) })
	for key, want := range map[string]string{
		"acme": "acme", "other": "192.0.2.1", strings.Repeat("long", 99): ShortName(strings.Repeat("long", 99)),
	} {
		if got, ok := FirstOf(known, Remote{}.Tenant)(keyed(key)); got != want || !ok {
			t.Errorf("%.10s: %q, %t; want %q", key, got, ok, want)
		}
	}
	if got, ok := known(httptest.NewRequest("GET", "/", nil)); got != "" || ok {
		t.Errorf("without a key: %q, %t", got, ok)
	}
	if got, _ := APIKey()(keyed("acme")); got != KeyTenant("acme") {
		t.Errorf("KeyTenant is %q, the tenant %q", KeyTenant("acme"), got)
	}
	for _, bad := range []func(){
		func() { Known(nil, func(string) bool { return true }) },
		func() { Known(APIKey(), nil) },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "Known") {
					t.Errorf("%q", text)
				}
			}()
			bad()
		}()
	}
}

// TestLongNames: a tenant keeps at most 64 bytes in memory of a name that a client sends.
func TestLongNames(t *testing.T) {
	const size = 200_000
	long := func(i int) string { return fmt.Sprint(i) + strings.Repeat("x", size) }
	token := func(i int) string {
		return "Bearer x.eyJ0IjoiYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWEifQ." + long(i)
	}
	header := func(name string, value func(int) string) func(int) *http.Request {
		return func(i int) *http.Request { return with(httptest.NewRequest("GET", "/", nil), name, value(i)) }
	}
	url := func(path func(int) string) func(int) *http.Request {
		return func(i int) *http.Request {
			r := httptest.NewRequest("GET", "/", nil)
			r.URL.Path = path(i)
			return r
		}
	}
	for name, c := range map[string]struct {
		f TenantFunc
		r func(i int) *http.Request
	}{
		"Header":            {Header("X-Tenant"), header("X-Tenant", long)},
		"PlainAPIKey":       {PlainAPIKey(), header("X-API-Key", long)},
		"in blanks":         {PlainAPIKey(), header("Authorization", func(i int) string { return "Bearer " + strings.Repeat(" ", size) + fmt.Sprint(i) })},
		"JWT":               {UnverifiedJWTClaim("t"), header("Authorization", token)},
		"PathSegments":      {PathSegments(1), url(func(i int) string { return "/" + long(i) })},
		"PathSegments, two": {PathSegments(2), url(func(i int) string { return "/x/" + long(i) + "/y" })},
		"a short segment":   {PathSegments(1), url(func(i int) string { return "/" + fmt.Sprint(i) + "/" + long(i) })},
		"Pattern":           {Pattern, func(i int) *http.Request { r := httptest.NewRequest("GET", "/", nil); r.Pattern = long(i); return r }},
	} {
		kept := []string{}
		for i := range 2 {
			r := c.r(i)
			got, ok := c.f(r)
			if !ok || len(got) > 64 {
				t.Errorf("%s: %d bytes, %t", name, len(got), ok)
			}
			for _, text := range []string{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("X-API-Key"), r.Header.Get("X-Tenant"), r.Pattern} {
				from, at := uintptr(unsafe.Pointer(unsafe.StringData(text))), uintptr(unsafe.Pointer(unsafe.StringData(got)))
				if len(text) > 1000 && at >= from && at < from+uintptr(len(text)) {
					t.Errorf("%s: the tenant is a part of %d bytes, and keeps them", name, len(text))
				}
			}
			kept = append(kept, got)
		}
		if kept[0] == kept[1] && name != "JWT" {
			t.Errorf("%s: two tenants are one", name)
		}
	}

	// The same holds for a Tenant function that returns the whole name; the gate remembers the tenants that waited.
	g := gate.New(1, gate.Config[string]{})
	tenants := 0
	m := New(g, Config{
		Tenant: func(r *http.Request) (string, bool) { return strings.Clone(r.Header.Get("X-Tenant")), true },
		Reject: func(_ http.ResponseWriter, _ *http.Request, rej Rejection) {
			if len(rej.Tenant) <= 64 {
				tenants++
			}
		},
	})
	defer hold(t, g).Release()
	over, cancel := context.WithCancel(context.Background())
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const n = 100
	for i := range n {
		ctx, cancel := context.WithCancel(over)
		waiter(t, g, m, header("X-Tenant", long)(i).WithContext(ctx), cancel)
	}
	cancel()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > n*size/4 || tenants != n {
		t.Errorf("%d tenants keep %d bytes", tenants, grown)
	}
	runtime.KeepAlive(g)
}

// TestSlowBodies: with the recipe, clients that send their bodies slowly do not hold
// up the quiet one: as long as BufferBody is not full they hold no slot, and of the
// others each holds as many as one tenant may.
func TestSlowBodies(t *testing.T) {
	for name, head := range map[string]string{
		"short":           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx",
		"long":            fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n%s", strings.Repeat("x", DefaultBufferBody+1)),
		"of unknown size": "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			g, m := recipe(8, "quiet")
			s := serve(t, m, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
			for range 12 {
				raw(t, s, head)
			}
			until(t, "all are there", func() bool {
				st := m.Stats()
				return name == "short" && st.Reading == 12 || st.InFlight == 4 && st.Waiting == 8 && g.Stats().Queue.QueueLen == 8
			})
			s.Client().Timeout = 10 * time.Second
			for range 5 {
				r, err := http.NewRequest("POST", s.URL, strings.NewReader("hello"))
				if err != nil {
					t.Fatal(err)
				}
				res, err := s.Client().Do(with(r, "Authorization", "Bearer quiet"))
				if err != nil {
					t.Fatalf("the quiet client: %v", err)
				}
				res.Body.Close()
				if res.StatusCode != http.StatusOK {
					t.Errorf("the quiet client gets %s", res.Status)
				}
			}
			s.CloseClientConnections()
			idle(t, g, m)
		})
	}
}

// TestTimeoutHandlerInside shows why http.TimeoutHandler belongs outside: inside it
// returns at its timeout, and with that the slot comes free, while the handler that
// it runs in another goroutine goes on.
func TestTimeoutHandlerInside(t *testing.T) {
	for _, inside := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) { // the timeout comes when the handler runs
			g := gate.New(1, gate.Config[string]{})
			m := New(g, Config{})
			goOn := make(chan bool)
			work := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-goOn })
			h := http.TimeoutHandler(m.Handler(work), time.Millisecond, "")
			if inside {
				h = m.Handler(http.TimeoutHandler(work, time.Millisecond, ""))
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, get("a"))
			if w.Code != http.StatusServiceUnavailable {
				t.Errorf("no timeout: %d", w.Code)
			}
			if free := g.InUse() == 0; free != inside {
				t.Errorf("inside: %t; the slot is free while the handler runs: %t", inside, free)
			}
			close(goOn)
			synctest.Wait()
			if g.InUse() != 0 {
				t.Error("the slot is lost")
			}
		})
	}
}
