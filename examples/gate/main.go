// Gate protects what is behind two routes of an HTTP service: a search, of which the
// database can do a limited number at a time, and a report, which is heavier. Each route
// has its own gate, so reports cannot take the places of searches, and in each gate the
// tenants take turns.
//
//	go run ./examples/gate
//
// A noisy tenant calls both routes from many connections, a quiet one calls them
// one after the other. The load is played twice: first all callers are one tenant to
// the gates, which makes the gates plain semaphores; then each tenant counts as itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/examples/internal/seen"
	"github.com/firq-go/firq/gate"
)

type load struct {
	searches, reports int // that the service does at a time
	queue             int // calls of one tenant that may wait, per route
	conns, calls      int // connections of the noisy tenant; calls of the quiet one
	work              time.Duration
}

func main() {
	var l load
	flag.IntVar(&l.searches, "searches", 8, "searches at a time")
	flag.IntVar(&l.reports, "reports", 2, "reports at a time")
	flag.IntVar(&l.queue, "queue", 60, "calls of one tenant that may wait, per route")
	flag.IntVar(&l.conns, "conns", 150, "connections of the noisy tenant")
	flag.IntVar(&l.calls, "calls", 20, "calls of the quiet tenant to each route")
	flag.DurationVar(&l.work, "work", 5*time.Millisecond, "how long a search takes; a report takes four times as long")
	flag.Parse()
	if err := l.compare(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
}

// route is one handler behind a gate.
type route struct {
	gate *gate.Gate[string]
	fair bool
	work func(context.Context) error
}

func newRoute(slots, queue int, fair bool, work func(context.Context) error) (*route, error) {
	g, err := gate.Open(slots, gate.Config[string]{MaxPerTenant: queue})
	return &route{g, fair, work}, err
}

// ServeHTTP waits for a permit, works, and gives the permit back. A tenant with too many
// calls in the queue gets a 429; the other tenants do not notice.
func (rt *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tenant := "everybody"
	if rt.fair {
		tenant = r.Header.Get("Tenant") // a real service would ask its authentication
	}
	permit, err := rt.gate.Acquire(r.Context(), tenant, gate.Request{})
	switch {
	case errors.Is(err, firq.ErrTenantFull):
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	case errors.Is(err, firq.ErrRejected):
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
		return
	case err != nil:
		return // the client has gone
	}
	defer permit.Release()
	if err := rt.work(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// sleep stands for the work of the service.
func sleep(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l load) compare(ctx context.Context, w io.Writer) error {
	for _, fair := range []bool{false, true} {
		r, err := l.play(ctx, fair)
		if err != nil {
			return err
		}
		title := "A semaphore per route"
		if fair {
			title = "A gate per route, tenants in turn"
		}
		if err := r.table.Print(w, title); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "refused with 429: noisy %d, quiet %d\n\n", r.refused["noisy"], r.refused["quiet"]); err != nil {
			return err
		}
	}
	return nil
}

// result holds the tenants' results: how long their calls took, and which were refused.
type result struct {
	table   *seen.Table
	mu      sync.Mutex
	refused map[string]int
}

func (l load) play(ctx context.Context, fair bool) (*result, error) {
	search, err := newRoute(l.searches, l.queue, fair, sleep(l.work))
	if err != nil {
		return nil, err
	}
	report, err := newRoute(l.reports, l.queue, fair, sleep(4*l.work))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/search", search)
	mux.Handle("/report", report)
	server := httptest.NewServer(mux)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.conns}}
	defer client.CloseIdleConnections()

	r := &result{table: seen.New("took"), refused: map[string]int{}}
	noise, quietDone := context.WithCancel(ctx)
	var noisy sync.WaitGroup
	for i := range l.conns {
		path := [...]string{"/search", "/report"}[i%2]
		noisy.Go(func() {
			for noise.Err() == nil {
				if err := r.call(noise, client, server.URL, path, "noisy"); err != nil {
					return // the noise is over
				}
			}
		})
	}
	for range l.calls {
		for _, path := range []string{"/search", "/report"} {
			if err = errors.Join(err, r.call(ctx, client, server.URL, path, "quiet")); err != nil {
				break
			}
		}
	}
	quietDone()
	noisy.Wait()
	return r, err
}

// call is one call of a tenant. A caller that is refused waits a little, as the answer asks.
func (r *result) call(ctx context.Context, client *http.Client, url, path, tenant string) error {
	mark := r.table.Queued()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Tenant", tenant)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		r.table.Started(tenant+" "+path, mark)
		return nil
	case http.StatusTooManyRequests:
		r.mu.Lock()
		r.refused[tenant]++
		r.mu.Unlock()
		return sleep(10 * time.Millisecond)(ctx)
	}
	return fmt.Errorf("%s: %s", path, resp.Status)
}
