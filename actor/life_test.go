package actor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

var bg = context.Background()

// diary is a list of what happened, in order.
type diary struct {
	mu sync.Mutex
	l  []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	d.l = append(d.l, fmt.Sprintf(format, args...))
	d.mu.Unlock()
}

func (d *diary) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := strings.Join(d.l, " ")
	d.l = nil
	return s
}

func (d *diary) peek() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.l, " ")
}

// writes is a start that writes its incarnations' starts and ends into d.
func (d *diary) writes(name string) func(*Ctx) (*box, error) {
	var n atomic.Int32
	return func(*Ctx) (*box, error) {
		i := n.Add(1)
		d.add("+%s%d", name, i)
		return &box{end: func(_ *Ctx, why error) {
			switch {
			case why == nil:
				d.add("-%s%d:nil", name, i)
			case errors.Is(why, ErrStopped):
				d.add("-%s%d:stopped", name, i)
			default:
				d.add("-%s%d:%s", name, i, strings.TrimPrefix(why.Error(), "actor: panicked: "))
			}
		}}, nil
	}
}

func sup(t testing.TB, p Parent, name string, v Supervision, opts ...Option) *Supervisor {
	t.Helper()
	x, err := Supervise(p, name, v, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Children end with the incarnation: before it, last first, and with ErrStopped.
func TestChildren(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		p := sup(t, s, "sup", Supervision{})
		var d diary
		var kids []Ref[*box]
		own := d.writes("p")
		r := must(t, p, "p", func(c *Ctx) (*box, error) {
			b, err := own(c)
			for _, n := range []string{"a", "b"} {
				kids = append(kids, must(t, c, n, d.writes(n)))
			}
			return b, err
		})
		d.take()
		_, _ = do.Call(bg, r, boom)
		_, _ = do.Call(bg, r, get)
		if got := d.take(); got != "-b1:stopped -a1:stopped -p1:boom +p2 +a1 +b1" {
			t.Error(got)
		}
		if !errors.Is(kids[0].Err(), ErrStopped) {
			t.Error(kids[0].Err())
		}
		if err := r.Stop(bg); err != nil || r.Err() != nil {
			t.Error(err, r.Err())
		}
		if got := d.take(); got != "-b1:stopped -a1:stopped -p2:nil" {
			t.Error(got)
		}
		s.Close()
	})
}

// The ways in which an actor ends, and its Err after each.
func TestEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		own := errors.New("own")
		for name, c := range map[string]struct {
			end  func(s *System, r Ref[*box])
			want error
			sum  uint64 // of the three messages, handled
		}{
			"Stop":  {func(_ *System, r Ref[*box]) { _ = r.Stop(bg) }, nil, 3},
			"Kill":  {func(_ *System, r Ref[*box]) { r.Kill() }, ErrStopped, 0},
			"Close": {func(s *System, _ Ref[*box]) { _ = s.Close() }, ErrStopped, 0},
			"Shutdown": {func(s *System, _ Ref[*box]) {
				if err := s.Shutdown(bg); err != nil {
					t.Error(err)
				}
			}, nil, 3},
		} {
			var dead atomic.Int32
			s := newSys(t, Config{OnDeadLetter: func(d DeadLetter) {
				if d.Err == ErrStopped && d.Method == "Do" {
					dead.Add(1)
				}
			}})
			r := box0(t, s, "a")
			free := block(t, r)
			for range 3 {
				_ = do.Tell(bg, r, inc)
			}
			go func() { sleep(1); free() }()
			c.end(s, r)
			synctest.Wait()
			sleep(2)
			<-r.Done()
			if st := s.Stats(); r.Err() != c.want || st.Handled != c.sum+1 || uint64(dead.Load()) != 3-c.sum || st.Actors != 0 {
				t.Errorf("%s: %v %+v %d", name, r.Err(), st, dead.Load())
			}
			books(t, s)
			s.Close()
		}
		for _, why := range []error{nil, own} {
			s := newSys(t, Config{})
			p := sup(t, s, "sup", Supervision{})
			r := box0(t, p, "a")
			w := box0(t, s, "w")
			_, _ = do.Call(bg, w, func(_ *box, c *Ctx) (any, error) { Watch(c, r, downed); return nil, nil })
			n, err := do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
				_ = do.Tell(c, r, inc) // a dead letter
				c.Stop(why)
				return 7, nil
			})
			<-r.Done()
			if n != 7 || err != nil || r.Err() != why || s.Stats().DeadLetters != 1 || s.Stats().Restarts != 0 {
				t.Error(n, err, r.Err(), s.Stats())
			}
			if _, err := do.Call(bg, r, get); !errors.Is(err, ErrStopped) {
				t.Error(err)
			}
			synctest.Wait() // the first watch has told
			_, _ = do.Call(bg, w, func(_ *box, c *Ctx) (any, error) { Watch(c, r, downed); return nil, nil })
			synctest.Wait()
			if got := logOf(t, w); len(got) != 2 || got[0] != "a:"+fmt.Sprint(why) || got[1] != got[0] {
				t.Error(got)
			}
			s.Close()
		}
	})
}

// Goexit in a handler is a failure: no caller hangs, and the slot is not lost.
func TestGoexit(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{Slots: 1})
	p := sup(t, s, "sup", Supervision{MaxRestarts: 100})
	r := box0(t, p, "a")
	for range 20 {
		for _, m := range []*Method[*box, job, any]{do, look} {
			_, err := m.Call(within(t), r, func(*box, *Ctx) (any, error) { runtime.Goexit(); return nil, nil })
			if !errors.Is(err, ErrPanicked) || !errors.Is(err, ErrGoexit) {
				t.Fatal(err)
			}
		}
	}
	if _, err := do.Call(within(t), r, get); err != nil {
		t.Fatal(err)
	}
	books(t, s)
}

// An actor that is killed ends after all handlers in progress, readers too.
func TestKillWaitsForReaders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 4})
		var d diary
		r := must(t, s, "a", d.writes("a"))
		for i := range 3 {
			_ = look.Tell(bg, r, func(*box, *Ctx) (any, error) { sleep(10 * (i + 1)); d.add("read"); return nil, nil })
		}
		synctest.Wait()
		r.Kill()
		<-r.Done()
		if got := d.take(); got != "+a1 read read read -a1:stopped" {
			t.Error(got)
		}
		s.Close()
	})
}

// Down comes although the mailbox is full.
func TestDownBeyondTheLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Mailbox: Mailbox{Limit: 1}})
		w, r := box0(t, s, "w"), box0(t, s, "r")
		_, _ = do.Call(bg, w, func(_ *box, c *Ctx) (any, error) { Watch(c, r, downed); return nil, nil })
		free := block(t, w)
		_ = do.Tell(bg, w, note("x"))
		r.Kill()
		<-r.Done()
		synctest.Wait()
		if w.Len() != 2 {
			t.Error(w.Len())
		}
		free()
		if got := fmt.Sprint(logOf(t, w)); got != "[x r:actor: stopped]" {
			t.Error(got)
		}
		s.Close()
	})
}

// AfterFunc calls each function once, when the actor has ended for good and its name is free; not at the end of an
// incarnation, and not for the Ref of a Kind, whichever actor of it ends.
func TestAfterFunc(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{OnFailure: func(Failure) {}})
		var told []string // one function at a time: the test waits for each
		tells := func(text string) func() { return func() { told = append(told, text) } }
		want := func(what, list string) {
			t.Helper()
			synctest.Wait()
			if got := fmt.Sprint(told); got != list {
				t.Errorf("%s: %s, want %s", what, got, list)
			}
		}
		r := must(t, sup(t, s, "", Supervision{MaxRestarts: 3}), "a", fresh)
		r.AfterFunc(func() {
			_, err := Spawn(s, "a", fresh)
			told = append(told, fmt.Sprint("a ", r.Err(), " ", err))
		})
		_, _ = do.Call(bg, r, boom)
		want("a restart", "[]")
		free := block(t, r)
		r.Kill()
		want("a handler in progress", "[]")
		free()
		want("Kill", "[a actor: stopped <nil>]")
		r.AfterFunc(tells("late"))
		want("after the end", "[a actor: stopped <nil> late]")
		Ref[*box]{}.AfterFunc(tells("zero"))
		want("the zero Ref", "[a actor: stopped <nil> late zero]")

		told = nil
		k, err := NewKind(s, "kind", func(*Ctx, string) (*box, error) { return &box{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		k.Ref("1").AfterFunc(tells("kind"))
		_, _ = do.Call(bg, k.Ref("1"), func(_ *box, c *Ctx) (any, error) {
			self, _ := Self[*box](c)
			self.AfterFunc(tells("self"))
			c.Stop(nil)
			return nil, nil
		})
		want("an actor of a Kind", "[self]")
		last := box0(t, s, "last")
		last.AfterFunc(tells("last"))
		s.Close()
		want("Close", "[self last]")
		if len(s.after) > 0 {
			t.Errorf("%d stay", len(s.after))
		}
	})
}

// The zero Ref is an actor that has ended.
func TestZeroRef(t *testing.T) {
	var r Ref[*box]
	<-r.Done()
	_, err := do.Call(bg, r, get)
	_, err2 := do.Start(bg, r, get).Wait(bg)
	if !errors.Is(err, ErrStopped) || !errors.Is(err2, ErrStopped) || !errors.Is(do.Tell(bg, r, get), ErrStopped) ||
		r.Len() != 0 || r.Name() != "" || !errors.Is(r.Err(), ErrStopped) || r.Stop(bg) != nil {
		t.Fatal(err, err2, r.Err())
	}
	r.Kill()
}

// Lookup and Self want exactly the type.
func TestLookupAndSelf(t *testing.T) {
	s := newSys(t, Config{})
	r := box0(t, s, "a")
	if got, ok := Lookup[*box](s, "a"); !ok || got != r {
		t.Fatal(got, ok)
	}
	if _, ok := Lookup[*counter](s, "a"); ok {
		t.Fatal("another type")
	}
	if _, ok := Lookup[any](s, "a"); ok {
		t.Fatal("an interface that it implements")
	}
	_, err := do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
		if got, ok := Self[*box](c); !ok || got != r {
			t.Error(got, ok)
		}
		if _, ok := Self[*counter](c); ok {
			t.Error("another type")
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
