// Compute is a report server for many tenants, with a table of orders behind it. A report lists the
// best-selling products of a tenant in a number of past days.
//
//	go run .                          # in this folder: it is a separate module
//	go run . -listen localhost:8080
//	curl -i -H 'X-Tenant: acme-3' 'localhost:8080/top?days=30'
//
// Without -listen it fills the table and lets a noisy tenant and nine
// quiet ones ask, three times: the table alone; with compute in front of it, which
// keeps nothing; and with compute keeping results for some seconds. Then it prints what the
// tenants saw. The noisy tenant asks at a fixed pace, as over a network, and does not wait
// for answers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/gate"
)

type options struct {
	orders, tenants int           // in the table
	slots           int           // queries at a time
	ttl             time.Duration // of a result
	quiet, noisy    int           // calls per second: of each quiet tenant, of the noisy one
	reports         int           // that each quiet tenant asks for repeatedly; the noisy one for ten times as many
	deadline        time.Duration // of each call
	play            time.Duration // how long each way is played
	listen          string
}

func main() {
	var o options
	flag.IntVar(&o.orders, "orders", 500_000, "orders in the table")
	flag.IntVar(&o.tenants, "tenants", 50, "tenants they are of, at least 10")
	flag.IntVar(&o.slots, "slots", 2*runtime.GOMAXPROCS(0), "queries at a time")
	flag.DurationVar(&o.ttl, "ttl", 5*time.Second, "for how long a result is kept")
	flag.IntVar(&o.quiet, "quiet", 20, "calls per second of each of the nine quiet tenants")
	flag.IntVar(&o.noisy, "noisy", 3_000, "calls per second of the noisy tenant")
	flag.IntVar(&o.reports, "reports", 30, "different reports that each quiet tenant asks for; the noisy one asks for ten times as many, at most 365")
	flag.DurationVar(&o.deadline, "deadline", 100*time.Millisecond, "of each call")
	flag.DurationVar(&o.play, "play", 3*time.Second, "how long each way is played")
	flag.StringVar(&o.listen, "listen", "", "serve HTTP there; empty: show the effect, and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "compute:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	if o.orders < 1 || o.tenants < 10 || o.slots < 1 || o.quiet < 1 || o.noisy < 1 || o.reports < 1 || o.play <= 0 || o.deadline <= 0 || o.ttl <= 0 {
		return fmt.Errorf("%w: a number that is too small", firq.ErrInvalidConfig)
	}
	db := fill(o.orders, o.tenants, o.slots)
	if o.listen != "" {
		return o.serve(ctx, db)
	}
	return o.show(ctx, db, os.Stdout)
}

// open makes the server of the reports; with a TTL of 0 it keeps nothing. The tenant says
// whose report it is, and the key holds everything else that a report depends on.
func (o options) open(db *orders, ttl time.Duration) (*compute.Server[string, int, []product], error) {
	return compute.New(func(ctx context.Context, c compute.Call[string, int]) ([]product, error) {
		return db.top(ctx, c.Tenant, c.Key)
	}, compute.Config[string, int, []product]{
		Limit:        o.slots,
		TTL:          ttl,
		RefreshAhead: ttl / 5,
		StaleIfError: 12 * ttl, // an old report is better than none
		MaxPerTenant: 0.25,
		ExecTimeout:  time.Second,
		Gate:         gate.Config[string]{MaxPerTenant: 100},
	})
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
