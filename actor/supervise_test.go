package actor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
			if g := strings.Fields(d.peek()); st == OneForAll && slices.Index(g, "-c1:boom") > slices.Index(g, "-a1:boom") {
				t.Errorf("the oldest went down first: %v", g)
			}
			// A child that is not named first fails immediately; its last words come before its siblings'.
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
		for range 2 { // as if it had just been made
			_, _ = do.Call(bg, a, boom)
		}
		synctest.Wait()
		if got := d.take(); got != "-a4:boom +a5 -a5:boom +a6" {
			t.Error(got)
		}
		s.Close()
	})
}

// A supervisor that has no supervisor itself and gives up ends, children first, with the last
// failure. MaxRestarts below 0: it gives up at the first failure.
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

// Messages wait while the backoff lasts. It doubles up to MaxBackoff, and jitter shortens it by
// at most half.
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

// Value cannot make a second state.
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

// RestForOne restarts those that were started after a child whose state cannot be made again.
func TestRestForOneAfterValue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		defer s.Close()
		p := sup(t, s, "sup", Supervision{Strategy: RestForOne})
		starts := map[string]int{}
		child := func(name string) {
			must(t, p, name, func(*Ctx) (*box, error) { starts[name]++; return &box{}, nil })
		}
		child("older")
		r := must(t, p, "once", Value(&box{}))
		child("b")
		child("c")
		_, _ = do.Call(bg, r, boom)
		synctest.Wait()
		if starts["older"] != 1 || starts["b"] != 2 || starts["c"] != 2 || r.Err() == nil {
			t.Error(starts, r.Err())
		}
	})
}

// A restart takes back the stashed messages, before those that wait.
func TestRestartUnstashes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		r := box0(t, sup(t, s, "sup", Supervision{}), "a")
		again := false
		f := do.Start(bg, r, func(b *box, c *Ctx) (any, error) {
			if !again {
				c.Stash()
			}
			b.log = append(b.log, "stashed")
			return 1, nil
		})
		synctest.Wait()
		again = true
		free := block(t, r)
		_ = do.Tell(bg, r, boom)
		_ = do.Tell(bg, r, note("waited"))
		free()
		if n, err := f.Wait(bg); n != 1 || err != nil {
			t.Error(n, err)
		}
		if got := strings.Join(logOf(t, r), " "); got != "stashed waited" {
			t.Error(got)
		}
		books(t, s)
		s.Close()
	})
}

// A supervisor that looks at its children while one of them is being started does not give that
// child another start in advance, which no limit would count.
func TestStartIsWantedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 2})
		p := sup(t, s, "sup", Supervision{Strategy: OneForAll, MaxRestarts: 1})
		starts, begun, goOn := 0, make(chan bool, 1), make(chan bool)
		r := must(t, p, "a", func(*Ctx) (*box, error) {
			if starts++; starts == 2 {
				begun <- true
				<-goOn
			}
			return &box{}, nil
		})
		_ = do.Tell(bg, r, boom)
		<-begun
		p.a.nudge()
		synctest.Wait()
		close(goOn)
		synctest.Wait()
		_ = do.Tell(bg, r, boom)
		<-p.Done()
		if starts != 2 {
			t.Errorf("%d starts", starts)
		}
		s.Close()
	})
}

// A supervisor that ends starts no child any more. So no caller waits for a child that is down,
// least of all a handler of a sibling that has to end before it.
func TestSupervisorEndsWhileAChildIsDown(t *testing.T) {
	for _, before := range []bool{true, false} { // it is down before the supervisor ends
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			limit(t, 20*time.Second)
			s := newSys(t, Config{})
			p := sup(t, s, "sup", Supervision{Backoff: time.Hour})
			x, y := box0(t, p, "x"), box0(t, p, "y")
			free, told := block(t, x), make(chan error, 1)
			_ = do.Tell(bg, x, boom)
			fails := func() {
				free()
				eventually(t, func() bool { return x.a.is((*actor).isDown) || x.a.is((*actor).over) })
			}
			stops := func() {
				go func() { _ = p.Stop(bg) }()
				eventually(t, func() bool { y.a.mu.Lock(); defer y.a.mu.Unlock(); return y.a.life >= stopping })
			}
			_ = do.Tell(bg, y, func(_ *box, c *Ctx) (any, error) { _, err := do.Call(c, x, get); told <- err; return nil, nil })
			eventually(t, func() bool { return x.Len() == 2 })
			if before {
				fails()
				stops()
			} else {
				stops()
				fails()
			}
			if err := <-told; !errors.Is(err, ErrStopped) {
				t.Errorf("%v", err)
			}
			<-p.Done()
		})
	}
}
