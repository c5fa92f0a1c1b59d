package actor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// journal is a log that tests read.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

// lines returns how many lines hold all of the words.
func (j *journal) lines(words ...string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
line:
	for l := range strings.Lines(j.b.String()) {
		for _, w := range words {
			if !strings.Contains(l, w) {
				continue line
			}
		}
		n++
	}
	return n
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// Each failure is heard of: a panic after a Tell with its stack, each restart, the supervisor that
// gives up, an actor that ends, dead letters at most once per second, and a timeout with its mode.
func TestFailuresAreLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := &journal{}
		s := newSys(t, Config{Logger: j.logger()})
		defer s.Close()
		p := sup(t, s, "boss", Supervision{MaxRestarts: 2})
		r, alone := box0(t, p, "worker"), box0(t, s, "alone")
		_ = do.Tell(bg, r, boom)
		synctest.Wait()
		if j.lines("level=ERROR", "actor: failed", "actor=worker", "method=Do", "boom", "stack=", "help_test.go") != 1 ||
			j.lines("level=WARN", "a supervisor restarts", "actor=worker", "supervisor=boss", "restart=1", "of=2") != 1 {
			t.Error(j.b.String())
		}
		_ = do.Tell(bg, r, boom)
		_ = do.Tell(bg, r, boom)
		_ = do.Tell(bg, alone, boom)
		synctest.Wait()
		if j.lines("a supervisor gives up, and ends", "supervisor=boss", "boom") != 1 || j.lines("actor: failed, and ends", "actor=alone") != 1 || j.lines("restart=2", "of=2") != 1 {
			t.Error(j.b.String())
		}
		slow := box0(t, s, "slow", WithHandlerTimeout(time.Second, Stop))
		_ = do.Tell(bg, slow, func(*box, *Ctx) (any, error) { time.Sleep(2 * time.Second); return nil, nil })
		for range 100 {
			_ = do.Tell(bg, slow, inc)
		}
		time.Sleep(3 * time.Second)
		if j.lines("has run for its timeout", "mode=stop") != 1 {
			t.Error(j.b.String())
		}
		if n := j.lines("actor: dead letters", "actor=slow", "method=Do"); n != 1 {
			t.Errorf("%d lines about dead letters: %s", n, j.b.String())
		}
	})
}

// Config.OnFailure gets what would be logged.
func TestOnFailure(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		j, got := &journal{}, make(chan Failure, 10)
		cfg.Logger, cfg.OnFailure = j.logger(), func(f Failure) { got <- f; panic("logged") }
		s := newSys(t, cfg)
		p := sup(t, s, "boss", Supervision{MaxRestarts: 1})
		again := false
		r := must(t, p, "r", func(*Ctx) (*box, error) {
			if again {
				return nil, errWhy
			}
			again = true
			return &box{}, nil
		})
		_, _ = do.Call(ctx, r, boom)
		for i, want := range []string{"r Do true false", "r Start false false", "boss  false true"} {
			f := <-got
			if text := fmt.Sprint(f.Name, " ", f.Method, " ", errors.Is(f.Err, ErrPanicked), " ", f.Final); text != want {
				t.Errorf("%d: %s, want %s", i, text, want)
			}
		}
		if j.lines("actor: failed") != 0 || j.lines("a hook panicked", "hook=OnFailure") == 0 {
			t.Error(j.b.String())
		}
	})
}

// The waits of a backoff do not keep a supervisor from giving up.
func TestBackoffAndIntensity(t *testing.T) {
	for _, strategy := range []Strategy{OneForOne, OneForAll} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{})
			defer s.Close()
			p := sup(t, s, "", Supervision{Strategy: strategy, MaxRestarts: 5, Within: time.Second, Backoff: 100 * time.Millisecond})
			r, n := must(t, p, "", fresh), 0
			for ; n < 100 && p.Err() == nil; n++ {
				_, _ = do.Call(bg, r, boom)
				synctest.Wait()
			}
			if n != 6 {
				t.Errorf("%v: it gives up after %d failures", strategy, n)
			}
		})
	}
}

// Nor do the waits of other children, which overlap with its own.
func TestIntensityBesideOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		defer s.Close()
		p := sup(t, s, "", Supervision{MaxRestarts: 5, Within: 50 * time.Millisecond, Backoff: time.Second})
		r, n := must(t, p, "", fresh), 0
		for ; n < 20 && p.Err() == nil; n++ {
			for _, x := range []Ref[*box]{r, must(t, p, "", fresh)} {
				_, _ = do.Call(bg, x, boom)
				synctest.Wait()
			}
			_, _ = do.Call(bg, r, get) // it is up, or has ended
			time.Sleep(2 * time.Millisecond)
		}
		if n != 6 {
			t.Errorf("it gives up after %d failures", n)
		}
	})
}

// Failures further apart than Within are no reason to give up, also after a backoff; nor are any, if
// restarts are unlimited.
func TestRareFailures(t *testing.T) {
	for name, v := range map[string]Supervision{
		"rare":      {MaxRestarts: 2, Within: time.Second, Backoff: 100 * time.Millisecond, MaxBackoff: 200 * time.Millisecond},
		"unlimited": {MaxRestarts: Unlimited},
	} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{})
			defer s.Close()
			p := sup(t, s, "", v)
			r := must(t, p, "", fresh)
			for range 20 {
				_, _ = do.Call(bg, r, boom)
				if name == "rare" {
					_, _ = do.Call(bg, r, get) // it is up
					time.Sleep(600 * time.Millisecond)
				}
			}
			if _, err := do.Call(bg, r, get); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			synctest.Wait()
			if n := len(p.a.x.sup.recent); n > 5 {
				t.Errorf("%s: %d restarts are kept", name, n)
			}
		})
	}
}
