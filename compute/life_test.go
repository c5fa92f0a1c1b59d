package compute

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Behaviour 8: Shutdown serves those that had called before, hand-overs included, and refuses
// later calls, hits too.
func TestShutdown(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.Limit, cfg.TTL, cfg.Groups = 1, time.Minute, 1
		d := open(t, cfg)
		d.ask(background, "a", "hit")
		release := d.m.hold("busy")
		busy := d.start(background, "a", "busy")
		ctx, cancel := context.WithCancel(background)
		leader, follower := d.start(ctx, "a", "k"), d.start(background, "a", "k")
		short, cancelShort := context.WithTimeout(background, time.Second)
		defer cancelShort()
		errs := make(chan error, 2)
		go func() { errs <- d.Shutdown(short) }()
		go func() { errs <- d.Shutdown(background) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		leader.failed(None, context.Canceled)
		d.ask(background, "a", "hit").failed(None, firq.ErrClosed)
		d.ask(background, "a", "new").failed(None, firq.ErrClosed)
		time.Sleep(time.Second)
		if err := <-errs; err != context.DeadlineExceeded {
			t.Errorf("the impatient Shutdown: %v", err)
		}
		follower.pending()
		release()
		if err := <-errs; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		synctest.Wait()
		busy.is(Executed, "a/busy#1")
		follower.is(Executed, "a/k#1")
		if err := errors.Join(d.Close(), d.Shutdown(background)); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		if err := d.Shutdown(nil); !errors.Is(err, firq.ErrInvalidArgument) { //nolint:staticcheck // that is the test
			t.Errorf("Shutdown(nil): %v", err)
		}
	})
}

// Shutdown waits for refreshes, and for executions that no call waits for.
func TestShutdownWaitsForExecutions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newMaker()
		m.deaf = true
		d := openWith(t, m, config{TTL: time.Minute, Stale: time.Minute, Detach: true}, m.exec)
		d.ask(background, "a", "k")
		time.Sleep(time.Minute)
		release1, release2 := m.hold("k"), m.hold("other")
		d.start(background, "a", "k").is(Stale, "a/k#1")
		ctx, cancel := context.WithCancel(background)
		d.start(ctx, "a", "other")
		cancel()
		over := make(chan error, 1)
		go func() { over <- d.Shutdown(background) }()
		for _, release := range []func(){release1, release2} {
			synctest.Wait()
			select {
			case err := <-over:
				t.Fatalf("Shutdown has returned: %v", err)
			default:
			}
			release()
		}
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// Behaviour 8: Close ends all calls immediately.
func TestClose(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.Limit, cfg.Groups = 1, 1
		m := newMaker()
		saw := make(chan error, 1)
		finish := make(chan struct{})
		d := openWith(t, m, cfg, func(ctx context.Context, c call) (string, error) {
			<-ctx.Done()
			saw <- ctx.Err()
			<-finish
			return "", ctx.Err()
		})
		leader, follower := d.start(background, "a", "k"), d.start(background, "a", "k")
		waiting, joined := d.start(background, "a", "queued"), d.start(background, "a", "queued")
		shut := make(chan error, 1)
		go func() { shut <- d.Shutdown(background) }()
		synctest.Wait()
		if err := errors.Join(d.Close(), d.Close()); err != nil {
			t.Errorf("Close: %v", err)
		}
		synctest.Wait()
		for _, a := range []*answered{follower, waiting, joined} {
			a.failed(None, firq.ErrClosed)
		}
		if err := <-shut; err != firq.ErrClosed {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-saw; err != context.Canceled {
			t.Errorf("exec saw %v", err)
		}
		if cfg.Detach {
			leader.failed(None, firq.ErrClosed)
		} else {
			leader.pending()
		}
		d.ask(background, "a", "new").failed(None, firq.ErrClosed)
		close(finish)
		synctest.Wait()
		leader.failed(None, firq.ErrClosed)
		if st := d.Stats(); st.Executions != 1 || st.Abandoned != 0 || st.Closed != 5 {
			t.Errorf("executions %d, abandoned %d, closed %d", st.Executions, st.Abandoned, st.Closed)
		}
	})
}

// SetLimit to 0 and back: every call gets an answer.
func TestPause(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		d := open(t, cfg)
		d.SetLimit(0)
		var all []*answered
		for _, k := range strings.Split("abcdefghijklmnop", "") {
			all = append(all, d.start(background, "a", k))
		}
		if st := d.Stats(); st.Executions != 0 || st.Waiting != len(all) {
			t.Errorf("executions %d, waiting %d", st.Executions, st.Waiting)
		}
		d.SetLimit(2)
		synctest.Wait()
		for _, a := range all {
			if !a.done.Load() || a.err != nil {
				t.Errorf("%v", a.err)
			}
		}
	})
}

func TestNewChecks(t *testing.T) {
	exec := newMaker().exec
	if _, err := New[string, string, string](nil, config{}); !errors.Is(err, firq.ErrInvalidArgument) {
		t.Errorf("nil exec: %v", err)
	}
	second := time.Second
	for field, cfgs := range map[string][]config{
		"Limit":        {{Limit: -1}, {Limit: gate.MaxSlots + 1}, {Limit: 3, Groups: 4}},
		"Groups":       {{Groups: -1}, {Groups: MaxGroups + 1}},
		"Spill":        {{Spill: 0.99}, {Spill: -1}, {Spill: math.NaN()}},
		"TTL":          {{TTL: -1}},
		"Jitter":       {{Jitter: 1}, {Jitter: math.NaN()}, {Jitter: math.Inf(1)}},
		"RefreshAhead": {{RefreshAhead: -1}, {TTL: second, RefreshAhead: second}, {RefreshAhead: second}},
		"Stale":        {{Stale: -1}},
		"StaleIfError": {{StaleIfError: -1}},
		"ExecTimeout":  {{ExecTimeout: -1}},
		"MaxWaiters":   {{MaxWaiters: -1}},
		"Size":         {{Size: -1}, {Weigh: func(string, string) int64 { return 1 }}, {Size: 1, Cache: newMapCache()}},
		"Weigh":        {{Weigh: func(string, string) int64 { return 1 }, Cache: newMapCache()}},
		"MaxPerTenant": {{MaxPerTenant: -0.1}, {MaxPerTenant: 1.1}, {MaxPerTenant: math.NaN()}, {MaxPerTenant: 0.5, Cache: newMapCache()}},
		"FIFO":         {{FIFO: true, Gate: gate.Config[string]{Order: firq.LIFO}}},
		"Gate":         {{Gate: gate.Config[string]{MaxGlobal: -1}}},
		"MaxGlobal":    {{Gate: gate.Config[string]{MaxGlobal: -1}}},
		"Adaptive":     {{Adaptive: &gate.AdaptiveConfig{}}},
	} {
		for _, cfg := range cfgs {
			_, err := New(exec, cfg)
			if !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
	for _, cfg := range []config{
		{}, {Jitter: -5}, {Spill: math.Inf(1)}, {MaxPerTenant: 1}, {Limit: 256, Groups: 256}, {Groups: 100},
		{Gate: gate.Config[string]{MaxQueueAge: -1}}, {FIFO: true, Gate: gate.Config[string]{TargetWait: second}},
		{TTLFor: func(string, string, string) time.Duration { return 1 }, RefreshAhead: second},
		{TTL: math.MaxInt64, Stale: math.MaxInt64, StaleIfError: math.MaxInt64},
	} {
		s, err := New(exec, cfg)
		if err != nil {
			t.Errorf("%+v: %v", cfg, err)
			continue
		}
		if _, err := s.Do(background, "a", "k"); err != nil {
			t.Error(err)
		}
		if cfg.TTL > 0 {
			if _, info, err := s.DoInfo(background, "a", "k"); err != nil || info.Source != Hit {
				t.Errorf("%+v, %v", info, err)
			}
		}
		s.Close()
	}
	s, err := New(exec, config{})
	if err != nil || s.Stats().Limit < 2 || s.groups.cfg.Order != firq.AdaptiveLIFO || s.groups.cfg.MaxQueueAge != 3*second {
		t.Errorf("defaults: %v, %+v", err, s.groups.cfg)
	}
	s.Close()
}

func TestWords(t *testing.T) {
	for s, want := range map[Source]string{None: "none", Hit: "hit", Stale: "stale", Coalesced: "coalesced", Executed: "executed", 9: "Source(9)"} {
		if s.String() != want {
			t.Errorf("%d: %s", s, s)
		}
	}
	if !errors.Is(ErrTooManyWaiters, firq.ErrRejected) {
		t.Error("ErrTooManyWaiters is no rejection")
	}
	for want, p := range map[string]*PanicError{"Goexit": {}, "panicked: x": {Value: "x"}} {
		if !strings.Contains(p.Error(), want) || p.Unwrap() != nil {
			t.Errorf("%v", p)
		}
	}
}
