package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/watchdog"
	"github.com/firq-go/firq/worker"
)

// parts are a scheduler with a pool of workers, a gate with a middleware, and a
// watchdog over both.
type parts struct {
	s   *lockfree.Scheduler[string, struct{}]
	p   *worker.Pool[string, struct{}]
	g   *gate.Gate[string]
	web *firqhttp.Middleware
	dog *watchdog.Watchdog
}

func newParts(o options) (*parts, error) {
	s, err := lockfree.New(firq.Config[string, struct{}]{MaxGlobal: 1000, MaxPerTenant: 300, MaxQueueAge: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler) // what fails is in the metrics
	p, err := worker.New(s, o.handle, worker.Options[string, struct{}]{
		Name: "workers", Concurrency: o.workers, SlowAfter: 4 * o.service, IgnoreDeadline: true, Logger: quiet,
	})
	if err != nil {
		return nil, err
	}
	g, err := gate.Open(o.workers, gate.Config[string]{MaxPerTenant: 6, MaxQueueAge: time.Second})
	if err != nil {
		return nil, err
	}
	web := firqhttp.New(g, firqhttp.Config{
		Tenant: firqhttp.Header("X-Tenant"),
		Skip:   func(r *http.Request) bool { return r.URL.Path == "/health" },
	})
	dog, err := watchdog.New(watchdog.Options{Queues: []watchdog.Queue{
		watchdog.QueueOf("example", s.Stats),
		watchdog.QueueOf("web", func() firq.Stats[string] { return g.Stats().Queue }),
	}})
	return &parts{s, p, g, web, dog}, err
}

// registry has a line for each part.
func (a *parts) registry(native bool) *prometheus.Registry {
	example := firqprom.Options[string]{Scheduler: "example", NativeHistogram: native}
	web := firqprom.Options[string]{Scheduler: "web", NativeHistogram: native}
	r := prometheus.NewRegistry()
	r.MustRegister(
		firqprom.Must(firqprom.New(a.s, example)),
		firqprom.Must(firqprom.NewPool(a.p, example)),
		firqprom.Must(firqprom.NewGate(a.g, web)),
		firqprom.Must(firqprom.NewHTTP(a.web, web)),
		firqprom.Must(firqprom.NewWatchdog(a.dog, firqprom.Options[string]{})),
	)
	return r
}

// spend takes a random time, or until ctx is done.
func (o options) spend(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(rand.ExpFloat64() * float64(o.service))):
	}
}

// handle is the handler of the workers: one task in 50 fails, and one in 5,000 panics.
func (o options) handle(ctx context.Context, _ *firq.Item[string, struct{}]) error {
	o.spend(ctx)
	switch n := rand.IntN(5000); {
	case n == 0:
		panic("one in 5,000")
	case n <= 100:
		return errors.New("one in 50")
	}
	return nil
}

// requests asks the middleware until ctx is done: a noisy client with three times
// as many requests at the same time as there are slots, and three quiet ones.
func requests(ctx context.Context, m *firqhttp.Middleware, o options) {
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { o.spend(r.Context()) }))
	ask := func(path, tenant string) (ok bool) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		if err != nil {
			return false
		}
		r.Header.Set("X-Tenant", tenant)
		var w answer
		h.ServeHTTP(&w, r)
		return w.status == 0
	}
	var clients sync.WaitGroup
	defer clients.Wait()
	for range 3 * o.workers {
		clients.Go(func() {
			for ctx.Err() == nil {
				if !ask("/", "noisy") {
					pause(ctx, 100*time.Millisecond)
				}
			}
		})
	}
	for i := range 3 {
		clients.Go(func() {
			for ctx.Err() == nil {
				ask("/", fmt.Sprint("quiet-", i))
				ask("/health", "")
				pause(ctx, 50*time.Millisecond)
			}
		})
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// answer keeps the status of a response, 0 for 200.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
func (a *answer) WriteHeader(status int)      { a.status = status }
