// Workerpool shares a few workers between a noisy tenant and a quiet one: first
// through one channel, then through firq.
//
//	go run ./examples/workerpool
//
// The noisy tenant hands in all its jobs together; the quiet one has a few, a few
// milliseconds apart. Through the channel each quiet job waits for the rest of the noisy
// backlog; through firq it waits for one or two jobs.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/examples/internal/seen"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/worker"
)

// load is how much work each tenant has, and for how many workers.
type load struct {
	workers, noisy, quiet int
	size                  int           // of a job, in KiB to hash
	gap                   time.Duration // between two jobs of the quiet tenant
}

func main() {
	var l load
	flag.IntVar(&l.workers, "workers", runtime.GOMAXPROCS(0), "workers that all tenants share")
	flag.IntVar(&l.noisy, "noisy", 1000, "jobs that the noisy tenant hands in together")
	flag.IntVar(&l.quiet, "quiet", 20, "jobs of the quiet tenant, one by one")
	flag.IntVar(&l.size, "size", 512, "KiB that a job hashes")
	flag.DurationVar(&l.gap, "gap", 5*time.Millisecond, "time between two jobs of the quiet tenant")
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

// job is one task: some data to hash.
type job struct {
	tenant string
	data   []byte
	mark   seen.Mark
}

// handle does the job. It is the same for the channel and for firq.
func (j job) handle(table *seen.Table) {
	table.Started(j.tenant, j.mark)
	sha256.Sum256(j.data)
}

// produce hands in the jobs of both tenants.
func produce(l load, table *seen.Table, put func(job) error) error {
	data := make([]byte, l.size<<10)
	for range l.noisy {
		if err := put(job{"noisy", data, table.Queued()}); err != nil {
			return err
		}
	}
	for range l.quiet {
		time.Sleep(l.gap)
		if err := put(job{"quiet", data, table.Queued()}); err != nil {
			return err
		}
	}
	return nil
}

func throughChannel(l load) *seen.Table {
	table := seen.New("waited")
	jobs := make(chan job, l.noisy+l.quiet)
	var pool sync.WaitGroup
	for range l.workers {
		pool.Go(func() {
			for j := range jobs {
				j.handle(table)
			}
		})
	}
	_ = produce(l, table, func(j job) error { jobs <- j; return nil })
	close(jobs)
	pool.Wait()
	return table
}

func throughFirq(ctx context.Context, l load) (*seen.Table, error) {
	table := seen.New("waited")
	s, err := lockfree.New(firq.Config[string, job]{})
	if err != nil {
		return nil, err
	}
	pool := make(chan error, 1)
	go func() {
		pool <- worker.Run(ctx, s, func(_ context.Context, it *firq.Item[string, job]) error {
			it.Payload.handle(table)
			return nil
		}, worker.Options[string, job]{Concurrency: l.workers})
	}()
	err = produce(l, table, func(j job) error { return s.Enqueue(j.tenant, firq.Task[job]{Payload: j}) })
	if err != nil {
		return nil, err
	}
	if err := s.Shutdown(ctx); err != nil { // nothing more comes; the pool ends when all jobs are handled
		return nil, err
	}
	return table, <-pool
}
