package actor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// keyed is a Kind whose starts are counted.
func keyed(t testing.TB, p Parent, starts *atomic.Int64, opts ...Option) *Kind[*box] {
	t.Helper()
	k, err := NewKind(p, "k", func(*Ctx, string) (*box, error) { starts.Add(1); return &box{}, nil }, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKindStartsOnce(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		s := newSys(t, c)
		var starts atomic.Int64
		k := keyed(t, s, &starts)
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				r := k.Ref(fmt.Sprint(i % 4))
				if _, err := do.Call(ctx, r, inc); err != nil {
					t.Error(err)
				}
				if err := do.Tell(ctx, r, inc); err != nil {
					t.Error(err)
				}
				if _, err := do.Start(ctx, r, inc).Wait(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range 4 {
			r := k.Ref(fmt.Sprint(i))
			if n, err := do.Call(ctx, r, get); n != 30 || err != nil {
				t.Error(i, n, err)
			}
		}
		if n := starts.Load(); n != 4 {
			t.Errorf("%d starts of 4 actors", n)
		}
		books(t, s)
	})
}

func TestKindRef(t *testing.T) {
	limit(t, 10*time.Second)
	s := newSys(t, Config{})
	var starts atomic.Int64
	k := keyed(t, s, &starts)
	r := k.Ref("a/b")
	if r != k.Ref("a/b") || r == k.Ref("a") || r != Virtual[*box](k, Identity{"k", "a/b"}) {
		t.Error("Refs are not == by identity")
	}
	if r.Name() != "k/a/b" || r.Key() != "a/b" || r.Done() != nil || r.Err() != nil || r.Len() != 0 || starts.Load() != 0 {
		t.Error(r.Name(), r.Key(), r.Err(), r.Len(), starts.Load())
	}
	r.Kill()
	if err := r.Stop(bg); err != nil {
		t.Error(err)
	}
	v, err := do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
		self, ok := Self[*box](c)
		if !ok || self.Name() != "k/a/b" || self.Key() != "" || c.Name() != "k/a/b" {
			t.Error(self.Name(), self.Key(), ok)
		}
		return self, nil
	})
	if self, _ := v.(Ref[*box]); err != nil || self.Done() == nil || self == r {
		t.Error(v, err)
	}
	_, err = do.Call(bg, box0(t, s, ""), func(_ *box, c *Ctx) (any, error) { Watch(c, r, downed); return nil, nil })
	if !errors.Is(err, ErrPanicked) {
		t.Error("Watch of the Ref of a Kind:", err)
	}
	if data, err := json.Marshal(r); err == nil {
		t.Errorf("a Ref is encoded: %s", data)
	}
	for _, err := range []error{do.Tell(bg, Ref[*box]{}, inc), do.Start(bg, Ref[*box]{}, inc).err} {
		if !errors.Is(err, ErrStopped) || !errors.Is(err, ErrNotSent) {
			t.Error("the zero Ref:", err)
		}
	}
	for _, f := range []func() error{
		func() error { _, err := NewKind(s, "", k.start); return err },
		func() error { _, err := NewKind[*box](s, "x", nil); return err },
		func() error { _, err := NewKind(nil, "x", k.start); return err },
		func() error { _, err := NewKind(s, "x", k.start, WithIdle(-1)); return err },
	} {
		if err := f(); err == nil {
			t.Error("NewKind accepts it")
		}
	}
}

// An error of start goes to all callers that wait, with ErrNotSent, and is not kept.
func TestKindStartFails(t *testing.T) {
	limit(t, 20*time.Second)
	bad := errors.New("bad")
	for name, fail := range map[string]func() error{
		"error":  func() error { return bad },
		"panic":  func() error { panic(bad) },
		"Goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSys(t, Config{})
			var starts atomic.Int64
			begun, gate := make(chan bool), make(chan bool)
			k, err := NewKind(s, "k", func(*Ctx, string) (*box, error) {
				if starts.Add(1) == 1 {
					close(begun)
					<-gate
					if err := fail(); err != nil {
						return nil, err
					}
				}
				return &box{}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			ask := func(goexit bool) {
				if _, err := do.Call(within(t), k.Ref("x"), inc); !errors.Is(err, ErrNotSent) || name == "error" && !errors.Is(err, bad) || name != "error" && !errors.Is(err, ErrPanicked) {
					t.Error(err)
				} else if goexit {
					t.Error("the first sender goes on")
				}
			}
			wg.Go(func() { ask(name == "Goexit") })
			<-begun
			for range 5 {
				wg.Go(func() { ask(false) })
			}
			short, cancel := context.WithCancel(bg)
			wg.Go(func() {
				if err := do.Tell(short, k.Ref("x"), inc); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			waiting := func() int {
				k.mu.Lock()
				defer k.mu.Unlock()
				return len(k.starts["x"].waiting)
			}
			for waiting() < 6 {
				time.Sleep(time.Millisecond)
			}
			cancel()
			time.Sleep(time.Millisecond)
			close(gate)
			wg.Wait()
			if n, err := do.Call(within(t), k.Ref("x"), inc); n != 1 || err != nil || starts.Load() != 2 {
				t.Error(n, err, starts.Load())
			}
			books(t, s)
		})
	}
}

// An actor that has ended by itself is started again; what it had accepted fails as usual.
func TestKindStartsAgain(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		for name, end := range map[string]job{
			"Stop":  func(_ *box, c *Ctx) (any, error) { c.Stop(nil); return nil, nil },
			"panic": boom,
			"Kill":  func(_ *box, c *Ctx) (any, error) { r, _ := Self[*box](c); r.Kill(); return nil, nil },
		} {
			s := newSys(t, c)
			var starts atomic.Int64
			k := keyed(t, s, &starts)
			for i := range int64(20) {
				if _, err := do.Call(ctx, k.Ref("x"), end); (err != nil) != (name == "panic") {
					t.Error(name, err)
				}
				if _, err := do.Call(ctx, k.Ref("x"), inc); err != nil || starts.Load() != i+2 {
					t.Fatal(name, err, starts.Load(), i)
				}
				_ = do.Tell(ctx, k.Ref("x"), end)
				if _, err := do.Call(ctx, k.Ref("x"), inc); err != nil && errors.Is(err, ErrNotSent) {
					t.Fatal(name, err)
				}
				_, _ = do.Call(ctx, k.Ref("x"), end)
				starts.Store(i + 1)
			}
			books(t, s)
		}
	})
}

// Senders keep a message coming while its actor ends from idleness again and again: each is handled
// exactly once.
func TestIdleLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 4})
		var starts, handled atomic.Int64
		k := keyed(t, s, &starts, WithIdle(4*time.Millisecond))
		one := func(*box, *Ctx) (any, error) { handled.Add(1); return nil, nil }
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 200 {
					time.Sleep(time.Duration((g+i)%9) * time.Millisecond)
					if err := do.Tell(bg, k.Ref("x"), one); err != nil {
						t.Error(err)
					}
					if i%50 == 49 {
						time.Sleep(time.Duration(7+g%2) * time.Millisecond)
					}
				}
				time.Sleep(time.Duration(10*g) * time.Millisecond)
				if _, err := do.Call(within(t), k.Ref("x"), one); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := handled.Load(); n != 8*201 {
			t.Errorf("%d of %d messages handled", n, 8*201)
		}
		if starts.Load() < 2 {
			t.Error("it has never ended")
		}
		books(t, s)
		s.Close()
	})
}

// An actor ends when it was idle for d to 1.5 d, with Err nil; messages, stashed ones and handlers keep it.
func TestIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		const d = time.Second
		for after := range 12 {
			time.Sleep(70 * time.Millisecond)
			r := box0(t, s, "", WithIdle(d))
			time.Sleep(time.Duration(after) * 100 * time.Millisecond)
			if _, err := do.Call(bg, r, inc); err != nil {
				t.Fatal(after, err)
			}
			began := time.Now()
			<-r.Done()
			if took := time.Since(began); took < d || took > 3*d/2 || r.Err() != nil {
				t.Error(after, took, r.Err())
			}
		}
		p := sup(t, s, "", Supervision{}, WithIdle(d))
		busy, stashed := box0(t, p, ""), box0(t, p, "")
		_ = do.Tell(bg, busy, func(*box, *Ctx) (any, error) { time.Sleep(10 * d); return nil, nil })
		_ = do.Tell(bg, stashed, func(_ *box, c *Ctx) (any, error) { c.Stash(); return nil, nil })
		stays, ends := box0(t, p, "", WithIdle(0)), box0(t, p, "")
		time.Sleep(9 * d)
		for i, r := range []Ref[*box]{busy, stashed, stays} {
			select {
			case <-r.Done():
				t.Error(i, "has ended")
			default:
			}
		}
		<-ends.Done()
		began := time.Now()
		<-busy.Done()
		if took := time.Since(began); took < 2*d || took > 5*d/2 {
			t.Error("after its handler:", took)
		}
		s.Close()
	})
}

// A handler that sends to a Kind waits for start by the rule of deadlocks, and start for what it calls.
func TestKindDeadlocks(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		s := newSys(t, c)
		var k *Kind[*box]
		var err error
		k, err = NewKind(s, "k", func(c *Ctx, key string) (*box, error) {
			if key == "a" || key == "b" {
				_, err := do.Call(c, k.Ref(map[string]string{"a": "b", "b": "a"}[key]), inc)
				return &box{}, err
			}
			return &box{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = do.Call(ctx, k.Ref("a"), inc) // its start needs b, whose start needs a
		var dead *DeadlockError
		if !errors.As(err, &dead) || len(dead.Cycle) != 2 || !errors.Is(err, ErrNotSent) {
			t.Error(err)
		}
		_, err = do.Call(ctx, k.Ref("x"), func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, k.Ref("y"), func(_ *box, c *Ctx) (any, error) { return do.Call(c, k.Ref("x"), inc) })
		})
		if !errors.As(err, &dead) || !slices.Equal(dead.Cycle, []string{"k/y", "k/x"}) && !slices.Equal(dead.Cycle, []string{"k/x", "k/y"}) {
			t.Error(err)
		}
		// A handler of an actor that is stopping waits for the next activation, which comes after itself.
		_, err = do.Call(ctx, k.Ref("z"), func(_ *box, c *Ctx) (any, error) {
			self, _ := Self[*box](c)
			go func() { _ = self.Stop(bg) }()
			for !self.a.is((*actor).refuses) {
				time.Sleep(time.Millisecond)
			}
			return do.Call(c, k.Ref("z"), inc)
		})
		if !errors.As(err, &dead) {
			t.Error("a call to the activation after one's own:", err)
		}
		books(t, s)
	})
}

// The children of a handler's Kind end with its incarnation, and so does the Kind.
func TestKindOfAnActor(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		s := newSys(t, c)
		p := sup(t, s, "", Supervision{MaxRestarts: Unlimited})
		var k *Kind[*box]
		var starts atomic.Int64
		r := must(t, p, "", func(c *Ctx) (*box, error) { k = keyed(t, c, &starts); return &box{}, nil })
		old := k
		v, err := do.Call(ctx, old.Ref("x"), func(_ *box, c *Ctx) (any, error) { self, _ := Self[*box](c); return self, nil })
		if err != nil {
			t.Fatal(err)
		}
		_, _ = do.Call(ctx, r, boom)
		if _, err := do.Call(ctx, r, inc); err != nil {
			t.Error(err)
		}
		<-v.(Ref[*box]).Done()
		if _, err := do.Call(ctx, old.Ref("x"), inc); !errors.Is(err, ErrStopped) || !errors.Is(err, ErrNotSent) {
			t.Error("the Kind of an incarnation that has ended:", err)
		}
		if _, err := do.Call(ctx, k.Ref("x"), inc); err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(within(t)); err != nil {
			t.Error(err)
		}
		if err := do.Tell(ctx, k.Ref("y"), inc); !errors.Is(err, ErrStopped) || !errors.Is(err, ErrNotSent) {
			t.Error("after Shutdown:", err)
		}
		if err := do.Tell(ctx, k.Ref("x"), inc); !errors.Is(err, ErrStopped) || !errors.Is(err, ErrNotSent) {
			t.Error("after Shutdown:", err)
		}
		books(t, s)
	})
}

// Under a supervisor a failure is a restart, as with Spawn.
func TestKindSupervised(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		var starts atomic.Int64
		k := keyed(t, sup(t, s, "", Supervision{}), &starts, WithIdle(time.Second))
		_, _ = do.Call(bg, k.Ref("x"), boom)
		if n, err := do.Call(bg, k.Ref("x"), inc); n != 1 || err != nil || starts.Load() != 2 || s.Stats().Restarts != 1 {
			t.Error(n, err, starts.Load(), s.Stats())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if st := s.Stats(); st.Actors != 0 {
			t.Error(st)
		}
		if n, err := do.Call(bg, k.Ref("x"), inc); n != 1 || err != nil || starts.Load() != 3 {
			t.Error(n, err, starts.Load())
		}
		s.Close()
	})
}

// ErrNotSent comes with each refusal, and with no message that was accepted.
func TestNotSent(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		s := newSys(t, c)
		gone := box0(t, s, "")
		gone.Kill()
		<-gone.Done()
		for _, err := range []error{do.Tell(ctx, gone, inc), do.Start(ctx, gone, inc).err} {
			if !errors.Is(err, ErrStopped) || !errors.Is(err, ErrNotSent) {
				t.Error(err)
			}
		}
		r := box0(t, s, "")
		own := errors.New("own")
		for _, m := range []*Method[*box, job, any]{do, quick, look} {
			_, err := m.Call(ctx, r, func(_ *box, c *Ctx) (any, error) { // the reply is such an error, but it is a reply
				_, err := do.Call(c, gone, inc)
				if !errors.Is(err, ErrNotSent) {
					t.Error(err)
				}
				return nil, fmt.Errorf("%w: %w", own, err)
			})
			if errors.Is(err, ErrNotSent) || !errors.Is(err, own) || !errors.Is(err, ErrStopped) {
				t.Errorf("%s: %v", m.name, err)
			}
		}
		begun, gate := make(chan bool), make(chan bool)
		_ = do.Tell(ctx, r, func(*box, *Ctx) (any, error) { close(begun); <-gate; return nil, nil })
		<-begun
		f := do.Start(ctx, r, inc)
		r.Kill()
		close(gate)
		if _, err := f.Wait(ctx); !errors.Is(err, ErrStopped) || errors.Is(err, ErrNotSent) {
			t.Error("a dead letter:", err)
		}
	})
}
