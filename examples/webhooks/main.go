// Webhooks delivers signed events to many merchants. One merchant has a flood of events,
// and a receiver that is slow and often fails; the others have a few events each.
//
//	go run ./examples/webhooks
//
// An event is tried again after a while, with exponential backoff, by handing it
// in again: no worker waits for it. The load is played twice, first with one queue for
// all (every event has the same tenant), then with one per merchant. The receivers
// run on the loopback interface, and check the signature of each event.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"time"

	"github.com/firq-go/firq/examples/internal/seen"
)

// load is how many events there are for each merchant, and how they are delivered.
type load struct {
	merchants, flood, few int
	workers, inFlight     int // deliveries at a time: of all, of one merchant
	tries                 int
	backoff, timeout      time.Duration
	slow                  time.Duration // how long the noisy merchant's receiver takes
}

func main() {
	var l load
	flag.IntVar(&l.merchants, "merchants", 20, "quiet merchants")
	flag.IntVar(&l.flood, "flood", 400, "events of the noisy merchant")
	flag.IntVar(&l.few, "few", 5, "events of each quiet one")
	flag.IntVar(&l.workers, "workers", 16, "deliveries at a time")
	flag.IntVar(&l.inFlight, "in-flight", 8, "deliveries at a time to one merchant, in the second run")
	flag.IntVar(&l.tries, "tries", 4, "how often an event is tried")
	flag.DurationVar(&l.backoff, "backoff", 20*time.Millisecond, "wait before the second try; doubles each time")
	flag.DurationVar(&l.timeout, "timeout", time.Second, "of one try")
	flag.DurationVar(&l.slow, "slow", 20*time.Millisecond, "how long the noisy merchant's receiver takes")
	flag.Parse()
	if err := l.compare(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "webhooks:", err)
		os.Exit(1)
	}
}

func (l load) compare(ctx context.Context, w io.Writer) error {
	for _, fair := range []bool{false, true} {
		table, sum, err := l.play(ctx, fair)
		if err != nil {
			return err
		}
		title := "One queue for all merchants"
		if fair {
			title = fmt.Sprintf("A queue per merchant, at most %d deliveries to one at a time", l.inFlight)
		}
		if err := table.Print(w, title); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%d events: %d delivered, %d given up; %d tries\n\n", sum.events, sum.delivered, sum.givenUp, sum.tries); err != nil {
			return err
		}
	}
	return nil
}

// play delivers the load and returns what the merchants saw: how long an event
// waited until its first try.
func (l load) play(ctx context.Context, fair bool) (*seen.Table, summary, error) {
	secret := []byte("shared with the merchants")
	quiet, noisy := newReceiver(secret, 0, 0), newReceiver(secret, l.slow, 3)
	q, n := httptest.NewServer(quiet), httptest.NewServer(noisy)
	defer q.Close()
	defer n.Close()

	d, err := newDispatcher(l, fair, secret)
	if err != nil {
		return nil, summary{}, err
	}
	run := make(chan error, 1)
	go func() { run <- d.run(ctx) }()
	id := 0
	send := func(kind, merchant, url string) {
		id++
		d.send(event{
			merchant: merchant, kind: kind, url: url,
			id: fmt.Sprint("evt_", id), body: fmt.Appendf(nil, `{"order": %d}`, id),
		})
	}
	for range l.flood {
		send("noisy", "noisy", n.URL)
	}
	for range l.few {
		for m := range l.merchants {
			send("quiet", fmt.Sprint("quiet-", m), q.URL)
		}
	}
	if err := d.drain(ctx); err != nil {
		return nil, summary{}, err
	}
	if err := <-run; err != nil {
		return nil, summary{}, err
	}
	sum := d.summary()
	// The receivers may have accepted more events: those for which the answer came too late.
	if got := quiet.accepted() + noisy.accepted(); got < sum.delivered {
		return nil, sum, fmt.Errorf("%d events delivered, but the receivers accepted %d", sum.delivered, got)
	}
	return d.table, sum, nil
}
