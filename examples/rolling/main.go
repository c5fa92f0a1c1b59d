// Rolling replaces all processes of a cluster, one by one, while callers call its actors. No call fails.
//
//	go run ./examples/rolling -o rolling.svg
//
// Three processes have counters, which are actors of contrib/firqnats. Callers add to them all the time, with
// state saved for each call. Then, for each process, a new one joins, and the old one gets SIGTERM: its actors
// finish what they have, and go on in other processes. In the end the counters have what was added. The
// picture shows the latencies of the calls over time, and when processes were replaced.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
	"github.com/firq-go/firq/examples/internal/nodes"
)

func main() {
	var r rolling
	url := flag.String(nodes.Flag[1:], "", "be a node of the cluster at this `URL`; the program starts itself with it")
	flag.IntVar(&r.counters, "counters", 60, "actors")
	flag.IntVar(&r.callers, "callers", 8, "callers")
	flag.DurationVar(&r.quiet, "quiet", time.Second, "time before, between and after replacements")
	picture := flag.String("o", "", "draw the latencies into this `FILE` (SVG)")
	flag.Parse()
	err := error(nil)
	if *url != "" {
		err = nodes.Serve(*url, func(n *firqnats.Node) error { _, err := kind(n); return err })
	} else if err = r.play(context.Background(), os.Stdout); err == nil && *picture != "" {
		err = os.WriteFile(*picture, r.draw(), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rolling:", err)
		os.Exit(1)
	}
}

type counter struct{ saved *firqnats.State[int] }

func (k *counter) add(c *actor.Ctx, by int) (int, error) {
	k.saved.Value += by
	return k.saved.Value, k.saved.Save(c)
}

var add = actor.NewMethod("Add", (*counter).add)

func kind(n *firqnats.Node) (*firqnats.Kind[*counter], error) {
	return firqnats.NewKind(n, "counter", func(c *actor.Ctx, _ string) (*counter, error) {
		saved, err := firqnats.Load[int](c)
		return &counter{saved}, err
	}, []actor.AnyMethod[*counter]{add})
}

const processes = 3

type rolling struct {
	counters, callers int
	quiet             time.Duration

	began time.Time
	took  time.Duration

	mu       sync.Mutex
	calls    []sample
	replaced []time.Duration // since began
	failed   error
	failures int
}

// sample is a call that was answered.
type sample struct{ at, took time.Duration }

// play runs a server and the callers here, and the counters in other processes.
func (r *rolling) play(ctx context.Context, w io.Writer) (err error) {
	server, err := embedded.Start(embedded.Options{Port: -1})
	if err != nil {
		return err
	}
	defer server.Close()
	var running []*nodes.Process
	defer func() {
		for _, p := range running {
			err = errors.Join(err, p.Kill())
		}
	}()
	for range processes {
		p, err := nodes.Start(ctx, server.URL())
		if err != nil {
			return err
		}
		running = append(running, p)
	}
	node, leave, err := nodes.Join(ctx, server.URL(), firqnats.Options{Client: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	counters, err := kind(node)
	if err != nil {
		return err
	}
	stop, callers := make(chan struct{}), sync.WaitGroup{}
	r.began = time.Now()
	for i := range r.callers {
		callers.Go(func() { r.call(ctx, counters, i, stop) })
	}
	time.Sleep(r.quiet)
	for i := range running {
		if err = r.replace(ctx, server.URL(), &running[i]); err != nil {
			break
		}
		time.Sleep(r.quiet)
	}
	r.took = time.Since(r.began)
	close(stop)
	callers.Wait()
	if err != nil {
		return err
	}
	return r.report(ctx, w, counters)
}

// replace a process by a new one.
func (r *rolling) replace(ctx context.Context, url string, old **nodes.Process) error {
	p, err := nodes.Start(ctx, url)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.replaced = append(r.replaced, time.Since(r.began))
	r.mu.Unlock()
	if err := (*old).Leave(); err != nil {
		return errors.Join(err, p.Kill())
	}
	*old = p
	return nil
}

// call adds 1 to one counter after the other, until stop is closed.
func (r *rolling) call(ctx context.Context, counters *firqnats.Kind[*counter], i int, stop chan struct{}) {
	for ; ; i += r.callers {
		select {
		case <-stop:
			return
		default:
		}
		ctx, end := context.WithTimeout(ctx, 30*time.Second)
		began := time.Now()
		_, err := add.Call(ctx, counters.Ref(fmt.Sprint(i%r.counters)), 1)
		end()
		r.mu.Lock()
		if err != nil {
			r.failures++
			r.failed = err
		} else {
			r.calls = append(r.calls, sample{began.Sub(r.began), time.Since(began)})
		}
		r.mu.Unlock()
	}
}

func (r *rolling) report(ctx context.Context, w io.Writer, counters *firqnats.Kind[*counter]) error {
	ctx, end := context.WithTimeout(ctx, 30*time.Second)
	defer end()
	sum := 0
	for i := range r.counters {
		n, err := add.Call(ctx, counters.Ref(fmt.Sprint(i)), 0)
		if err != nil {
			return err
		}
		sum += n
	}
	all := quantiles(r.calls)
	_, err := fmt.Fprintf(w, "%d processes were replaced one by one, while %d callers called %d actors\n"+
		"  calls %d, failed %d, counted %d\n  latency: half %v, 99 of 100 %v, longest %v\n",
		len(r.replaced), r.callers, r.counters, len(r.calls), r.failures, sum,
		all.half.Round(time.Microsecond), all.most.Round(time.Microsecond), all.longest.Round(time.Microsecond))
	if r.failed != nil {
		err = errors.Join(err, r.failed)
	}
	return err
}
