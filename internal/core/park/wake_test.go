package park

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// [W2]: a Notify that left the waking to the consumer on its way.
func TestArrivalWakesTheNext(t *testing.T) {
	b := newBench()
	var wg sync.WaitGroup
	ctx := patient(t)
	first := make(chan *Waiter)
	b.sleeping(t, &wg, 1, func(int) {
		if err := b.consume(ctx); err != nil {
			t.Errorf("the second job was left lying: %v", err)
		}
	})
	b.sleeping(t, &wg, 1, func(int) { // the last to come is woken first
		var w Waiter
		if err := b.Sleep(ctx, &w); err != nil {
			t.Error(err)
		}
		first <- &w
	})
	b.publish(1)
	w := <-first
	b.publish(1) // leaves it to w
	if n := b.Parked(); n != 1 {
		t.Fatalf("%d parked, want 1: one is on its way", n)
	}
	b.take()
	b.Found(w)
	wg.Wait()
}

// The same when the one on its way finds that its job was taken by another consumer
// and goes back to sleep: [W1] comes before its look, which finds the other job.
func TestBackToSleepSeesWork(t *testing.T) {
	b := newBench()
	var wg sync.WaitGroup
	ctx := patient(t)
	woken := make(chan *Waiter)
	b.sleeping(t, &wg, 1, func(int) {
		w := new(Waiter)
		b.Sleep(ctx, w)
		woken <- w
	})
	b.publish(1)
	w := <-woken
	b.jobs.Store(0) // stolen
	b.publish(1)    // sees waking at 1
	if err := b.Sleep(ctx, w); err != nil {
		t.Fatalf("slept with work there: %v", err)
	}
	if n := b.waking.Load(); w.onTheWay != (n == 1) {
		t.Errorf("onTheWay = %t, waking = %d: no consumer will be woken any more", w.onTheWay, n)
	}
	// A job that comes after the look is no longer left to this consumer, as
	// waking is 0 by then: it wakes a consumer, this one being the only one.
	b.jobs.Store(0)
	b.waking.Store(1)
	w.onTheWay = true
	b.after = func() { b.publish(1) }
	if err := b.Sleep(ctx, w); err != nil || !w.onTheWay {
		t.Errorf("Sleep: %v, onTheWay = %t; want to be woken", err, w.onTheWay)
	}
	wg.Wait()
}

// A consumer on its way finds nothing at first, then several jobs in its last look
// ([C2]), all of which were left to it: it stays on its way, so that the next one
// is woken when it arrives. Otherwise a job waits for it while a consumer sleeps.
func TestStaysOnTheWay(t *testing.T) {
	b := newBench()
	var wg sync.WaitGroup
	ctx := patient(t)
	woken := make(chan *Waiter)
	done := make(chan error)
	b.sleeping(t, &wg, 1, func(int) { done <- b.consume(ctx) })
	b.sleeping(t, &wg, 1, func(int) {
		w := new(Waiter)
		b.Sleep(ctx, w)
		woken <- w
	})
	b.publish(1)
	w := <-woken
	b.jobs.Store(0) // stolen
	b.publish(1)
	b.publish(1) // both left to w
	if err := b.Sleep(ctx, w); err != nil {
		t.Fatal(err)
	}
	if !b.take() {
		t.Fatal("no job")
	}
	b.Found(w)
	if err := <-done; err != nil { // before this consumer comes again
		t.Errorf("the second job was left lying: %v", err)
	}
	wg.Wait()
}

// A consumer is woken when its context is done, and it has not left the list: the
// next gets the wake-up.
func TestCancelPassesWakeOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		served := false
		go func() {
			served = b.consume(patient(t)) == nil
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var w Waiter
		var err error
		go func() { err = b.Sleep(ctx, &w) }()
		synctest.Wait()

		// What wakeOne does, up to the message.
		b.waking.Store(1)
		b.mu.Lock()
		s := b.sleepers[len(b.sleepers)-1]
		b.drop(s)
		b.mu.Unlock()
		cancel()
		synctest.Wait() // it has given up, is in the list no more, and waits for the message
		b.jobs.Add(1)
		s.wake <- struct{}{}
		synctest.Wait()

		if !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep: %v, want the context's error", err)
		}
		if w.onTheWay {
			t.Error("still on the way after leaving")
		}
		if !served || b.Parked() != 0 || b.waking.Load() != 0 {
			t.Errorf("the wake-up was lost with the cancelled consumer: served %t, %d parked, waking = %d", served, b.Parked(), b.waking.Load())
		}
	})
}

// A consumer that gives up takes itself off the list, whichever consumers are around it.
func TestCancelLeavesTheList(t *testing.T) {
	const sleepers = 5
	for _, gone := range []int{0, 2, 4} {
		b := newBench()
		var wg sync.WaitGroup
		stay := patient(t)
		leave, cancel := context.WithCancel(context.Background())
		b.sleeping(t, &wg, sleepers, func(i int) {
			if i == gone {
				if err := b.consume(leave); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v", err)
				}
			} else if err := b.consume(stay); err != nil {
				t.Error(err)
			}
		})
		cancel()
		b.untilParked(t, sleepers-1)
		for i, s := range b.list() {
			if s.index != i {
				t.Errorf("sleeper %d says that it is %d", i, s.index)
			}
		}
		b.publish(sleepers - 1)
		wg.Wait()
		b.untilParked(t, 0)
	}
}

func (p *Parker) list() []*sleeper {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*sleeper(nil), p.sleepers...)
}

// WakeAll wakes all consumers, and the Parker works as before.
func TestWakeAll(t *testing.T) {
	const sleepers = 5
	b := newBench()
	ctx := patient(t)
	for round := 0; round < 3 && !t.Failed(); round++ {
		var wg sync.WaitGroup
		b.sleeping(t, &wg, sleepers, func(int) {
			var w Waiter
			if err := b.Sleep(ctx, &w); err != nil {
				t.Error(err)
			}
			b.Found(&w)
		})
		b.WakeAll()
		if n := b.Parked(); n != 0 {
			t.Errorf("%d parked after WakeAll", n)
		}
		wg.Wait()
		b.sleeping(t, &wg, 1, func(int) {
			if err := b.consume(ctx); err != nil {
				t.Error(err)
			}
		})
		b.publish(1)
		wg.Wait()
	}
	b.WakeAll() // no sleeper
}

// The last to come is woken first.
func TestWarmFirst(t *testing.T) {
	const sleepers = 4
	b := newBench()
	var wg sync.WaitGroup
	order := make(chan int)
	ctx := patient(t)
	b.sleeping(t, &wg, sleepers, func(i int) {
		if err := b.consume(ctx); err == nil {
			order <- i
		}
	})
	for want := sleepers - 1; want >= 0; want-- {
		b.publish(1)
		select {
		case got := <-order:
			if got != want {
				t.Errorf("woke %d, want %d", got, want)
			}
		case <-time.After(patience):
			t.Fatal("no consumer came")
		}
	}
	wg.Wait()
}

// Notify with no consumer asleep, which is every task under load, costs two loads.
func TestNotifyAllocatesNothing(t *testing.T) {
	b := newBench()
	if n := testing.AllocsPerRun(100, b.Notify); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if b.waking.Load() != 0 {
		t.Error("waking is set with no consumer asleep")
	}
}
