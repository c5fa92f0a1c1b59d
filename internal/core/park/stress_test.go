package park

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// batch is a set of jobs that are done together: a consumer that takes one waits until all
// are taken. So a job that is left waiting next to a sleeper stops everything.
type batch struct {
	left atomic.Int64
	full chan struct{}
}

// Bursts of jobs for sleeping consumers, from 1, 2 and 4 processors. Each burst
// needs as many consumers awake at a time as it has jobs.
func TestNoJobBesideASleeper(t *testing.T) {
	const bursts = 1_500
	for _, processors := range []int{1, 2, 4} {
		for _, cancelling := range []bool{false, true} {
			t.Run(fmt.Sprintf("processors=%d/cancelling=%t", processors, cancelling), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				stress(t, bursts, cancelling)
			})
		}
	}
}

func stress(t *testing.T, bursts int, cancelling bool) {
	const consumers = 4
	b := newBench()
	ctx, cancel := context.WithCancel(patient(t))
	var current atomic.Pointer[batch]
	var wg sync.WaitGroup
	for range consumers {
		wg.Go(func() {
			for b.consume(ctx) == nil {
				now := current.Load()
				if now.left.Add(-1) == 0 {
					close(now.full)
				}
				select {
				case <-now.full:
				case <-ctx.Done():
				}
			}
		})
	}
	if cancelling {
		for range 2 {
			wg.Go(func() { b.impatient(ctx) })
		}
	}
	for i := 0; i < bursts && !t.Failed(); i++ {
		now := &batch{full: make(chan struct{})}
		b.burst(now, &current, 1+i%consumers, i%2 == 0)
		select {
		case <-now.full:
		case <-ctx.Done():
			t.Errorf("burst %d: %d jobs not taken, with %d consumers parked, waking = %d",
				i, now.left.Load(), b.Parked(), b.waking.Load())
		}
	}
	cancel()
	wg.Wait()
	if n := b.Parked(); n != 0 {
		t.Errorf("%d parked in the end", n)
	}
}

// burst publishes n jobs, together or each by its own producer.
func (b *bench) burst(now *batch, current *atomic.Pointer[batch], n int, together bool) {
	now.left.Store(int64(n))
	current.Store(now)
	if together {
		b.publish(int64(n))
		return
	}
	var producers sync.WaitGroup
	for range n {
		producers.Go(func() { b.publish(1) })
	}
	producers.Wait()
}

// impatient is a consumer that gives up again and again, at any moment, and never
// takes anything.
func (b *bench) impatient(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		short, cancel := context.WithCancel(ctx)
		if i%2 == 0 {
			cancel()
		} else {
			go func() {
				runtime.Gosched()
				cancel()
			}()
		}
		var w Waiter
		for b.Sleep(short, &w) == nil {
			runtime.Gosched()
			if b.jobs.Load() == 0 {
				continue
			}
			b.Found(&w) // it saw jobs, and leaves them to others
			break
		}
		cancel()
	}
}

// A wake-up that finds no consumer on the list meets a consumer that goes to sleep and
// a job whose Notify leaves the waking to that wake-up.
func TestWakeUpWithoutSleeper(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	b := newBench()
	ctx := patient(t)
	for round := 0; round < 5_000 && !t.Failed(); round++ {
		var wg sync.WaitGroup
		wg.Go(b.wakeOne) // a Notify that saw a waiter that has left
		wg.Go(func() {
			if err := b.consume(ctx); err != nil {
				t.Errorf("round %d: asleep while there is a job: %v", round, err)
			}
		})
		wg.Go(func() { b.publish(1) })
		wg.Wait()
	}
}
