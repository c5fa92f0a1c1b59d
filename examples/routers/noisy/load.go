package main

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/hist"
)

// load sends requests and records how long each took, of those that were served.
type load struct {
	url, tenant string
	client      *http.Client
	times       *hist.Histogram
	failed      atomic.Uint64
	running     sync.WaitGroup
}

// newLoad returns a load over the given number of connections, 0: as many as it takes.
func newLoad(url, tenant string, conns int) *load {
	return &load{
		url: url, tenant: tenant, times: hist.New(),
		client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: conns, MaxIdleConnsPerHost: max(conns, 256)}},
	}
}

// wait ends once every request has ended.
func (l *load) wait() {
	l.running.Wait()
	l.client.CloseIdleConnections()
}

// closed sends from n connections one request after the other until ctx is done.
func (l *load) closed(ctx context.Context, n int) (wait func()) {
	for range n {
		l.running.Go(func() {
			for ctx.Err() == nil {
				l.send(ctx, l.tenant, time.Now())
			}
		})
	}
	return l.wait
}

// open sends at a rate, whatever becomes of the requests before. A request counts
// from when it was due, so that none is forgotten because the sender was late
// (coordinated omission).
func (l *load) open(ctx context.Context, tenant string, rate float64) {
	every := time.Duration(float64(time.Second) / rate)
	l.running.Go(func() {
		for due := time.Now().Add(every); ; due = due.Add(every) {
			select {
			case <-time.After(time.Until(due)):
			case <-ctx.Done():
				return
			}
			// Those that are under way at the end are waited for.
			l.running.Go(func() { l.send(context.WithoutCancel(ctx), tenant, due) })
		}
	})
}

// send sends one request that was due at some time. One that ctx ends counts for
// nothing.
func (l *load) send(ctx context.Context, tenant string, due time.Time) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, nil)
	if err != nil {
		l.failed.Add(1)
		return
	}
	r.Header.Set("X-Tenant", tenant)
	res, err := l.client.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			l.failed.Add(1)
		}
		return
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		l.failed.Add(1)
		return
	}
	l.times.Record(time.Since(due))
}
