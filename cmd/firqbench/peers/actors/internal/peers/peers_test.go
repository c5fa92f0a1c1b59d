package peers

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// each runs f with a new system of each contestant.
func each(t *testing.T, f func(t *testing.T, s System)) {
	t.Helper()
	for _, p := range All() {
		t.Run(p.Name, func(t *testing.T) {
			s, err := p.New()
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				f(t, s)
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("hangs")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// spawn starts an actor; the test fails if it cannot.
func spawn(t *testing.T, s System, name string, room int, h Handler) Ref {
	t.Helper()
	r, err := s.Kind(h).Spawn(name, room)
	if err != nil {
		t.Error(err)
	}
	return r
}

// Tells are handled, in order, and before a call that comes later; both kinds of calls get their replies.
func TestTellAndCall(t *testing.T) {
	each(t, func(t *testing.T, s System) {
		const n = 1000
		next := int64(0)
		r := spawn(t, s, "a", n, func(c Ctx, m *Msg) {
			if m.N < 0 {
				c.Reply(&Msg{N: next})
				return
			}
			if m.N != next {
				t.Errorf("%d comes when %d is next", m.N, next)
			}
			next++
		})
		for i := range int64(n) {
			if err := r.Tell(&Msg{N: i}); err != nil {
				t.Error(err)
			}
		}
		for _, call := range []func(*Msg) (*Msg, error){r.Call, r.CallQueued} {
			if res, err := call(&Msg{N: -1}); err != nil || res.N != n {
				t.Errorf("%+v, %v, want %d", res, err, n)
			}
		}
	})
}

// A handler tells another actor, and calls one: both are handled there.
func TestFromHandlers(t *testing.T) {
	each(t, func(t *testing.T, s System) {
		told := make(chan int64, 1)
		a := spawn(t, s, "a", 1, func(_ Ctx, m *Msg) { told <- m.N })
		b := spawn(t, s, "b", 1, func(c Ctx, m *Msg) { c.Reply(&Msg{N: m.N + 1}) })
		first := spawn(t, s, "first", 1, func(c Ctx, m *Msg) {
			if err := c.Tell(a, &Msg{N: 10 * m.N}); err != nil {
				t.Error(err)
			}
			res, err := c.Call(b, m, Patience)
			if err != nil {
				t.Error(err)
				res = &Msg{}
			}
			c.Reply(res)
		})
		if res, err := first.Call(&Msg{N: 7}); err != nil || res.N != 8 {
			t.Errorf("%+v, %v", res, err)
		}
		if n := <-told; n != 70 {
			t.Errorf("told %d", n)
		}
	})
}

// A call from a handler that is not answered ends in time, with ErrTimeout.
func TestTimeout(t *testing.T) {
	each(t, func(t *testing.T, s System) {
		blocked := make(chan struct{})
		slow := spawn(t, s, "slow", 1, func(c Ctx, m *Msg) { <-blocked; c.Reply(m) })
		caller := spawn(t, s, "caller", 1, func(c Ctx, m *Msg) {
			_, err := c.Call(slow, m, 20*time.Millisecond)
			c.Reply(&Msg{Err: err})
		})
		res, err := caller.Call(&Msg{})
		close(blocked)
		if err != nil || !errors.Is(res.Err, ErrTimeout) {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// When a stop was waited for the actor has handled what it was told, and its name is free.
func TestStop(t *testing.T) {
	each(t, func(t *testing.T, s System) {
		for round := range 100 {
			handled := 0
			r := spawn(t, s, "a", 10, func(Ctx, *Msg) { handled++ })
			for range 10 {
				if err := r.Tell(&Msg{}); err != nil {
					t.Error(err)
				}
			}
			if wait := r.Stop(); wait != nil {
				if err := wait(); err != nil {
					t.Error(err)
				}
			}
			if handled != 10 {
				t.Fatalf("round %d: %d of 10 handled", round, handled)
			}
		}
	})
}

// The adapters themselves allocate nothing for tells and their handling.
func TestAdaptersDoNotAllocate(t *testing.T) {
	for _, name := range []string{Own, Channel} {
		chosen, err := Select([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		s, err := chosen[0].New()
		if err != nil {
			t.Fatal(err)
		}
		handled := make(chan struct{}, 1)
		m := &Msg{}
		b := spawn(t, s, "b", 1, func(Ctx, *Msg) { handled <- struct{}{} })
		a := spawn(t, s, "a", 1, func(c Ctx, m *Msg) {
			if err := c.Tell(b, m); err != nil {
				t.Error(err)
			}
		})
		one := func() {
			if err := a.Tell(m); err != nil {
				t.Error(err)
			}
			<-handled
		}
		if n := testing.AllocsPerRun(2000, one); n > 0 {
			t.Errorf("%s: %v allocations for two messages", name, n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSelect(t *testing.T) {
	all, err := Select(nil)
	if err != nil || len(all) != len(All()) {
		t.Errorf("%v, %v", all, err)
	}
	some, err := Select([]string{Channel, Own})
	if err != nil || len(some) != 2 || some[0].Name != Own || some[1].Name != Channel {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := Select([]string{Own, "akka"}); err == nil || !strings.HasPrefix(err.Error(), `unknown contestant "akka"; there are firq`) {
		t.Error(err)
	}
}
