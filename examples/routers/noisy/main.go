// Command noisy measures firqhttp over loopback: what the middleware costs per request,
// and what it does for quiet clients while another client is noisy. It takes about 20
// seconds; see -help.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
)

// options are the command line.
type options struct {
	slots   int           // requests that the backend serves at a time
	service time.Duration // time that each takes
	noisy   int           // connections of the noisy client
	quiet   int           // quiet clients
	rate    float64       // requests per second of each
	period  time.Duration // of one measurement
	rounds  int           // of the overhead
}

func main() {
	var o options
	flag.IntVar(&o.slots, "slots", 8, "requests that the backend serves at a time")
	flag.DurationVar(&o.service, "service", 5*time.Millisecond, "time that each takes")
	flag.IntVar(&o.noisy, "noisy", 200, "connections of the noisy client, each with one request after the other")
	flag.IntVar(&o.quiet, "quiet", 8, "quiet clients")
	flag.Float64Var(&o.rate, "rate", 20, "requests per second of each quiet client (open loop)")
	flag.DurationVar(&o.period, "period", 4*time.Second, "of each measurement")
	flag.IntVar(&o.rounds, "rounds", 5, "of the measurement of overhead")
	flag.Parse()
	if o.slots < 1 || o.service <= 0 || o.noisy < 0 || o.quiet < 1 || !(o.rate > 0) || o.period <= 0 || o.rounds < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "noisy: a flag is out of range, or there is an argument; see -help")
		os.Exit(2)
	}
	fmt.Printf("%s, GOMAXPROCS %d, %s/%s\n", runtime.Version(), runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "noisy:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if err := fairness(o); err != nil {
		return err
	}
	return overhead(o)
}

// backend is a service that serves a few requests at a time, first come first served,
// like a pool of connections to a database.
func backend(o options) http.Handler {
	pool := semaphore.NewWeighted(int64(o.slots))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := pool.Acquire(r.Context(), 1); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer pool.Release(1)
		time.Sleep(o.service)
		w.WriteHeader(http.StatusNoContent)
	})
}

// behind puts a handler behind the middleware, one slot for each of the backend.
func behind(h http.Handler, slots int) http.Handler {
	g := gate.New[string](slots, gate.Config[string]{MaxPerTenant: 10_000})
	return firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.Header("X-Tenant")}).Handler(h)
}

// fairness prints how long quiet clients wait while a noisy one floods.
func fairness(o options) error {
	fmt.Printf("\n%d quiet clients at %v requests/s each, open loop, from when each was due; a noisy one with %d connections;\n",
		o.quiet, o.rate, o.noisy)
	fmt.Printf("a backend of %d slots, %v each, first come first served; %v per row\n\n", o.slots, o.service, o.period)
	fmt.Println("| | quiet p50 | quiet p99 | quiet failed | noisy requests/s | noisy p50 |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, c := range []struct {
		name  string
		noisy int
		h     http.Handler
	}{
		{"nobody is noisy", 0, backend(o)},
		{"without the middleware", o.noisy, backend(o)},
		{"behind the middleware", o.noisy, behind(backend(o), o.slots)},
	} {
		var quiet, noisy *load
		err := serve(c.h, func(ctx context.Context, url string) {
			noisy = newLoad(url, "noisy", c.noisy)
			quiet = newLoad(url, "", 0)
			ctx, cancel := context.WithTimeout(ctx, o.period)
			defer cancel()
			wait := noisy.closed(ctx, c.noisy)
			for i := range o.quiet {
				quiet.open(ctx, fmt.Sprint("quiet-", i), o.rate)
			}
			quiet.wait()
			wait()
		})
		if err != nil {
			return err
		}
		q, n := quiet.times.Snapshot(), noisy.times.Snapshot()
		fmt.Printf("| %s | %v | %v | %d of %d | %.0f | %v |\n", c.name, round(q.Quantile(.5)), round(q.Quantile(.99)),
			quiet.failed.Load(), q.Count()+quiet.failed.Load(), float64(n.Count())/o.period.Seconds(), round(n.Quantile(.5)))
	}
	return nil
}

// overhead prints the time per request of a handler that does nothing, with and
// without the middleware, one connection, alternating.
func overhead(o options) error {
	nothing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	handlers := []http.Handler{nothing, behind(nothing, 64)}
	var per [2][]time.Duration
	for range o.rounds {
		for i, h := range handlers {
			err := serve(h, func(ctx context.Context, url string) {
				l := newLoad(url, "one", 1)
				ctx, cancel := context.WithTimeout(ctx, o.period/8)
				defer cancel()
				l.closed(ctx, 1)()
				per[i] = append(per[i], l.times.Snapshot().Mean())
			})
			if err != nil {
				return err
			}
		}
	}
	for i := range per {
		slices.Sort(per[i])
	}
	without, with := per[0][o.rounds/2], per[1][o.rounds/2]
	fmt.Printf("\none connection, a handler that does nothing, median of %d rounds of %v: %v per request without the middleware, %v with it (%+.1f %%)\n",
		o.rounds, o.period/8, without, with, 100*(float64(with)/float64(without)-1))
	return nil
}

// serve runs f against a server on loopback.
func serve(h http.Handler, f func(ctx context.Context, url string)) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	ctx, cancel := context.WithCancel(context.Background())
	f(ctx, "http://"+l.Addr().String())
	cancel()
	if err := s.Close(); err != nil {
		return err
	}
	if err := <-done; err != http.ErrServerClosed {
		return err
	}
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
