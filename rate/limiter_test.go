package rate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

func TestTake(t *testing.T) {
	l, c := manual(10, 5)
	for i := range int64(5) {
		r := takes(t, l, "a", 1, true)
		if want := (Result{Limit: Limit{10, 5}, Remaining: 4 - i, Reset: time.Duration(i+1) * 100 * time.Millisecond}); r != want {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	r := takes(t, l, "a", 1, false)
	if want := (Result{Limit: Limit{10, 5}, Reset: 500 * time.Millisecond, RetryAfter: 100 * time.Millisecond}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	takes(t, l, "a", 0, true) // no debt
	takes(t, l, "b", 5, true) // another tenant
	c.advance(100*time.Millisecond - 1)
	takes(t, l, "a", 1, false)
	c.advance(1)
	takes(t, l, "a", 1, true)
	c.advance(time.Hour)
	if r := takes(t, l, "a", 6, true); r.Remaining != 0 || r.Reset != 600*time.Millisecond {
		t.Errorf("more than the burst: %+v", r)
	}
	takes(t, l, "a", 0, false) // a debt of 1
	c.advance(100 * time.Millisecond)
	takes(t, l, "a", 0, true)
	if r := takes(t, l, "a", 6, false); r.RetryAfter != 500*time.Millisecond {
		t.Errorf("until the burst is whole: %v", r.RetryAfter)
	}
}

func TestCharge(t *testing.T) {
	l, c := manual(10, 5)
	charges(t, l, "a", 25) // of one that nobody knows
	if r := takes(t, l, "a", 1, false); r.Reset != 2500*time.Millisecond || r.RetryAfter != 2100*time.Millisecond {
		t.Errorf("a debt of 20: %+v", r)
	}
	charges(t, l, "a", -22)
	if r := takes(t, l, "a", 1, true); r.Remaining != 1 {
		t.Errorf("given back: %+v", r)
	}
	charges(t, l, "a", -100)
	if r := takes(t, l, "a", 5, true); r.Remaining != 0 {
		t.Errorf("given back to whole: %+v", r)
	}
	charges(t, l, "b", -100)
	takes(t, l, "b", 5, true)
	takes(t, l, "b", 1, false) // not more than whole
	ctx, cancel := context.WithCancel(background)
	cancel()
	if err := l.Charge(ctx, "b", -5); err != nil {
		t.Error("after the request has ended: ", err)
	}
	takes(t, l, "b", 5, true)
	c.advance(-time.Hour) // a clock that goes back gives nothing, and takes nothing
	takes(t, l, "b", 1, false)
	charges(t, l, "b", -1)
	takes(t, l, "b", 1, true)
}

// TestLimitChanges: what is used stays the same number when the limit changes.
func TestLimitChanges(t *testing.T) {
	c := new(clock)
	var limit atomic.Pointer[Limit]
	set := func(l Limit) { limit.Store(&l) }
	l := New(Config[string]{Limit: Limit{1, 10}, LimitFor: func(string) Limit { return *limit.Load() }, Now: c.Now})
	set(Limit{})
	if r := takes(t, l, "a", 8, true); r.Remaining != 2 || r.Limit != (Limit{1, 10}) {
		t.Errorf("LimitFor's zero: %+v", r)
	}
	set(Limit{100, 50})
	if r := takes(t, l, "a", 0, true); r.Remaining != 42 || r.Reset != 80*time.Millisecond {
		t.Errorf("faster: %+v", r)
	}
	c.advance(20 * time.Millisecond)
	set(Limit{2, 4})
	if r := takes(t, l, "a", 1, false); r.RetryAfter != 1500*time.Millisecond {
		t.Errorf("slower, 6 of 4 used: %+v", r)
	}
	for _, odd := range []Limit{{-1, 3}, {1, -1}, {math.NaN(), 1}, {0, 5}, {1e13, 0}} {
		set(odd)
		if r := takes(t, l, "a", 0, true); r.Limit != (Limit{1, 10}) {
			t.Errorf("%+v: %+v", odd, r)
		}
	}
	none := New(Config[string]{LimitFor: func(k string) Limit { return map[string]Limit{"a": {PerSecond: 0.5}}[k] }})
	if r := takes(t, none, "b", math.MaxInt64, true); r != (Result{}) || none.Len() != 0 {
		t.Errorf("no limit: %+v", r)
	}
	if r := takes(t, none, "a", 1, true); r.Limit != (Limit{0.5, 1}) {
		t.Errorf("the default burst: %+v", r)
	}
}

func TestInvalid(t *testing.T) {
	for _, c := range []struct {
		Limit
		fields string
	}{
		{Limit{-1, 0}, "PerSecond"}, {Limit{math.NaN(), 0}, "PerSecond"}, {Limit{math.Inf(1), 0}, "PerSecond"}, {Limit{9e-7, 0}, "PerSecond"},
		{Limit{1.1e12, 1}, "PerSecond"}, {Limit{1, -1}, "Burst"}, {Limit{0, 1}, "Burst"}, {Limit{0, -1}, "Burst"}, {Limit{-1, -1}, "PerSecond Burst"},
	} {
		_, err := Open(Config[string]{Limit: c.Limit})
		if !errors.Is(err, firq.ErrInvalidConfig) {
			t.Errorf("%+v: %v", c.Limit, err)
		}
		for field := range strings.FieldsSeq(c.fields) {
			if !strings.Contains(fmt.Sprint(err), field+": ") {
				t.Errorf("%+v: %v does not name %s", c.Limit, err, field)
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%+v) does not panic", c.Limit)
				}
			}()
			New(Config[string]{Limit: c.Limit})
		}()
	}
	l := New(Config[float64]{Limit: Limit{1, 1}})
	free := New(Config[float64]{})
	for _, l := range []Taker[float64]{l, free, All(Taker[float64](l)), Count[float64](l)} {
		if _, err := l.Take(nil, 1, 1, 0); !errors.Is(err, firq.ErrInvalidArgument) { //nolint:staticcheck // SA1012: on purpose
			t.Errorf("nil context: %v", err)
		}
		for _, err := range []error{
			second(l.Take(background, 1, -1, 0)),
			second(l.Take(background, 1, 1, -1)),
			second(l.Take(background, math.NaN(), 1, 0)),
		} {
			if !errors.Is(err, firq.ErrInvalidTask) {
				t.Errorf("%T: %v", l, err)
			}
		}
	}
	if err := l.Charge(nil, 1, 1); !errors.Is(err, firq.ErrInvalidArgument) { //nolint:staticcheck // SA1012: on purpose
		t.Errorf("nil context: %v", err)
	}
	if err := l.Charge(background, math.NaN(), 1); !errors.Is(err, firq.ErrInvalidTask) {
		t.Errorf("NaN: %v", err)
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := l.Take(ctx, 1, 1, 0); err != context.Canceled || l.Len() != 0 {
		t.Errorf("a context that has ended: %v", err)
	}
	if !errors.Is(ErrLimited, firq.ErrRejected) {
		t.Error("ErrLimited does not match firq.ErrRejected")
	}
}

func second(_ Result, err error) error { return err }

// TestForgets: tenants whose bursts are whole are forgotten, by calls of others too.
func TestForgets(t *testing.T) {
	l, c := manual(10, 5)
	for i := range 20_000 {
		takes(t, l, fmt.Sprint(i), 1, true)
	}
	charges(t, l, "debt", 1000)
	if n := l.Len(); n != 20_001 {
		t.Fatalf("%d are remembered", n)
	}
	c.advance(10 * time.Second)
	for range 200_000 {
		takes(t, l, fmt.Sprint("other", c.ns.Load()/1e6%100), 0, true)
		c.advance(time.Microsecond)
	}
	n, peak := 0, 0
	for i := range l.stripes {
		n += len(l.stripes[i].tenants)
		peak += l.stripes[i].peak
	}
	if n > 8000 {
		t.Errorf("%d are remembered", n)
	}
	if n := l.Len(); n != 1 {
		t.Errorf("%d are remembered, one of them in debt", n)
	}
	takes(t, l, "debt", 1, false)
	c.advance(100 * time.Second)
	if n := l.Len(); n != 0 {
		t.Errorf("%d are remembered", n)
	}
}

// TestShrinks: a map that was large once is made anew.
func TestShrinks(t *testing.T) {
	s := stripe[int]{tenants: map[int]*account[int]{}}
	for i := range 5000 {
		s.join(i, 0, 1).spent = 1
	}
	s.join(-1, 0, 1).spent = 100
	before := s.tenants
	s.forget(2e9, 5001, idle)
	if len(s.tenants) != 1 || s.peak != 1 || len(before) != 1 {
		t.Errorf("%d tenants, peak %d", len(s.tenants), s.peak)
	}
	before[7] = nil
	if _, same := s.tenants[7]; same {
		t.Error("it is the large map still")
	}
}

// TestLineIsNotForgotten: an account stays as long as calls wait for it, though its burst is
// whole, as it is when their time has come and none has looked yet.
func TestLineIsNotForgotten(t *testing.T) {
	s := stripe[int]{tenants: map[int]*account[int]{}}
	a, w := s.join(7, 0, 1), new(waiter)
	a.enter(w)
	s.forget(1e18, 1, idle)
	if s.tenants[7] != a {
		t.Error("forgotten with its line")
	}
	a.leave(w)
	s.forget(1e18, 1, idle)
	if len(s.tenants) != 0 {
		t.Error("remembered")
	}
}

// TestConcurrent: many take what there is, no more and no less.
func TestConcurrent(t *testing.T) {
	l, c := manual(1000, 50)
	var taken atomic.Int64
	for range 20 {
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 50 {
					if _, err := l.Take(background, "a", 1, 0); err == nil {
						taken.Add(1)
					}
					_, _ = l.Take(background, fmt.Sprint(g, i), 1, 0)
					if i%10 == 0 {
						_ = l.Charge(background, "a", 2)
						_ = l.Charge(background, "a", -2)
						l.Len()
					}
				}
			})
		}
		wg.Wait()
		c.advance(10 * time.Millisecond)
	}
	// Charge may take what a Take would have had, and give it back when none asks any more.
	if n := taken.Load(); n > 50+190 || n < 20*10 {
		t.Errorf("%d taken, of 50 + 10 in each of 19 rounds", n)
	}
	for {
		if _, err := l.Take(background, "a", 1, 0); err != nil {
			break
		}
		taken.Add(1)
	}
	if n := taken.Load(); n != 50+200 {
		t.Errorf("%d taken, want 250", n)
	}
}

func TestAllocatesNothing(t *testing.T) {
	l := New(Config[string]{Limit: Limit{1e9, 1e9}})
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint("tenant", i)
		takes(t, l, keys[i], 1e9, true)
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		_, _ = l.Take(background, keys[i%100], 0, 0)
		_ = l.Charge(background, keys[i%100], 1e9)
		i++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
