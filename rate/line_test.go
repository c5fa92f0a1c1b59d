package rate

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs f with a limiter by the bubble's time.
func inBubble(t *testing.T, perSecond float64, burst int64, f func(*testing.T, *Limiter[string])) {
	synctest.Test(t, func(t *testing.T) {
		f(t, New(Config[string]{Limit: Limit{perSecond, burst}}))
	})
}

func TestWaits(t *testing.T) {
	inBubble(t, 10, 2, func(t *testing.T, l *Limiter[string]) {
		takes(t, l, "a", 2, true)
		began := time.Now()
		r, err := l.Take(background, "a", 2, 200*time.Millisecond)
		if err != nil || r.Waited != 200*time.Millisecond || time.Since(began) != r.Waited || r.Remaining != 0 {
			t.Errorf("%+v, %v after %v", r, err, time.Since(began))
		}
		began = time.Now()
		r, err = l.Take(background, "a", 2, 200*time.Millisecond-1)
		if err != ErrLimited || r.RetryAfter != 200*time.Millisecond || time.Since(began) != 0 {
			t.Errorf("would wait for too long: %+v, %v after %v", r, err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(background, 200*time.Millisecond)
		defer cancel()
		if r, err := l.Take(ctx, "a", 2, time.Hour); err != ErrLimited || time.Since(began) != 0 {
			t.Errorf("ctx would end first: %+v, %v", r, err)
		}
		if r, err := l.Take(background, "a", 3, time.Hour); err != nil || r.Waited != 200*time.Millisecond {
			t.Errorf("more than the burst: %+v, %v", r, err)
		}
	})
}

// TestOrder: calls pass in the order of their arrival, whatever they cost, and no other
// overtakes them.
func TestOrder(t *testing.T) {
	inBubble(t, 10, 4, func(t *testing.T, l *Limiter[string]) {
		takes(t, l, "a", 4, true)
		began := time.Now()
		var calls []*call
		for _, cost := range []int64{4, 1, 5, 0, 2} { // 5 is above the burst
			calls = append(calls, start(background, l, "a", cost, time.Minute))
		}
		time.Sleep(150 * time.Millisecond)
		takes(t, l, "b", 1, true)
		if r := takes(t, l, "a", 0, false); r.RetryAfter != 1050*time.Millisecond {
			t.Errorf("behind the others: %+v", r)
		}
		time.Sleep(2 * time.Second)
		for i, ms := range []int{400, 500, 900, 1000, 1200} {
			calls[i].ends(t, nil)
			if at := calls[i].at.Sub(began); at != time.Duration(ms)*time.Millisecond || calls[i].r.Waited != at {
				t.Errorf("call %d after %v, waited %v, want %d ms", i, at, calls[i].r.Waited, ms)
			}
		}
	})
}

// TestLeaves: one that leaves has taken nothing, and those behind it pass sooner; those
// that come later do not overtake them.
func TestLeaves(t *testing.T) {
	inBubble(t, 1, 1, func(t *testing.T, l *Limiter[string]) {
		takes(t, l, "a", 1, true)
		began := time.Now()
		ctx, cancel := context.WithCancel(background)
		first := start(ctx, l, "a", 1, time.Minute)
		second := start(ctx, l, "a", 1, time.Minute)
		third := start(background, l, "a", 1, time.Minute)
		time.Sleep(500 * time.Millisecond)
		cancel()
		first.ends(t, context.Canceled)
		second.ends(t, context.Canceled)
		fourth := start(background, l, "a", 1, time.Minute)
		time.Sleep(5 * time.Second)
		third.ends(t, nil)
		fourth.ends(t, nil)
		if a, b := third.at.Sub(began), fourth.at.Sub(began); a != time.Second || b != 2*time.Second {
			t.Errorf("after %v and %v", a, b)
		}
		if n := l.Len(); n != 0 {
			t.Errorf("%d are remembered", n)
		}

		takes(t, l, "a", 1, true)
		ctx, cancel = context.WithCancel(background)
		first, last := start(background, l, "a", 1, time.Minute), start(ctx, l, "a", 1, time.Minute)
		cancel()
		last.ends(t, context.Canceled)
		again := start(background, l, "a", 1, time.Minute)
		time.Sleep(2 * time.Second)
		first.ends(t, nil)
		again.ends(t, nil)
	})
}

// TestChargeWhileOneWaits: what is given back lets calls pass sooner, and a debt makes them
// wait longer, but not longer than they may.
func TestChargeWhileOneWaits(t *testing.T) {
	inBubble(t, 1, 10, func(t *testing.T, l *Limiter[string]) {
		takes(t, l, "a", 10, true)
		c := start(background, l, "a", 5, time.Minute)
		d := start(background, l, "a", 5, time.Minute)
		charges(t, l, "a", -6)
		c.ends(t, nil)
		d.waits(t)
		began := time.Now()
		time.Sleep(10 * time.Second)
		d.ends(t, nil)
		if at := d.at.Sub(began); at != 4*time.Second {
			t.Errorf("passed after %v", at)
		}

		takes(t, l, "a", 6, true)
		began = time.Now()
		c = start(background, l, "a", 5, 6*time.Second)
		d = start(background, l, "a", 1, 8*time.Second-1)
		e := start(background, l, "a", 1, 20*time.Second)
		charges(t, l, "a", 7)
		time.Sleep(20 * time.Second)
		c.ends(t, ErrLimited)
		d.ends(t, ErrLimited)
		e.ends(t, nil)
		if a, b := c.at.Sub(began), d.at.Sub(began); a != 6*time.Second || b != 8*time.Second-1 {
			t.Errorf("gave up after %v and %v", a, b)
		}
		if c.r.RetryAfter != 6*time.Second || d.r.RetryAfter != 1 {
			t.Errorf("%+v, %+v", c.r, d.r)
		}
		if at := e.at.Sub(began); at != 8*time.Second {
			t.Errorf("the last one passed after %v", at)
		}
	})
}

// TestLimitLifted: a limit that goes away, or grows, lets those through who wait, when a call
// tells, or a tenth of a second later.
func TestLimitLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := Limit{1, 1}
		var mu sync.Mutex
		l := New(Config[string]{LimitFor: func(string) Limit {
			mu.Lock()
			defer mu.Unlock()
			return limit
		}})
		set := func(l Limit) {
			mu.Lock()
			defer mu.Unlock()
			limit = l
		}
		takes(t, l, "a", 1, true)
		a, b, c := start(background, l, "a", 1, time.Hour), start(background, l, "a", 1, time.Hour), start(background, l, "a", 1, time.Hour)
		set(Limit{100, 100})
		takes(t, l, "a", 1, true) // any call tells
		a.ends(t, nil)
		b.ends(t, nil)
		c.ends(t, nil)
		takes(t, l, "a", 95, true)
		a, b = start(background, l, "a", 1, time.Hour), start(background, l, "a", 1, time.Hour)
		set(Limit{})
		time.Sleep(10 * time.Millisecond)
		a.ends(t, nil)
		b.ends(t, nil)
		set(Limit{0.001, 1})
		takes(t, l, "b", 1, true)
		a = start(background, l, "b", 1, time.Hour)
		set(Limit{1000, 1})
		time.Sleep(2 * lookEvery)
		a.ends(t, nil)
	})
}

// TestClockStands: those who wait do so by the machine's time.
func TestClockStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := manual(1, 1)
		takes(t, l, "a", 1, true)
		began := time.Now()
		a, b := start(background, l, "a", 1, time.Minute), start(background, l, "a", 1, time.Minute)
		time.Sleep(time.Minute)
		a.ends(t, nil)
		b.ends(t, nil)
		if a, b := a.at.Sub(began), b.at.Sub(began); a != time.Second || b != 2*time.Second {
			t.Errorf("after %v and %v", a, b)
		}
	})
}

// TestPanicsWhileOneWaits: a function of Config that panics, or ends the goroutine, takes
// its call out of the line.
func TestPanicsWhileOneWaits(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("odd") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				var mu sync.Mutex
				l := New(Config[string]{LimitFor: func(string) Limit {
					mu.Lock()
					n := asked
					asked++
					mu.Unlock()
					if n == 3 { // the first that waits, when it wakes
						fail()
					}
					return Limit{1, 1}
				}})
				takes(t, l, "a", 1, true)
				ended := make(chan any, 1)
				go func() {
					defer func() { ended <- recover() }()
					_, _ = l.Take(background, "a", 1, time.Minute)
				}()
				synctest.Wait()
				second := start(background, l, "a", 1, time.Minute)
				time.Sleep(time.Second + time.Millisecond)
				if v := <-ended; (v == nil) != (name == "Goexit") {
					t.Errorf("recovered %v", v)
				}
				second.ends(t, nil)
				time.Sleep(time.Second)
				if n := l.Len(); n != 0 {
					t.Errorf("%d are remembered", n)
				}
			})
		})
	}
}

// TestGivenBack: a call that has passed and then does not return gives its tokens back.
func TestGivenBack(t *testing.T) {
	l, _ := manual(1, 5)
	s := l.stripe("a")
	a := s.join("a", 0, 1)
	a.spent = 5
	v := visit[string]{l: l, s: s, a: a, w: &waiter{cost: 3, look: make(chan struct{}, 1)}}
	a.enter(v.w)
	a.serve(3e9, Limit{1, 5})
	if !v.w.passed || a.line != nil || a.used(3e9, 1) != 5 {
		t.Fatalf("%+v, used %d", v.w, a.used(3e9, 1))
	}
	v.end(false)
	if used := a.used(3e9, 1); used != 2 {
		t.Errorf("used %d", used)
	}
	v.end(true)
	if used := a.used(3e9, 1); used != 2 {
		t.Errorf("used %d", used)
	}
}

// TestTooMuchWaits: what waits does not overflow.
func TestTooMuchWaits(t *testing.T) {
	inBubble(t, maxPerSecond, 1, func(t *testing.T, l *Limiter[string]) {
		charges(t, l, "a", 1e15)
		ctx, cancel := context.WithCancel(background)
		a := start(ctx, l, "a", math.MaxInt64, math.MaxInt64)
		if r, err := l.Take(background, "a", 1, math.MaxInt64); err != ErrLimited || r.RetryAfter < time.Hour {
			t.Errorf("%+v, %v", r, err)
		}
		cancel()
		a.ends(t, context.Canceled)
		time.Sleep(1001 * time.Second)
		takes(t, l, "a", 1, true)
	})
}

// TestWaitersConcurrent: with calls that come, wait and leave, as much passes as comes back.
func TestWaitersConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config[string]{Limit: Limit{1000, 10}})
		began := time.Now()
		var mu sync.Mutex
		passed, last := 0, time.Time{}
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() {
				for range 4 {
					ctx, cancel := context.WithTimeout(background, time.Duration(rand.Int64N(int64(3*time.Second))))
					if rand.IntN(3) == 0 {
						stop := time.AfterFunc(time.Duration(rand.Int64N(int64(time.Second))), cancel)
						defer stop.Stop()
					}
					if _, err := l.Take(ctx, "a", 1, time.Duration(rand.Int64N(int64(2*time.Second)))); err == nil {
						mu.Lock()
						passed++
						last = time.Now()
						mu.Unlock()
					}
					cancel()
				}
			})
		}
		wg.Wait()
		if most := 10 + int(last.Sub(began)/time.Millisecond); passed > most || passed < 100 {
			t.Errorf("%d passed, at most %d", passed, most)
		}
		time.Sleep(time.Minute)
		if n := l.Len(); n != 0 {
			t.Errorf("%d are remembered", n)
		}
	})
}
