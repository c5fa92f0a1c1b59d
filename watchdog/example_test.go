package watchdog_test

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/watchdog"
)

// A queue whose only worker is stuck. The watchdog says so; the processors are
// fine.
func Example() {
	s, err := lockfree.New(firq.Config[string, func()]{})
	if err != nil {
		panic(err)
	}
	jobs := watchdog.QueueOf("jobs", s.Stats)
	jobs.Warning, jobs.Critical = 50*time.Millisecond, time.Hour
	ctx, stop := context.WithCancel(context.Background())
	w, err := watchdog.New(watchdog.Options{
		Interval: 10 * time.Millisecond, // for the example; the default is 1 s
		Warning:  time.Hour,             // for the example: nothing about processors
		Queues:   []watchdog.Queue{jobs},
		OnReport: func(r watchdog.Report) {
			f := r.Findings[0]
			fmt.Println(r.Level, f.Signal, f.Name)
			stop()
		},
	})
	if err != nil {
		panic(err)
	}

	hang := make(chan struct{})
	worker := make(chan struct{})
	go func() {
		defer close(worker)
		for it := range firq.All(context.Background(), s) {
			it.Payload()
		}
	}()
	_ = s.Enqueue("a", firq.Task[func()]{Payload: func() { <-hang }})
	_ = s.Enqueue("a", firq.Task[func()]{Payload: func() {}})

	if err := w.Run(ctx); err != nil { // usually in its own goroutine
		panic(err)
	}
	close(hang)
	_ = s.Shutdown(context.Background())
	<-worker
	// Output:
	// warning queue-stall jobs
}

// A probe that goes the way of the tasks, as its own tenant: its time is
// what a tenant with one task has to wait for.
func ExampleProbe() {
	s, err := lockfree.New(firq.Config[string, func()]{})
	if err != nil {
		panic(err)
	}
	probe := watchdog.Probe{
		Name: "jobs",
		Call: func(ctx context.Context) error {
			ran := make(chan struct{})
			err := s.Enqueue("watchdog", firq.Task[func()]{Payload: func() { close(ran) }})
			if err != nil {
				return err // reported: not even one task of a quiet tenant is admitted
			}
			select {
			case <-ran:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}

	worker := make(chan struct{})
	go func() {
		defer close(worker)
		for it := range firq.All(context.Background(), s) {
			it.Payload()
		}
	}()
	fmt.Println(probe.Call(context.Background())) // a Watchdog with this probe does it once per interval
	_ = s.Shutdown(context.Background())
	<-worker
	// Output:
	// <nil>
}
