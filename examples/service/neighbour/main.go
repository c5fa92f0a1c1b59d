// Neighbour plays two tenants of the service in examples/service: a noisy one with
// many connections, and a quiet one that calls now and then. It prints what both saw.
//
//	go run ./examples/service/neighbour --url http://127.0.0.1:8080
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/firq-go/firq/examples/internal/seen"
)

type load struct {
	url          string
	conns, calls int // connections of the noisy tenant; calls of the quiet one
	gap          time.Duration
	heavy, light int // what their calls ask for, in milliseconds
}

func main() {
	var l load
	var title string
	flag.StringVar(&l.url, "url", "http://127.0.0.1:8080", "of the service")
	flag.StringVar(&title, "title", "What the tenants saw", "of the table")
	flag.IntVar(&l.conns, "conns", 100, "connections of the noisy tenant")
	flag.IntVar(&l.calls, "calls", 100, "calls of the quiet tenant")
	flag.DurationVar(&l.gap, "gap", 20*time.Millisecond, "time between two calls of the quiet tenant")
	flag.IntVar(&l.heavy, "heavy", 20, "milliseconds that the noisy tenant's calls take")
	flag.IntVar(&l.light, "light", 2, "milliseconds that the quiet tenant's calls take")
	flag.Parse()
	if err := l.play(context.Background(), os.Stdout, title); err != nil {
		fmt.Fprintln(os.Stderr, "neighbour:", err)
		os.Exit(1)
	}
}

// play calls the service as both tenants, until the quiet one has made its calls.
func (l load) play(ctx context.Context, w io.Writer, title string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.conns}}
	defer client.CloseIdleConnections()
	c := &caller{client: client, url: l.url, table: seen.New("took"), refused: map[string]int{}}
	noise, quietDone := context.WithCancel(ctx)
	var noisy sync.WaitGroup
	for range l.conns {
		noisy.Go(func() {
			for c.call(noise, "noisy", l.heavy) == nil {
			}
		})
	}
	var err error
	for range l.calls {
		time.Sleep(l.gap)
		if err = c.call(ctx, "quiet", l.light); err != nil {
			break
		}
	}
	quietDone()
	noisy.Wait()
	if err != nil {
		return err
	}
	if err := c.table.Print(w, title); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "refused: noisy %d, quiet %d of %d calls\n", c.refused["noisy"], c.refused["quiet"], l.calls)
	return err
}

// caller calls the service and keeps what came back.
type caller struct {
	client *http.Client
	url    string
	table  *seen.Table

	mu      sync.Mutex
	refused map[string]int
}

// call is one call. A caller that is refused waits for a moment.
func (c *caller) call(ctx context.Context, tenant string, ms int) error {
	mark := c.table.Queued()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/render?ms=%d", c.url, ms), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Tenant", tenant)
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		c.table.Started(tenant, mark)
		return nil
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		c.mu.Lock()
		c.refused[tenant]++
		c.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		return nil
	}
	return fmt.Errorf("%s: %s", c.url, resp.Status)
}
