// Hog shows what long computations do to other work. Some actors, the hogs, get messages that
// take 5 ms of processor time each, more of them than they can handle; quiet actors get a short
// message now and then.
//
//	go run ./examples/hog
//
// It is played three times: with one channel and a pool of as many goroutines as there are
// processors, the obvious way to write it; with a goroutine and a channel for each actor, which
// is what most actor libraries amount to; and with actors of package actor. The waits of the
// quiet actors count from when a message was due, so that a pool that stands still does not look
// good.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/examples/internal/seen"
)

type farm struct {
	hogs, quiet, messages int
	work, every           time.Duration
}

func main() {
	var f farm
	flag.IntVar(&f.hogs, "hogs", 4, "hogs")
	flag.IntVar(&f.quiet, "quiet", 4, "quiet ones")
	flag.IntVar(&f.messages, "messages", 100, "messages to each quiet one")
	flag.DurationVar(&f.work, "work", 5*time.Millisecond, "processor time of a hog's message")
	flag.DurationVar(&f.every, "every", 10*time.Millisecond, "how often a quiet one gets a message")
	flag.Parse()
	if err := f.compare(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hog:", err)
		os.Exit(1)
	}
}

func (f farm) compare(ctx context.Context, w io.Writer) error {
	for _, way := range []struct {
		title string
		open  func() (send, func() error, error)
	}{
		{"A pool with one channel", f.pool},
		{"A goroutine and a channel each", f.goroutines},
		{"Actors", f.actors},
	} {
		table, err := f.play(ctx, way.open)
		if err != nil {
			return err
		}
		if err := table.Print(w, way.title); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// send hands a message to one of the actors, and returns when it is handled; actors 0 to hogs-1
// are the hogs. f is the work of the message.
type send func(ctx context.Context, to int, f func()) error

// spin computes.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// pool: everything goes through one channel.
func (f farm) pool() (send, func() error, error) {
	jobs, wg := make(chan func()), sync.WaitGroup{}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	return func(_ context.Context, _ int, f func()) error { return through(jobs, f) },
		func() error { close(jobs); wg.Wait(); return nil }, nil
}

// goroutines: each has its own channel.
func (f farm) goroutines() (send, func() error, error) {
	all, wg := make([]chan func(), f.hogs+f.quiet), sync.WaitGroup{}
	for i := range all {
		all[i] = make(chan func())
		wg.Go(func() {
			for job := range all[i] {
				job()
			}
		})
	}
	stop := func() error {
		for _, jobs := range all {
			close(jobs)
		}
		wg.Wait()
		return nil
	}
	return func(_ context.Context, to int, f func()) error { return through(all[to], f) }, stop, nil
}

func through(jobs chan<- func(), f func()) error {
	done := make(chan struct{})
	jobs <- func() { defer close(done); f() }
	<-done
	return nil
}

type animal struct{}

func (animal) work(_ *actor.Ctx, f func()) error { f(); return nil }

var work = actor.NewAction("Work", animal.work)

func (f farm) actors() (send, func() error, error) {
	sys, err := actor.New(actor.Config{})
	if err != nil {
		return nil, nil, err
	}
	all := make([]actor.Ref[animal], f.hogs+f.quiet)
	for i := range all {
		if all[i], err = actor.Spawn(sys, fmt.Sprint("animal-", i), actor.Value(animal{})); err != nil {
			return nil, nil, errors.Join(err, sys.Close())
		}
	}
	return func(ctx context.Context, to int, f func()) error {
		_, err := work.Call(ctx, all[to], f)
		return err
	}, func() error { return sys.Shutdown(context.Background()) }, nil
}

func (f farm) play(ctx context.Context, open func() (send, func() error, error)) (*seen.Table, error) {
	send, stop, err := open()
	if err != nil {
		return nil, err
	}
	// A ctx that can end: with it, calls go through the mailbox, as they should here.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	table := seen.New("waited")
	var noise, quiet sync.WaitGroup
	var mu sync.Mutex
	var wrong error
	note := func(err error) {
		if err != nil && ctx.Err() == nil {
			mu.Lock()
			defer mu.Unlock()
			wrong = errors.Join(wrong, err)
		}
	}
	for hog := range f.hogs {
		for range 2 * runtime.GOMAXPROCS(0) { // so that the hog always has messages
			noise.Go(func() {
				for ctx.Err() == nil {
					mark := table.Queued()
					note(send(ctx, hog, func() { table.Started("hogs", mark); spin(f.work) }))
				}
			})
		}
	}
	for i := range f.quiet {
		quiet.Go(func() {
			tick := time.NewTicker(f.every)
			defer tick.Stop()
			var one sync.WaitGroup
			for range f.messages {
				<-tick.C
				mark := table.Queued()
				one.Go(func() { note(send(ctx, f.hogs+i, func() { table.Started("quiet", mark) })) })
			}
			one.Wait()
		})
	}
	quiet.Wait()
	cancel()
	noise.Wait()
	return table, errors.Join(wrong, stop())
}
