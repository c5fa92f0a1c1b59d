package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/examples/internal/seen"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/worker"
)

// event is one message for a merchant.
type event struct {
	merchant, kind string // kind: its row in the table
	url, id        string
	body           []byte
	try            int // how often it was tried
	mark           seen.Mark
}

// summary counts the results of the events.
type summary struct{ events, delivered, givenUp, tries int }

// dispatcher delivers events, and tries again those that failed.
type dispatcher struct {
	load
	fair   bool
	secret []byte
	client *http.Client
	queue  *lockfree.Scheduler[string, event]
	pool   *worker.Pool[string, event]
	table  *seen.Table
	open   sync.WaitGroup // events that are neither delivered nor given up

	mu  sync.Mutex
	sum summary
}

func newDispatcher(l load, fair bool, secret []byte) (*dispatcher, error) {
	d := &dispatcher{
		load: l, fair: fair, secret: secret, table: seen.New("waited"),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.workers}},
	}
	var cfg firq.Config[string, event]
	if fair {
		cfg.MaxInFlightPerTenant = l.inFlight
	}
	var err error
	if d.queue, err = lockfree.New(cfg); err != nil {
		return nil, err
	}
	d.pool, err = worker.New(d.queue, d.deliver, worker.Options[string, event]{
		Name:        "webhooks",
		Concurrency: l.workers,
		Timeout:     l.timeout,
		TimeoutMode: worker.Cancel,
		OnTimeout:   func(worker.Event[string, event]) {}, // a failed try like any other
	})
	return d, err
}

// run delivers until drain has shut the queue down.
func (d *dispatcher) run(ctx context.Context) error {
	defer d.client.CloseIdleConnections()
	return d.pool.Run(ctx)
}

// send takes an event in.
func (d *dispatcher) send(e event) {
	d.open.Add(1)
	d.mu.Lock()
	d.sum.events++
	d.mu.Unlock()
	e.mark = d.table.Queued()
	d.put(e)
}

// put hands the event to the scheduler. If the scheduler is full, put hands it in again later.
func (d *dispatcher) put(e event) {
	tenant := "everybody"
	if d.fair {
		tenant = e.merchant
	}
	if err := d.queue.Enqueue(tenant, firq.Task[event]{Payload: e}); err != nil {
		d.again(e)
	}
}

// deliver is the handler of the pool: one try. Its error is dealt with here.
func (d *dispatcher) deliver(ctx context.Context, it *firq.Item[string, event]) error {
	e := it.Payload
	if e.try == 0 {
		d.table.Started(e.kind, e.mark)
	}
	err := d.post(ctx, e)
	d.mu.Lock()
	d.sum.tries++
	if err == nil {
		d.sum.delivered++
	}
	d.mu.Unlock()
	if err == nil {
		d.open.Done()
	} else {
		d.again(e)
	}
	return nil
}

// again hands the event in once more after its backoff, or gives up the event. The wait
// is random, from half of backoff x 2^(tries-1) to all of it, so that events that failed
// together do not come back together.
func (d *dispatcher) again(e event) {
	e.try++
	if e.try >= d.tries {
		d.mu.Lock()
		d.sum.givenUp++
		d.mu.Unlock()
		d.open.Done()
		return
	}
	most := d.backoff << (e.try - 1)
	time.AfterFunc(most/2+rand.N(most/2+1), func() { d.put(e) })
}

func (d *dispatcher) post(ctx context.Context, e event) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(e.body))
	if err != nil {
		return err
	}
	sign(req.Header, d.secret, e.id, e.body)
	resp, err := d.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", e.url, resp.Status)
	}
	return nil
}

// drain waits until every event is delivered or given up, and ends run.
func (d *dispatcher) drain(ctx context.Context) error {
	d.open.Wait()
	return d.queue.Shutdown(ctx)
}

func (d *dispatcher) summary() summary {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sum
}
