package actor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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

// The three strategies; last words and starts in order; the caller gets the panic.
func TestStrategies(t *testing.T) {
	for st, want := range map[Strategy]string{
		OneForOne:  "-b1:boom +b2",
		OneForAll:  "-c1:boom -b1:boom -a1:boom +a2 +b2 +c2",
		RestForOne: "-c1:boom -b1:boom +b2 +c2",
	} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{})
			p := sup(t, s, "sup", Supervision{Strategy: st})
			var d diary
			var refs []Ref[*box]
			for _, n := range []string{"a", "b", "c"} {
				refs = append(refs, must(t, p, n, d.writes(n)))
			}
			d.take()
			_, err := do.Call(bg, refs[1], boom)
			var pe *PanicError
			if !errors.As(err, &pe) || pe.Value != "boom" || len(pe.Stack) == 0 || !errors.Is(err, ErrPanicked) {
				t.Error(err)
			}
			for _, r := range refs {
				if _, err := do.Call(bg, r, get); err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
			// Who is not named first fails at once, last words come before siblings'.
			got := strings.Fields(d.take())
			wanted := strings.Fields(want)
			slices.Sort(got[:len(got)-strings.Count(want, "+")])
			slices.Sort(wanted[:len(wanted)-strings.Count(want, "+")])
			if !slices.Equal(got, wanted) {
				t.Errorf("%v: %v, want %v", st, got, wanted)
			}
			s.Close()
		})
	}
}

// More than MaxRestarts within Within escalate; the supervisor's supervisor restarts it
// with all its children.
func TestEscalation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		top := sup(t, s, "top", Supervision{})
		mid := sup(t, top, "mid", Supervision{MaxRestarts: 2, Within: time.Second})
		var d diary
		a := must(t, mid, "a", d.writes("a"))
		must(t, mid, "b", d.writes("b"))
		d.take()
		for range 3 {
			_, _ = do.Call(bg, a, boom)
			if n, err := do.Call(bg, a, inc); n != 1 || err != nil {
				t.Error(n, err)
			}
		}
		synctest.Wait()
		if got := d.take(); got != "-a1:boom +a2 -a2:boom +a3 -a3:boom -b1:boom +a4 +b2" {
			t.Error(got)
		}
		if mid.Err() != nil {
			t.Error(mid.Err())
		}
		sleep(2000)
		for range 2 { // as if just made
			_, _ = do.Call(bg, a, boom)
		}
		synctest.Wait()
		if got := d.take(); got != "-a4:boom +a5 -a5:boom +a6" {
			t.Error(got)
		}
		s.Close()
	})
}

// Without a supervisor of its own one that gives up ends, children first, with the last
// failure. MaxRestarts below 0: at the first.
func TestGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		p := sup(t, s, "sup", Supervision{MaxRestarts: -1})
		var d diary
		a, b := must(t, p, "a", d.writes("a")), must(t, p, "b", d.writes("b"))
		d.take()
		_, _ = do.Call(bg, a, boom)
		<-p.Done()
		if !errors.Is(p.Err(), ErrPanicked) || a.Err() == nil || !errors.Is(b.Err(), ErrStopped) {
			t.Error(p.Err(), a.Err(), b.Err())
		}
		if got := d.take(); got != "-a1:boom -b1:stopped" {
			t.Error(got)
		}
		if _, err := Spawn(p, "", fresh); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		if _, err := Spawn(s, "a", fresh); err != nil { // the names are free
			t.Error(err)
		}
		s.Close()
	})
}

// Messages wait while the backoff lasts, which doubles up to MaxBackoff, and of which
// jitter takes at most half away.
func TestBackoff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		p := sup(t, s, "sup", Supervision{MaxRestarts: 10, Within: time.Hour, Backoff: 100 * time.Millisecond, MaxBackoff: 400 * time.Millisecond})
		r := box0(t, p, "a")
		for i, most := range []time.Duration{100, 200, 400, 400} {
			most *= time.Millisecond
			_, _ = do.Call(bg, r, boom)
			start := time.Now()
			_ = do.Tell(bg, r, inc)
			if n, err := do.Call(bg, r, get); n != 1 || err != nil {
				t.Error(n, err)
			}
			if got := time.Since(start); got < most/2 || got > most {
				t.Errorf("%d: %v, want %v to %v", i, got, most/2, most)
			}
		}
		books(t, s)
		s.Close()
	})
}

// A later start that fails is one more failure.
func TestLaterStartFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		p := sup(t, s, "sup", Supervision{MaxRestarts: 3})
		n := 0
		r := must(t, p, "a", func(*Ctx) (*box, error) {
			if n++; n == 2 {
				return nil, errors.New("not yet")
			} else if n == 3 {
				panic("not yet")
			}
			return &box{n: n}, nil
		})
		_, _ = do.Call(bg, r, boom)
		if got, err := do.Call(bg, r, get); got != 4 || err != nil {
			t.Error(got, err)
		}
		if st := s.Stats(); st.Restarts != 3 {
			t.Error(st)
		}
		s.Close()
	})
}

// The first start's error or panic is Spawn's, there is no actor, and the name is free.
func TestFirstStartFails(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{})
	for _, p := range []Parent{s, sup(t, s, "sup", Supervision{})} {
		for _, f := range []func(*Ctx) (*box, error){
			func(*Ctx) (*box, error) { return nil, errors.New("no") },
			func(c *Ctx) (*box, error) { _, _ = Spawn(c, "kid", fresh); panic("no") },
		} {
			if _, err := Spawn(p, "a", f); err == nil || !strings.Contains(err.Error(), "no") {
				t.Fatal(err)
			}
			if _, ok := Lookup[*box](s, "a"); ok {
				t.Fatal("it is there")
			}
			if _, ok := Lookup[*box](s, "kid"); ok {
				t.Fatal("its child is there")
			}
		}
		r := box0(t, p, "a")
		if _, err := Spawn(s, "a", fresh); !errors.Is(err, ErrNameTaken) {
			t.Fatal(err)
		}
		if err := r.Stop(within(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// Value has no second state.
func TestValueEnds(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{})
	for _, p := range []Parent{s, sup(t, s, "sup", Supervision{})} {
		r := must(t, p, "", Value(&box{}))
		_, err := do.Call(within(t), r, boom)
		<-r.Done()
		if !errors.Is(err, ErrPanicked) || !errors.Is(r.Err(), ErrPanicked) {
			t.Fatal(err, r.Err())
		}
	}
}

// Children end with the incarnation, before it, last first; with ErrStopped.
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

// How an actor ends, and what its Err is.
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
			_, _ = do.Call(bg, w, func(_ *box, c *Ctx) (any, error) { Watch(c, r, downed); return nil, nil })
			synctest.Wait()
			if got := logOf(t, w); len(got) != 2 || got[0] != "a:"+fmt.Sprint(why) || got[1] != got[0] {
				t.Error(got)
			}
			s.Close()
		}
	})
}

// Goexit in a handler is a failure: nobody hangs, and the slot is not lost.
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
