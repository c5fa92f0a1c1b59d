package compute

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Behaviour 5.
func TestPanic(t *testing.T) {
	boom := errors.New("boom")
	for name, f := range map[string]func(){"panic": func() { panic(boom) }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, cfg config) {
				cfg.Limit, cfg.Groups, cfg.TTL = 1, 1, time.Minute
				block := make(chan struct{})
				d := openWith(t, newMaker(), cfg, func(context.Context, call) (string, error) {
					<-block
					f()
					return "", nil
				})
				leader, follower := d.start(background, "a", "k"), d.start(background, "a", "k")
				close(block)
				synctest.Wait()
				for range 3 { // the slot and the flight came back
					d.start(background, "a", "k")
				}
				st := d.Stats()
				if st.Panics != 4 || st.Failed != 4 || st.Entries != 0 {
					t.Errorf("panics %d, failed %d, entries %d", st.Panics, st.Failed, st.Entries)
				}
				var p *PanicError
				if !errors.As(follower.err, &p) || follower.info.Source != Coalesced {
					t.Fatalf("the follower got %v", follower.err)
				}
				if name == "panic" && (p.Value != boom || len(p.Stack) == 0 || !errors.Is(follower.err, boom) || !leader.done.Load()) {
					t.Errorf("value %v, stack of %d bytes, leader %v", p.Value, len(p.Stack), leader.err)
				}
				if name == "goexit" && (p.Value != nil || leader.done.Load() != cfg.Detach) {
					t.Errorf("value %v, leader returned %t", p.Value, leader.done.Load())
				}
			})
		})
	}
}

// Behaviour 5: a panic of TTLFor, Weigh or ErrorTTL is that of the execution; one of Cost or
// Clone goes to the caller.
func TestPanicOfConfig(t *testing.T) {
	bad := errors.New("bad")
	for name, cfg := range map[string]config{
		"TTLFor":   {TTLFor: func(string, string, string) time.Duration { panic("x") }},
		"Weigh":    {TTL: time.Minute, Size: 10, Weigh: func(string, string) int64 { panic("x") }},
		"ErrorTTL": {ErrorTTL: func(error) time.Duration { panic("x") }},
		"goexit":   {TTLFor: func(string, string, string) time.Duration { runtime.Goexit(); return 0 }, Detach: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Limit = 1
			d := open(t, cfg)
			if name == "ErrorTTL" {
				d.m.failWith(bad)
			}
			for range 2 {
				d.ask(background, "a", "k")
				var p *PanicError
				if a := d.ask(background, "a", "k"); !errors.As(a.err, &p) || a.info.Source != Executed {
					t.Fatalf("%+v, %v", a.info, a.err)
				}
			}
			if st := d.Stats(); st.Panics != 4 || st.Entries != 0 {
				t.Errorf("panics %d, entries %d", st.Panics, st.Entries)
			}
		})
	}
	for name, cfg := range map[string]config{
		"Cost":       {Cost: func(string, string) int64 { panic("mine") }},
		"Clone":      {Clone: func(string) string { panic("mine") }},
		"QuantumFor": {Gate: gate.Config[string]{MaxInFlightPerTenant: 1, QuantumFor: func(string) int64 { panic("mine") }}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Limit, cfg.TTL = 1, time.Minute
			d := open(t, cfg)
			for range 3 {
				func() {
					defer func() {
						if v := recover(); v != "mine" {
							t.Errorf("panicked with %v", v)
						}
					}()
					_, _ = d.Do(background, "a", "k")
				}()
			}
		})
	}
}

// A leader that panics before it executes hands over.
func TestPanicHandsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var n atomic.Int64
		first := make(chan struct{})
		d := open(t, config{Cost: func(string, string) int64 {
			if n.Add(1) == 1 {
				<-first
				panic("mine")
			}
			return 1
		}})
		go func() {
			defer func() { _ = recover() }()
			_, _ = d.Do(background, "a", "k")
		}()
		synctest.Wait()
		follower := d.start(background, "a", "k")
		close(first)
		synctest.Wait()
		follower.is(Executed, "a/k#1")
	})
}

// Keys that are not equal to themselves are neither kept nor joined; tenants are refused;
// what cannot be compared panics as in a map.
func TestOddKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		block := make(chan struct{})
		var n atomic.Int64
		s, err := New(func(context.Context, Call[any, any]) (int64, error) { <-block; return n.Add(1), nil }, Config[any, any, int64]{TTL: time.Minute, Limit: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		nan := func() any { var zero float64; return zero / zero }()
		for range 2 {
			go func() { _, _ = s.Do(background, "a", nan) }()
		}
		synctest.Wait()
		if st := s.Stats(); st.Executing != 2 {
			t.Errorf("executing %d, want 2", st.Executing)
		}
		close(block)
		synctest.Wait()
		s.Warm("a", nan, 7)
		s.Forget("a", nan)
		if st := s.Stats(); st.Entries != 0 || st.Executed != 2 || st.Flights != 0 {
			t.Errorf("entries %d, executed %d, flights %d", st.Entries, st.Executed, st.Flights)
		}
		if _, err := s.Do(background, nan, "k"); !errors.Is(err, firq.ErrInvalidTask) {
			t.Errorf("tenant NaN: %v", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a key that cannot be compared does not panic")
				}
			}()
			_, _ = s.Do(background, "a", []int{1})
		}()
		if st := s.Stats(); st.Executed != 2 || st.Executing != 0 {
			t.Errorf("%+v", st)
		}
	})
}
