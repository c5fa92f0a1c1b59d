package gate

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// These tests have the names of those of golang.org/x/sync/semaphore, and ask the
// same of a gate with one tenant, so that one can compare. Where those sleep, these
// are in a bubble. (Release of more than is held, TestWeightedPanic there, cannot
// be said here: a permit knows its weight, and is released once.)

// sem is a gate as a semaphore.
type sem struct {
	*Gate[string]
	t testing.TB
}

func newSem(t testing.TB, n int) sem { return sem{New[string](n, Config[string]{}), t} }

func (s sem) acquire(ctx context.Context, n int) (Permit[string], error) {
	return s.Acquire(ctx, "a", Request{Weight: n})
}

func (s sem) try(n int) (Permit[string], bool) { return s.TryAcquire("a", Request{Weight: n}) }

// take acquires, and does not fail.
func (s sem) take(n int) Permit[string] {
	s.t.Helper()
	p, err := s.acquire(background, n)
	if err != nil {
		s.t.Errorf("Acquire(%d): %v", n, err)
	}
	return p
}

func TestWeighted(t *testing.T) {
	const n, loops = 8, 300
	s := newSem(t, n)
	var out atomic.Int32
	var wg sync.WaitGroup
	for weight := range n {
		wg.Go(func() {
			for range loops {
				p := s.take(weight) // 0 is 1
				if got := out.Add(int32(max(weight, 1))); got > n {
					t.Errorf("%d slots of %d are taken", got, n)
				}
				for range rand.IntN(5) {
					runtime.Gosched()
				}
				out.Add(-int32(max(weight, 1)))
				p.Release()
			}
		})
	}
	wg.Wait()
	intact(t, s.Gate)
}

func TestWeightedPanic(t *testing.T) {
	s := newSem(t, 1)
	p := s.take(1)
	p.Release()
	p.Release() // what is not held cannot be given back
	Permit[string]{}.Release()
	if s.InUse() != 0 {
		t.Errorf("in use %d", s.InUse())
	}
	intact(t, s.Gate)
}

func TestWeightedTryAcquire(t *testing.T) {
	s := newSem(t, 2)
	a := s.take(1)
	b, first := s.try(1)
	_, second := s.try(1)
	a.Release()
	b.Release()
	c, third := s.try(1)
	d := s.take(1)
	_, fourth := s.try(1)
	if !first || second || !third || fourth {
		t.Errorf("tries: %t %t %t %t, want true false true false", first, second, third, fourth)
	}
	c.Release()
	d.Release()
	if p, ok := s.try(2); !ok {
		t.Error("not both slots together")
	} else if _, ok := s.try(1); ok || s.InUse() != 2 {
		t.Errorf("a third slot of two; in use %d", s.InUse())
	} else {
		p.Release()
	}
	if _, ok := s.try(3); ok {
		t.Error("three slots of two")
	}
	intact(t, s.Gate)
}

func TestWeightedAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSem(t, 2)
		try := func(n int) (Permit[string], bool) {
			ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
			defer cancel()
			p, err := s.acquire(ctx, n)
			return p, err == nil
		}
		a := s.take(1)
		b, first := try(1)
		_, second := try(1)
		a.Release()
		b.Release()
		c, third := try(1)
		d := s.take(1)
		_, fourth := try(1)
		if !first || second || !third || fourth {
			t.Errorf("tries: %t %t %t %t, want true false true false", first, second, third, fourth)
		}
		c.Release()
		_, heavy := try(2)
		d.Release()
		if heavy {
			t.Error("two slots while one was taken")
		}
		intact(t, s.Gate)
	})
}

func TestWeightedDoesntBlockIfTooBig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2
		s := newSem(t, n)
		ctx, cancel := context.WithCancel(background)
		big := wait(ctx, s.Gate, "a", Request{Weight: n + 1})
		if p, ok := s.try(n); !ok {
			t.Error("TryAcquire fails because of a call that is too big")
		} else {
			p.Release()
		}
		var wg sync.WaitGroup
		for range 3 * n {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(background, time.Second)
				defer cancel()
				p, err := s.acquire(ctx, 1)
				if err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
				p.Release()
			})
		}
		wg.Wait()
		if big.done.Load() {
			t.Errorf("three slots of two: %v", big.err)
		}
		cancel()
		synctest.Wait()
		if !big.done.Load() || big.err != context.Canceled {
			t.Errorf("done %t, %v", big.done.Load(), big.err)
		}
		intact(t, s.Gate)
	})
}

// The light ones never let go of more than one slot at a time; there are always
// some of them that want one.
func TestLargeAcquireDoesntStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4
		s := newSem(t, n)
		var over atomic.Bool
		var wg sync.WaitGroup
		for i := range n {
			p := s.take(1)
			wg.Go(func() {
				for !over.Load() {
					time.Sleep(time.Duration(1+i) * time.Millisecond)
					p.Release()
					p = s.take(1)
				}
				p.Release()
			})
		}
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		p, err := s.acquire(ctx, n)
		if err != nil {
			t.Errorf("it starves: %v", err)
		}
		over.Store(true)
		p.Release()
		wg.Wait()
		intact(t, s.Gate)
	})
}

// A call that is next gives up while others wait behind it.
func TestAllocCancelDoesntStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSem(t, 10)
		p := s.take(1)
		ctx, cancel := context.WithCancel(background)
		all := wait(ctx, s.Gate, "a", Request{Weight: 10})
		one := wait(background, s.Gate, "a", Request{})
		if one.done.Load() || all.done.Load() {
			t.Fatal("one has overtaken, or ten of nine slots are taken")
		}
		cancel()
		one.granted(t).Release()
		if all.err != context.Canceled {
			t.Errorf("%v", all.err)
		}
		p.Release()
		intact(t, s.Gate)
	})
	for range 300 { // and at full speed
		s := newSem(t, 10)
		p := s.take(1)
		ctx, cancel := context.WithTimeout(background, 10*time.Second)
		heavy, stop := context.WithCancel(ctx)
		done := make(chan bool)
		go func() {
			defer close(done)
			if p, err := s.acquire(heavy, 10); err == nil {
				p.Release()
			}
		}()
		for s.Waiting() == 0 {
			runtime.Gosched()
		}
		go stop()
		q, err := s.acquire(ctx, 1)
		if err != nil {
			t.Fatalf("Acquire(1) with nine free slots: %v", err)
		}
		q.Release()
		<-done
		p.Release()
		cancel()
		intact(t, s.Gate)
	}
}

// The context ends before the slot comes free: so there is no permit.
func TestWeightedAcquireCanceled(t *testing.T) {
	for range 300 {
		s := newSem(t, 2)
		p := s.take(1)
		ctx, cancel := context.WithCancel(background)
		done := make(chan bool)
		go func() {
			defer close(done)
			for s.Waiting() == 0 {
				runtime.Gosched()
			}
			cancel()
			p.Release()
		}()
		if _, err := s.acquire(ctx, 2); err != context.Canceled {
			t.Fatalf("with a context that had ended: %v", err)
		}
		<-done
		q, ok := s.try(2)
		if !ok {
			t.Fatal("a slot is lost")
		}
		q.Release()
		if _, err := s.acquire(ctx, 1); err != context.Canceled {
			t.Fatalf("a free slot, with a context that had ended: %v", err)
		}
		intact(t, s.Gate)
	}
}
