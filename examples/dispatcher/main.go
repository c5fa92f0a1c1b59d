// Dispatcher calls other services on behalf of its tenants. Calls wait, they do not
// compute, so there are many workers. Here fairness is not enough: it decides which
// tenant is next when a worker becomes free, but the slow calls of a noisy tenant can
// hold all workers. A limit in flight per tenant leaves some to the other tenants, and
// a timeout frees the workers that wait for an answer that never comes.
//
//	go run ./examples/dispatcher
//
// It plays the same load twice, without and with the limit. The service that it
// calls is part of this program, on the loopback interface.
package main

import (
	"context"
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
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/worker"
)

type load struct {
	workers, noisy, quiet int
	gap                   time.Duration // between two calls of the quiet tenant
	timeout               time.Duration // of a call
}

func main() {
	var l load
	var limit int
	var slow time.Duration
	flag.IntVar(&l.workers, "workers", 32, "calls at a time")
	flag.IntVar(&limit, "limit", 24, "calls of one tenant at a time, in the second run")
	flag.IntVar(&l.noisy, "noisy", 300, "calls of the noisy tenant, all together")
	flag.IntVar(&l.quiet, "quiet", 30, "calls of the quiet tenant, one by one")
	flag.DurationVar(&l.gap, "gap", 20*time.Millisecond, "time between two calls of the quiet tenant")
	flag.DurationVar(&slow, "slow", 100*time.Millisecond, "how long the noisy tenant's calls take; each tenth gets no answer")
	flag.DurationVar(&l.timeout, "timeout", 300*time.Millisecond, "after which a call is cancelled")
	flag.Parse()

	service := httptest.NewServer(answers(slow))
	err := l.compare(context.Background(), os.Stdout, service.URL, limit)
	service.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dispatcher:", err)
		os.Exit(1)
	}
}

// answers is the service that is called: quick for the quiet tenant, slow for the
// noisy one, and now and then not at all.
func answers(slow time.Duration) http.HandlerFunc {
	var mu sync.Mutex
	calls := 0
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quiet" {
			return
		}
		mu.Lock()
		calls++
		silent := calls%10 == 0
		mu.Unlock()
		var answer <-chan time.Time
		if !silent {
			answer = time.After(slow)
		}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}
}

func (l load) compare(ctx context.Context, w io.Writer, url string, limit int) error {
	for _, limit := range []int{0, limit} {
		table, stats, err := l.dispatch(ctx, url, limit)
		if err != nil {
			return err
		}
		title := fmt.Sprintf("%d workers, at most %d for one tenant", l.workers, limit)
		if limit == 0 {
			title = fmt.Sprintf("%d workers, no limit per tenant", l.workers)
		}
		if err := table.Print(w, title); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%d calls, %d timed out; a call took %v (p50), %v at most\n\n", stats.Finished, stats.TimedOut,
			stats.HandlerTime.Quantile(0.5).Round(time.Millisecond), stats.HandlerTime.Max().Round(time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// dispatch plays the load and returns what the tenants saw, and what the pool did.
func (l load) dispatch(ctx context.Context, url string, limit int) (*seen.Table, worker.Stats, error) {
	table := seen.New("waited")
	s, err := lockfree.New(firq.Config[string, seen.Mark]{MaxInFlightPerTenant: limit})
	if err != nil {
		return nil, worker.Stats{}, err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.workers}}
	defer client.CloseIdleConnections()
	pool, err := worker.New(s, func(ctx context.Context, it *firq.Item[string, seen.Mark]) error {
		table.Started(it.Tenant, it.Payload)
		return call(ctx, client, url+"/"+it.Tenant)
	}, worker.Options[string, seen.Mark]{
		Name:        "calls",
		Concurrency: l.workers,
		Timeout:     l.timeout,
		TimeoutMode: worker.Cancel,
		OnTimeout:   func(worker.Event[string, seen.Mark]) {}, // they are counted
		OnError:     func(worker.Event[string, seen.Mark]) {},
	})
	if err != nil {
		return nil, worker.Stats{}, err
	}
	end := make(chan error, 1)
	go func() { end <- pool.Run(ctx) }()
	for range l.noisy {
		if err := s.Enqueue("noisy", firq.Task[seen.Mark]{Payload: table.Queued()}); err != nil {
			return nil, worker.Stats{}, err
		}
	}
	for range l.quiet {
		time.Sleep(l.gap)
		if err := s.Enqueue("quiet", firq.Task[seen.Mark]{Payload: table.Queued()}); err != nil {
			return nil, worker.Stats{}, err
		}
	}
	if err := s.Shutdown(ctx); err != nil {
		return nil, worker.Stats{}, err
	}
	err = <-end
	return table, pool.Stats(), err
}

func call(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}
