package park

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is after what time a sleeper that is not woken gives up and its test
// fails.
const patience = 5 * time.Second

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// bench is a number of jobs and the Parker of the goroutines that do them. hook, if set, is
// called within work, before and after the jobs are looked at: between [C1] and
// [C3] of a consumer that goes to sleep.
type bench struct {
	*Parker
	jobs          atomic.Int64
	before, after func()
}

func newBench() *bench {
	b := new(bench)
	b.Parker = New(b.work)
	return b
}

func (b *bench) work() bool {
	if f := b.before; f != nil {
		b.before = nil
		f()
	}
	there := b.jobs.Load() > 0
	if f := b.after; f != nil {
		b.after = nil
		f()
	}
	return there
}

// publish is [P1] and [P2].
func (b *bench) publish(n int64) {
	b.jobs.Add(n)
	b.Notify()
}

// take is a consumer's try. It does not notify: the producer that publishes does.
func (b *bench) take() bool {
	for {
		n := b.jobs.Load()
		if n == 0 {
			return false
		}
		if b.jobs.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// consume waits for a job and takes it.
func (b *bench) consume(ctx context.Context) error {
	var w Waiter
	for {
		if b.take() {
			b.Found(&w)
			return nil
		}
		if err := b.Sleep(ctx, &w); err != nil {
			return err
		}
	}
}

// sleeping starts n goroutines that run f, each once the one before is parked:
// the last is woken first.
func (b *bench) sleeping(t *testing.T, wg *sync.WaitGroup, n int, f func(i int)) {
	t.Helper()
	for i := range n {
		parked := b.Parked()
		wg.Go(func() { f(i) })
		b.untilParked(t, parked+1)
	}
}

func (b *bench) untilParked(t *testing.T, n int) {
	t.Helper()
	for start := time.Now(); b.Parked() != n; runtime.Gosched() {
		if time.Since(start) > patience {
			t.Fatalf("%d parked, want %d", b.Parked(), n)
		}
	}
}

// [C2]: work that was published before the consumer announced itself, when
// Notify saw no sleeper.
func TestLooksAgain(t *testing.T) {
	b := newBench()
	var w Waiter
	b.publish(1)
	if err := b.Sleep(patient(t), &w); err != nil {
		t.Fatalf("slept with work there: %v", err)
	}
	if n := b.Parked(); n != 0 {
		t.Errorf("%d parked", n)
	}
	if w.onTheWay {
		t.Error("on the way, though it was not woken")
	}
}

// The consumer looks, finds nothing, and the work comes before it sleeps: it has
// announced itself before it looked, so Notify sees it.
func TestPublishedAfterTheLook(t *testing.T) {
	b := newBench()
	var w Waiter
	b.after = func() {
		if n := b.Parked(); n != 1 {
			t.Errorf("%d parked at the look, want 1: announce first", n)
		}
		b.publish(1)
	}
	if err := b.Sleep(patient(t), &w); err != nil {
		t.Fatalf("slept over the wake-up: %v", err)
	}
	if !w.onTheWay || b.Parked() != 0 {
		t.Errorf("onTheWay = %t, %d parked; want true, 0", w.onTheWay, b.Parked())
	}
}

// Work and wake-up come between announcing and the look: the wake-up is taken
// along, and no consumer is left with one that it does not expect.
func TestPublishedBeforeTheLook(t *testing.T) {
	b := newBench()
	var w Waiter
	b.before = func() { b.publish(1) }
	if err := b.Sleep(patient(t), &w); err != nil {
		t.Fatal(err)
	}
	if !w.onTheWay {
		t.Fatal("woken, but not on the way: waking stays 1 for ever")
	}
	b.jobs.Store(0)
	b.Found(&w)
	if n := b.waking.Load(); n != 0 {
		t.Errorf("waking is %d after Found", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.after = cancel
	if err := b.Sleep(ctx, &w); !errors.Is(err, context.Canceled) {
		t.Errorf("woken by a wake-up that was used before: %v", err)
	}
}

// However often Notify is called, one consumer is on its way; the one that finds
// work wakes the next as long as there is more.
func TestOneOnTheWay(t *testing.T) {
	const sleepers = 4
	b := newBench()
	var wg sync.WaitGroup
	ctx := patient(t)
	woken, goOn := make(chan *Waiter), make(chan bool)
	b.sleeping(t, &wg, sleepers, func(int) {
		var w Waiter
		if err := b.Sleep(ctx, &w); err != nil {
			t.Error(err)
			return
		}
		woken <- &w
		<-goOn
		b.Found(&w)
	})
	defer wg.Wait()
	b.jobs.Store(1)
	for i := range sleepers {
		for range 3 {
			b.Notify()
		}
		var w *Waiter
		select {
		case w = <-woken:
		case <-ctx.Done():
			t.Fatalf("only %d of %d woken", i, sleepers)
		}
		if !w.onTheWay || b.waking.Load() != 1 {
			t.Errorf("onTheWay = %t, waking = %d", w.onTheWay, b.waking.Load())
		}
		if n, want := b.Parked(), sleepers-1-i; n != want {
			t.Errorf("%d parked, want %d", n, want)
		}
		if i == sleepers-1 {
			b.jobs.Store(0)
		}
		goOn <- true
	}
	wg.Wait()
	if n := b.waking.Load(); n != 0 {
		t.Errorf("waking is %d with no consumer on the way", n)
	}
}

// Found wakes no consumer if there is no more work, nor if the consumer did not sleep.
func TestFoundWakesOnlyForWork(t *testing.T) {
	b := newBench()
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	b.sleeping(t, &wg, 2, func(int) { b.Sleep(ctx, new(Waiter)) })
	b.Found(new(Waiter))
	b.waking.Store(1)
	b.Found(&Waiter{onTheWay: true})
	if n := b.Parked(); n != 2 {
		t.Errorf("%d parked, want 2", n)
	}
	b.jobs.Store(1)
	b.Found(new(Waiter)) // it never slept: Notify has seen to it
	if n := b.Parked(); n != 2 {
		t.Errorf("%d parked, want 2", n)
	}
	cancel()
	wg.Wait()
}
