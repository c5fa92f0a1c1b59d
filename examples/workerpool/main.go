// Workerpool shares a few workers between a noisy tenant and a quiet one: first
// through one channel, then through firq.
//
//	go run ./examples/workerpool
//
// The noisy tenant hands in all its jobs at once; the quiet one has a few, a few
// milliseconds apart. Through the channel each of them waits for what is left of
// the noisy backlog; through firq for one or two jobs.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/examples/internal/seen"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/worker"
)

// load is who wants what.
type load struct {
	workers, noisy, quiet int
	work, gap             time.Duration // of a job; between two of the quiet tenant's
}

func main() {
	var l load
	flag.IntVar(&l.workers, "workers", 4, "workers that everybody shares")
	flag.IntVar(&l.noisy, "noisy", 800, "jobs that the noisy tenant hands in at once")
	flag.IntVar(&l.quiet, "quiet", 20, "jobs of the quiet tenant, one by one")
	flag.DurationVar(&l.work, "work", time.Millisecond, "how long a job takes")
	flag.DurationVar(&l.gap, "gap", 4700*time.Microsecond, "time between two jobs of the quiet tenant")
	flag.Parse()
	if err := compare(context.Background(), os.Stdout, l); err != nil {
		fmt.Fprintln(os.Stderr, "workerpool:", err)
		os.Exit(1)
	}
}

// compare runs the load both ways and prints what the tenants saw.
func compare(ctx context.Context, w io.Writer, l load) error {
	if err := throughChannel(l).Print(w, "One channel for all: first come, first served"); err != nil {
		return err
	}
	table, err := throughFirq(ctx, l)
	if err != nil {
		return err
	}
	return table.Print(w, "firq: each tenant in turn")
}

// job is what one task is: here it only takes time.
type job struct {
	tenant string
	mark   seen.Mark
}

// produce hands in the jobs of both tenants.
func produce(l load, table *seen.Table, put func(job) error) error {
	for range l.noisy {
		if err := put(job{"noisy", table.Queued()}); err != nil {
			return err
		}
	}
	for range l.quiet {
		time.Sleep(l.gap)
		if err := put(job{"quiet", table.Queued()}); err != nil {
			return err
		}
	}
	return nil
}

func throughChannel(l load) *seen.Table {
	table := seen.New()
	jobs := make(chan job, l.noisy+l.quiet)
	var pool sync.WaitGroup
	for range l.workers {
		pool.Go(func() {
			for j := range jobs {
				table.Started(j.tenant, j.mark)
				time.Sleep(l.work)
			}
		})
	}
	_ = produce(l, table, func(j job) error { jobs <- j; return nil })
	close(jobs)
	pool.Wait()
	return table
}

func throughFirq(ctx context.Context, l load) (*seen.Table, error) {
	table := seen.New()
	s, err := lockfree.New(firq.Config[string, job]{})
	if err != nil {
		return nil, err
	}
	pool := make(chan error, 1)
	go func() {
		pool <- worker.Run(ctx, s, func(_ context.Context, it *firq.Item[string, job]) error {
			table.Started(it.Tenant, it.Payload.mark)
			time.Sleep(l.work)
			return nil
		}, worker.Options[string, job]{Concurrency: l.workers})
	}()
	err = produce(l, table, func(j job) error { return s.Enqueue(j.tenant, firq.Task[job]{Payload: j}) })
	if err != nil {
		return nil, err
	}
	if err := s.Shutdown(ctx); err != nil { // nothing more comes; the pool ends when all is handled
		return nil, err
	}
	return table, <-pool
}
