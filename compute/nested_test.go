package compute

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

type server = Server[string, string, string]

// need is what an execution asks for.
type need = func(ctx context.Context, s *server) (string, error)

// nest opens a server whose exec asks what each key needs.
func nest(t *testing.T, cfg config, needs map[string]need) *desk {
	t.Helper()
	var d *desk
	d = openWith(t, newMaker(), cfg, func(ctx context.Context, c call) (string, error) {
		if f := needs[c.Key]; f != nil {
			v, err := f(ctx, d.Server)
			return c.Key + v, err
		}
		return c.Key, nil
	})
	return d
}

// A call that would wait for itself ends immediately: for the execution's own key, by others, and
// whatever is made of the context.
func TestCycle(t *testing.T) {
	ask := func(key string) need {
		return func(ctx context.Context, s *server) (string, error) { return s.Do(ctx, "a", key) }
	}
	for name, n := range map[string]map[string]need{
		"itself":     {"k": ask("k")},
		"by another": {"k": ask("l"), "l": ask("k")},
		"by two":     {"k": ask("l"), "l": ask("m"), "m": ask("k")},
		"derived": {"k": func(ctx context.Context, s *server) (string, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
			defer cancel()
			return s.Do(ctx, "a", "k")
		}},
		"one of several": {"k": func(ctx context.Context, s *server) (string, error) {
			var all sync.WaitGroup
			errs := make([]error, 3)
			for i, key := range []string{"x", "k", "y"} {
				all.Go(func() { _, errs[i] = s.Do(ctx, "a", key) })
			}
			all.Wait()
			return "", errors.Join(errs...)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, cfg config) {
				cfg.Limit = 12
				d := nest(t, cfg, n)
				began := time.Now()
				_, err := d.Do(background, "a", "k")
				if !errors.Is(err, ErrCycle) || time.Since(began) > 0 {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				d.calls.Store(int64(d.sum()))
			})
		})
	}
}

// sum is how many calls the books have.
func (d *desk) sum() uint64 {
	st := d.Stats()
	return st.Hits + st.Stale + st.Coalesced + st.Executed + st.Refused + st.GaveUp + st.Closed
}

// Two executions that ask for each other's key do not hang, though each was begun by a call that
// has nothing to do with the other.
func TestCycleOfTwo(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		both := make(chan struct{})
		asks := func(key string) need {
			return func(ctx context.Context, s *server) (string, error) {
				<-both
				return s.Do(ctx, "a", key)
			}
		}
		d := nest(t, cfg, map[string]need{"k": asks("l"), "l": asks("k")})
		k, l := d.start(background, "a", "k"), d.start(background, "a", "l")
		began := time.Now()
		close(both)
		synctest.Wait()
		if !k.done.Load() || !l.done.Load() || time.Since(began) > 0 {
			t.Fatal("they wait for each other")
		}
		if !errors.Is(k.err, ErrCycle) || !errors.Is(l.err, ErrCycle) { // the one has the other's
			t.Errorf("%v, %v", k.err, l.err)
		}
		d.calls.Store(int64(d.sum()))
	})
}

// A leader on whose goroutine exec runs waits for it even after the end of its context.
func TestCycleAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		first := make(chan struct{})
		d := nest(t, config{Limit: 4}, map[string]need{
			"k": func(ctx context.Context, s *server) (string, error) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				return s.Do(ctx, "a", "l")
			},
			"l": func(ctx context.Context, s *server) (string, error) {
				ctx.Done() // so that the end of the leader's is seen
				<-first
				return s.Do(ctx, "a", "k")
			},
		})
		k := d.start(background, "a", "k")
		l := d.start(background, "a", "l")
		time.Sleep(2 * time.Second)
		close(first)
		synctest.Wait()
		if !l.done.Load() || !errors.Is(l.err, ErrCycle) || !k.done.Load() {
			t.Fatalf("%v, %v", l.err, k.err)
		}
		d.calls.Store(int64(d.sum()))
	})
}

// The way back may lead over other servers, and over a Batcher.
func TestCycleOverOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var outer, middle *server
		b, err := NewBatcher(func(ctx context.Context, calls []call) ([]string, error) {
			v, err := middle.Do(ctx, "m", calls[0].Key)
			return []string{v}, err
		}, BatchConfig[string]{Limit: 1, Max: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		outer, err = New(func(ctx context.Context, c call) (string, error) { return b.Do(ctx, c.Tenant, c.Key) }, config{Limit: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer outer.Close()
		back := true
		middle, err = New(func(ctx context.Context, c call) (string, error) {
			if back {
				return outer.Do(ctx, "a", c.Key)
			}
			return c.Key, nil
		}, config{Limit: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer middle.Close()
		began := time.Now()
		if _, err := outer.Do(background, "a", "k"); !errors.Is(err, ErrCycle) || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		back = false
		if v, err := outer.Do(background, "a", "k"); v != "k" || err != nil {
			t.Errorf("without a cycle: %q, %v", v, err)
		}
	})
}

// What is no cycle is none: a refresh in the background does not wait for calls that wanted the old result, nor
// does a call whose context has ended, and an execution that is over waits for nothing.
func TestNoCycle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := make(chan struct{})
		d := nest(t, config{Limit: 4, TTL: time.Minute, Stale: time.Hour}, map[string]need{
			"k": func(ctx context.Context, s *server) (string, error) {
				v, err := s.Do(ctx, "a", "l") // stale: refreshed behind
				<-hold
				return v, err
			},
			"l": func(ctx context.Context, s *server) (string, error) {
				if s.Stats().Behind == 0 {
					return "", nil
				}
				return s.Do(ctx, "a", "k")
			},
		})
		d.start(background, "a", "l")
		time.Sleep(time.Minute)
		k := d.start(background, "a", "k")
		close(hold)
		synctest.Wait()
		k.is(Executed, "kl")
		if v, _, ok := d.Peek("a", "l"); !ok || v != "lkl" {
			t.Errorf("the refresh made %q", v)
		}
		d.calls.Store(int64(d.sum()))
	})
	bubble(t, func(t *testing.T) { // a call that has given up
		hold, end := make(chan struct{}), make(chan struct{})
		d := nest(t, config{Limit: 4, Detach: true}, map[string]need{
			"k": func(ctx context.Context, s *server) (string, error) {
				for _, key := range []string{"l", "m"} { // leads the one, joins the other
					ctx, cancel := context.WithTimeout(ctx, time.Second)
					_, err := s.Do(ctx, "a", key)
					cancel()
					if !errors.Is(err, context.DeadlineExceeded) {
						return "", err
					}
				}
				<-end
				return "", nil
			},
			"l": func(ctx context.Context, s *server) (string, error) {
				<-hold
				return s.Do(ctx, "a", "k")
			},
			"m": func(ctx context.Context, s *server) (string, error) {
				<-hold
				return s.Do(ctx, "a", "k")
			},
		})
		m := d.start(background, "a", "m")
		k := d.start(background, "a", "k")
		l := d.start(background, "a", "l")
		time.Sleep(time.Minute)
		close(hold)
		synctest.Wait()
		close(end)
		synctest.Wait()
		for _, a := range []*answered{k, l, m} {
			if !a.done.Load() || a.err != nil {
				t.Errorf("%q, %v", a.v, a.err)
			}
		}
		d.calls.Store(int64(d.sum()))
	})
}

// Outer calls that hold all slots do not hang for ever: their inner ones wait for MaxQueueAge.
func TestNestedWithoutSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := nest(t, config{Limit: 1}, map[string]need{
			"k": func(ctx context.Context, s *server) (string, error) { return s.Do(ctx, "a", "l") },
		})
		began := time.Now()
		if _, err := d.Do(background, "a", "k"); !errors.Is(err, firq.ErrTimeout) || time.Since(began) != DefaultMaxQueueAge {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		d.calls.Store(int64(d.sum()))
	})
}

// A context whose Value panics leaves nothing behind.
func TestNestedPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{})
		release := d.m.hold("k")
		leader := d.start(background, "a", "k")
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_, _ = d.Do(valuePanics{background}, "a", "k")
		}()
		release()
		synctest.Wait()
		leader.is(Executed, "a/k#1")
	})
}

type valuePanics struct{ context.Context }

func (valuePanics) Value(any) any { panic("mine") }
