package firqhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
)

// One request at a time, and two of each client may wait.
func Example() {
	g := gate.New[string](1, gate.Config[string]{MaxPerTenant: 2})
	m := firqhttp.New(g, firqhttp.Config{
		Tenant:   firqhttp.Remote{}.Tenant,
		Deadline: firqhttp.Earliest(firqhttp.TimeoutHeader("X-Request-Timeout"), firqhttp.GRPCTimeout()),
		Skip:     func(r *http.Request) bool { return r.URL.Path == "/healthz" },
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") })
	server := httptest.NewServer(m.Handler(mux))
	defer server.Close()

	show := func() {
		res, err := http.Get(server.URL + "/hello")
		if err != nil {
			panic(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			panic(err)
		}
		fmt.Print(res.StatusCode, " ", res.Header.Get("Retry-After"), string(body))
	}
	show()
	if err := g.Shutdown(context.Background()); err != nil { // before the server's own
		panic(err)
	}
	show()
	// Output:
	// 200 hello
	// 503 {"title":"Service Unavailable","status":503,"detail":"The service is shutting down.","reason":"closed"}
}

// The lines of the README: at most 64 requests at a time, shared fairly.
func ExampleMiddleware() {
	mux := http.NewServeMux()

	customers := map[string]bool{firqhttp.KeyTenant("k-4711"): true} // the API keys in use
	g := gate.New(64, gate.Config[string]{MaxPerTenant: 100, MaxInFlightPerTenant: 32})
	fair := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.FirstOf(
		firqhttp.Known(firqhttp.APIKey(), func(key string) bool { return customers[key] }),
		firqhttp.Remote{}.Tenant, // without a key that we know: by address
	)})
	server := &http.Server{Addr: "localhost:8080", Handler: fair.Handler(mux), ReadTimeout: time.Minute}
	server.RegisterOnShutdown(func() { _ = g.Shutdown(context.Background()) })

	fmt.Println(server.Shutdown(context.Background()), g.Limit())
	// Output: <nil> 64
}

// A key with weight 4 gets four times the share of one with weight 1, while both have requests waiting.
func Example_weights() {
	weights := map[string]int64{firqhttp.KeyTenant("gold"): 4} // by plan; others have 1
	g := gate.New(1, gate.Config[string]{QuantumFor: func(tenant string) int64 { return max(weights[tenant], 1) }})
	fair := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.APIKey()})

	var served []string
	wait := make(chan bool)
	handler := fair.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if served = append(served, r.Header.Get("X-API-Key")); len(served) == 1 {
			<-wait
		}
	}))
	var all sync.WaitGroup
	for i := range 17 { // the first one gets the slot, the others wait
		all.Go(func() {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("X-API-Key", []string{"gold", "plain"}[i%2])
			handler.ServeHTTP(httptest.NewRecorder(), r)
		})
		for g.InUse() == 0 || g.Waiting() < i {
			time.Sleep(time.Millisecond)
		}
	}
	close(wait)
	all.Wait()
	fmt.Println(served[1:11])
	// Output: [plain gold gold gold gold plain gold gold gold gold]
}

// What a request really cost is known when it is done.
func ExampleCharge() {
	g := gate.New[string](8, gate.Config[string]{Quantum: 1000})
	m := firqhttp.New(g, firqhttp.Config{
		Tenant: firqhttp.Header("X-Tenant"),
		Cost:   func(r *http.Request) int64 { return max(r.ContentLength, 1) },
	})
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		rows := int64(5000) // as the database says
		fmt.Println(firqhttp.Charge(r.Context(), rows-max(r.ContentLength, 1)))
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	// Output: true
}

// A line of the access log for each request, and for the client how long it waited.
func ExampleWaited() {
	g := gate.New[string](1, gate.Config[string]{MaxGlobal: 1})
	m := firqhttp.New(g, firqhttp.Config{
		Tenant: firqhttp.Header("X-Tenant"),
		Observe: func(r *http.Request, o firqhttp.Outcome) {
			if o.Reason == "" {
				o.Reason = "served"
			}
			fmt.Println(r.Method, r.URL.Path, o.Tenant, o.Reason, o.Waited < time.Second, o.Held < time.Second)
		},
	})
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		waited, _ := firqhttp.Waited(r.Context())
		w.Header().Set("Server-Timing", fmt.Sprintf("queue;dur=%.1f", waited.Seconds()*1000))
	}))
	r := httptest.NewRequest("GET", "/hello", nil)
	r.Header.Set("X-Tenant", "acme")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Header().Get("Server-Timing"))
	_ = g.Close()
	h.ServeHTTP(httptest.NewRecorder(), r)
	// Output:
	// GET /hello acme served true true
	// queue;dur=0.0
	// GET /hello acme closed true true
}

// A cached JSON endpoint: the executions are shared fairly, and what was made is kept.
func ExampleJSON() {
	prices, err := compute.New(func(_ context.Context, c compute.Call[string, string]) (map[string]any, error) {
		return map[string]any{"item": c.Key, "price": 1.5}, nil // ask the database of c.Tenant
	}, compute.Config[string, string, map[string]any]{Limit: 8, TTL: time.Minute})
	if err != nil {
		panic(err)
	}
	defer func() { _ = prices.Close() }()
	mux := http.NewServeMux()
	mux.Handle("GET /prices/{item}", firqhttp.JSON(prices, func(r *http.Request) (string, string, error) {
		tenant, _ := firqhttp.Remote{}.Tenant(r)
		return tenant, r.PathValue("item"), nil // an error is a 400; all that the result depends on is in the key
	}, firqhttp.JSONConfig{Name: "prices"}))

	for range 2 {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/prices/tea", nil))
		fmt.Print(w.Code, " ", w.Header().Get("Cache-Status"), " ", w.Body)
	}
	// Output:
	// 200 prices; fwd=miss {"item":"tea","price":1.5}
	// 200 prices; hit {"item":"tea","price":1.5}
}

// What does not exist is kept too, for a second, and answered with 404.
func ExampleJSONConfig() {
	errNotFound := errors.New("there is no such item")
	asked := 0
	prices, err := compute.New(func(_ context.Context, c compute.Call[string, string]) (float64, error) {
		asked++ // ask the database of c.Tenant
		return 0, fmt.Errorf("%s: %w", c.Key, errNotFound)
	}, compute.Config[string, string, float64]{TTL: time.Minute, ErrorTTL: func(err error) time.Duration {
		if errors.Is(err, errNotFound) {
			return time.Second
		}
		return 0
	}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = prices.Close() }()
	h := firqhttp.JSON(prices, func(r *http.Request) (string, string, error) {
		return "acme", r.URL.Path[1:], nil
	}, firqhttp.JSONConfig{Error: func(w http.ResponseWriter, _ *http.Request, err error) bool {
		if errors.Is(err, errNotFound) {
			http.Error(w, err.Error(), http.StatusNotFound)
			return true
		}
		return false
	}})

	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/tea", nil))
		fmt.Print(w.Code, " ", w.Header().Get("Cache-Status"), " ", w.Body)
	}
	fmt.Println("asked:", asked)
	// Output:
	// 404 compute; fwd=miss tea: there is no such item
	// 404 compute; hit tea: there is no such item
	// asked: 1
}
