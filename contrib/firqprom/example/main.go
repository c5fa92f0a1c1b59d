// Command example serves /metrics of a scheduler with its workers, of a gate with
// its HTTP middleware and of a watchdog, all under synthetic load, to look at the
// dashboard and the alerts with.
//
//	go run ./example -addr 127.0.0.1:9099 -for 10m
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/firq-go/firq"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// options holds the flags' values.
type options struct {
	addr             string
	duration         time.Duration
	rate             float64
	workers, tenants int
	service          time.Duration
	native           bool
}

func parse(args []string, out io.Writer) (o options, err error) {
	f := flag.NewFlagSet("example", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.addr, "addr", "127.0.0.1:9099", "address to serve /metrics on")
	f.DurationVar(&o.duration, "for", 10*time.Minute, "how long to run; positive")
	f.Float64Var(&o.rate, "rate", 420, "tasks offered per second, up to 100,000")
	f.IntVar(&o.workers, "workers", 4, "how many workers take tasks, and slots there are for requests")
	f.IntVar(&o.tenants, "tenants", 50, "how many tenants send them, the first ones most")
	f.DurationVar(&o.service, "service", 10*time.Millisecond, "mean time that a task or a request takes")
	f.BoolVar(&o.native, "native", false, "native histograms too")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case o.duration <= 0:
		return o, errors.New("-for must be positive")
	case !(o.rate > 0 && o.rate <= 100_000):
		return o, errors.New("-rate must be above 0 and at most 100,000")
	case o.workers < 1 || o.tenants < 1:
		return o, errors.New("-workers and -tenants must be at least 1")
	case o.service < 0:
		return o, errors.New("-service must not be negative")
	}
	return o, nil
}

// run serves until ctx is done or the time is over.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	a, err := newParts(o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(a.registry(o.native), promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}

	var all sync.WaitGroup
	all.Go(func() { produce(ctx, a.s, o) })
	all.Go(func() { requests(ctx, a.web, o) })
	all.Go(func() { _ = a.p.Run(ctx) })
	all.Go(func() { _ = a.dog.Run(ctx) })
	all.Go(func() {
		<-ctx.Done()
		_ = server.Close() // Serve then says ErrServerClosed
	})
	_, _ = fmt.Fprintf(out, "http://%s/metrics for %v\n", listener.Addr(), o.duration)
	err = server.Serve(listener)
	cancel()
	all.Wait()
	if cause := errors.Join(a.s.Close(), a.g.Close()); err == nil || errors.Is(err, http.ErrServerClosed) {
		err = cause
	}
	return err
}

// produce offers tasks at the given rate until ctx is done. What is refused is
// lost, as the metrics say.
func produce(ctx context.Context, s firq.Producer[string, struct{}], o options) {
	random := rand.New(rand.NewPCG(1, 2))
	popularity := rand.NewZipf(random, 1.2, 1, uint64(o.tenants-1))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	began, sent := time.Now(), 0.0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := time.Since(began).Seconds() * o.rate; sent < due; sent++ {
			_ = s.Enqueue(fmt.Sprint("tenant-", popularity.Uint64()), firq.Task[struct{}]{})
		}
	}
}
