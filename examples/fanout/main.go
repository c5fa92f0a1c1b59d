// Fanout splits each request into pieces that a slow downstream answers, a few at
// a time, and puts the answers together. One tenant asks for hundreds of pieces, the
// other for three.
//
//	go run ./examples/fanout
//
// Each piece has the deadline of its request. A piece that is still queued then
// is dropped: no caller waits for it any more, and the downstream is spared. The
// request returns with the answers that it has. The load is played twice, first with one
// queue for all (every piece has the same tenant), then with one per tenant.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/firq-go/firq/examples/internal/seen"
)

type load struct {
	slots, big, small int           // pieces at a time; of a noisy request, of a quiet one
	noisy, quiet      int           // requests
	piece, gap        time.Duration // what a piece takes; between quiet requests
	patience          time.Duration // deadline of a request
}

func main() {
	var l load
	flag.IntVar(&l.slots, "slots", 8, "pieces that the downstream answers at a time")
	flag.IntVar(&l.big, "big", 200, "pieces of a request of the noisy tenant")
	flag.IntVar(&l.small, "small", 3, "pieces of a request of the quiet tenant")
	flag.IntVar(&l.noisy, "noisy", 4, "requests of the noisy tenant, all together")
	flag.IntVar(&l.quiet, "quiet", 15, "requests of the quiet tenant, one by one")
	flag.DurationVar(&l.piece, "piece", 5*time.Millisecond, "how long the downstream takes for a piece")
	flag.DurationVar(&l.gap, "gap", 13*time.Millisecond, "time between two requests of the quiet tenant")
	flag.DurationVar(&l.patience, "patience", 400*time.Millisecond, "deadline of a request")
	flag.Parse()
	if err := l.compare(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fanout:", err)
		os.Exit(1)
	}
}

func (l load) compare(ctx context.Context, w io.Writer) error {
	for _, fair := range []bool{false, true} {
		r, err := l.play(ctx, fair)
		if err != nil {
			return err
		}
		title := "One queue for all requests"
		if fair {
			title = "A queue per tenant"
		}
		if err := r.table.Print(w, title); err != nil {
			return err
		}
		for _, tenant := range []string{"noisy", "quiet"} {
			if _, err := fmt.Fprintf(w, "%s: %d of %d pieces answered in time\n", tenant, r.answered[tenant], r.asked[tenant]); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// result holds the tenants' results: how long their requests took, and how many
// pieces they got.
type result struct {
	table           *seen.Table
	mu              sync.Mutex
	answered, asked map[string]int
}

func (l load) play(ctx context.Context, fair bool) (*result, error) {
	downstream := func(ctx context.Context) error {
		t := time.NewTimer(l.piece)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f, err := newFan(l.slots, fair, downstream)
	if err != nil {
		return nil, err
	}
	run := make(chan error, 1)
	go func() { run <- f.run(ctx) }()

	r := &result{table: seen.New("took"), answered: map[string]int{}, asked: map[string]int{}}
	var requests sync.WaitGroup
	request := func(tenant string, pieces int) {
		mark := r.table.Queued()
		requests.Go(func() {
			n := f.ask(tenant, pieces, time.Now().Add(l.patience))
			r.table.Started(tenant, mark)
			r.mu.Lock()
			r.asked[tenant] += pieces
			r.answered[tenant] += n
			r.mu.Unlock()
		})
	}
	for range l.noisy {
		request("noisy", l.big)
	}
	for range l.quiet {
		time.Sleep(l.gap)
		request("quiet", l.small)
	}
	requests.Wait()
	if err := f.shutdown(ctx); err != nil {
		return nil, err
	}
	return r, <-run
}
