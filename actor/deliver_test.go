package actor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// elsewhere is a Carrier whose actors are in another System, which stands for another process, unless
// here knows them.
type elsewhere struct {
	here func(id Identity) (any, error)
	to   Ref[*box]

	mu   sync.Mutex
	sent []string
}

func (w *elsewhere) Here(_ context.Context, id Identity) (any, error) {
	if w.here == nil {
		return nil, nil
	}
	return w.here(id)
}

func (w *elsewhere) Send(ctx context.Context, id Identity, method string, req, reply any) (func() error, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, fmt.Sprint(id, " ", method, " ", reply == nil))
	if id.Key == "refused" {
		return nil, errClosed
	}
	answer := make(chan error, 1)
	do.Deliver(ctx, w.to, reply == nil, func(to any) error { *to.(*job) = req.(job); return nil }, func(res any, err error) {
		if reply != nil && err == nil && res != nil {
			reflect.ValueOf(reply).Elem().Set(reflect.ValueOf(res))
		}
		answer <- err
	})
	if reply == nil {
		return nil, <-answer
	}
	return func() error {
		select {
		case err := <-answer:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil
}

func TestCarrier(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		s, there := newSys(t, c), newSys(t, c)
		w := &elsewhere{to: box0(t, there, "there")}
		r := Virtual[*box](w, Identity{"far", "x"})
		use := func(ctx context.Context) {
			t.Helper()
			if n, err := do.Call(ctx, r, inc); n == 0 || err != nil {
				t.Error(n, err)
			}
			if err := do.Tell(ctx, r, inc); err != nil {
				t.Error(err)
			}
			f := do.Start(ctx, r, inc)
			for range 2 {
				if n, err := f.Wait(ctx); n == 0 || err != nil {
					t.Error(n, err)
				}
			}
			refused := Virtual[*box](w, Identity{"far", "refused"})
			_, err := do.Call(ctx, refused, inc)
			for _, err := range []error{err, do.Tell(ctx, refused, inc), do.Start(ctx, refused, inc).err} {
				if !errors.Is(err, ErrNotSent) {
					t.Error(err)
				}
			}
		}
		use(ctx)
		for _, re := range []Reentrancy{None, CallChain, Full} {
			_, err := do.Call(ctx, box0(t, s, "", WithReentrancy(re)), func(_ *box, c *Ctx) (any, error) { use(c); return nil, nil })
			if err != nil {
				t.Error(err)
			}
		}
		if n, err := do.Call(ctx, w.to, get); n != 12 || err != nil {
			t.Error(n, err)
		}
		if len(w.sent) != 4*6 || w.sent[0] != "far/x Do false" || w.sent[1] != "far/x Do true" {
			t.Error(w.sent)
		}
		// An actor that is here, and ends: Here is asked again until it knows.
		first, second := box0(t, s, ""), box0(t, s, "")
		first.Kill()
		<-first.Done()
		asked := 0
		w.here = func(Identity) (any, error) {
			if asked++; asked < 3 {
				return first, nil
			}
			return second, nil
		}
		if n, err := do.Call(ctx, r, inc); n != 1 || err != nil || asked != 3 {
			t.Error(n, err, asked)
		}
		w.here = func(Identity) (any, error) { return must(t, s, "", Value(&counter{})), nil }
		if _, err := do.Call(ctx, r, inc); !errors.Is(err, ErrNotSent) {
			t.Error("an actor of another state:", err)
		}
	})
}

// Deliver keeps the order of its calls, where senders wait for room too, and tells the outcome once.
func TestDeliver(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		s := newSys(t, c)
		for _, limits := range []Mailbox{{}, {Limit: 2, Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Minute}}} {
			r := box0(t, s, "", WithMailbox(limits))
			begun, gate := make(chan bool), make(chan bool)
			_ = do.Tell(ctx, r, func(*box, *Ctx) (any, error) { close(begun); <-gate; return nil, nil })
			<-begun
			var order []int
			outcomes := make(chan any, 100)
			for i := range 30 {
				do.Deliver(ctx, r, i%2 == 0, func(req any) error {
					*req.(*job) = func(*box, *Ctx) (any, error) { order = append(order, i); return i, nil }
					return nil
				}, func(reply any, err error) {
					if err != nil {
						t.Error(err)
					}
					if _, err := do.Call(ctx, box0(t, s, ""), inc); err != nil { // under no lock
						t.Error(err)
					}
					outcomes <- reply
				})
			}
			close(gate)
			replies := 0
			for range 30 {
				if v := <-outcomes; v != nil {
					replies += v.(int)
				}
			}
			for r.Len() > 0 {
				time.Sleep(time.Millisecond)
			}
			_, _ = do.Call(ctx, r, get)
			if replies != 15*15 || !slices.IsSorted(order) || len(order) != 30 {
				t.Error(replies, order)
			}
		}
	})
}

func TestDeliverRefused(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		s := newSys(t, c)
		gone, r := box0(t, s, ""), box0(t, s, "r")
		gone.Kill()
		<-gone.Done()
		deliver := func(ctx context.Context, to Ref[*box], tell bool, f job) error {
			t.Helper()
			end := make(chan error, 2)
			do.Deliver(ctx, to, tell, func(req any) error { *req.(*job) = f; return nil }, func(_ any, err error) { end <- err })
			return <-end
		}
		bad := errors.New("bad")
		end := make(chan error, 2)
		do.Deliver(ctx, r, false, func(any) error { return bad }, func(_ any, err error) { end <- err })
		if err := <-end; !errors.Is(err, bad) || !errors.Is(err, ErrNotSent) {
			t.Error("decode:", err)
		}
		for _, tell := range []bool{false, true} {
			if err := deliver(ctx, gone, tell, inc); !errors.Is(err, ErrStopped) || !errors.Is(err, ErrNotSent) {
				t.Error(tell, err)
			}
			over, cancel := context.WithCancel(ctx)
			cancel()
			if err := deliver(over, r, false, inc); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if err := deliver(ctx, r, false, boom); !errors.Is(err, ErrPanicked) || errors.Is(err, ErrNotSent) {
			t.Error(err)
		}
		// By a handler that waits: a call that comes back is a deadlock, or comes in.
		for _, re := range []Reentrancy{None, CallChain, Full} {
			x := box0(t, s, "", WithReentrancy(re))
			v, err := do.Call(ctx, x, func(_ *box, c *Ctx) (any, error) {
				return nil, c.Await(func() error { return deliver(c, x, false, inc) })
			})
			if re == None && !errors.Is(err, ErrDeadlock) || re != None && err != nil {
				t.Error(re, v, err)
			}
			if n, err := do.Call(ctx, x, func(_ *box, c *Ctx) (any, error) { return do.Call(c, box0(t, s, ""), get) }); err != nil {
				t.Error("the handler still counts as one that waits:", n, err)
			}
		}
		books(t, s)
	})
}

func TestHandler(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, c Config) {
		s := newSys(t, c)
		a, b, e := box0(t, s, "a"), box0(t, s, "b", WithReentrancy(CallChain)), box0(t, s, "e")
		var got []string
		_, err := do.Call(ctx, a, func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, b, func(_ *box, c *Ctx) (any, error) {
				return do.Call(c, e, func(_ *box, c *Ctx) (any, error) {
					h, names := Handler(valued(c, "k", "v"))
					if got = names; h != c {
						t.Error("another handler")
					}
					return nil, nil
				})
			})
		})
		if err != nil || !slices.Equal(got, []string{"a", "b", "e"}) {
			t.Error(got, err)
		}
		if h, names := Handler(ctx); h != nil || names != nil {
			t.Error(h, names)
		}
	})
}

func TestAwaitValue(t *testing.T) {
	limit(t, 10*time.Second)
	s := newSys(t, Config{})
	bad := errors.New("bad")
	var kept *Ctx
	_, err := do.Call(bg, box0(t, s, ""), func(_ *box, c *Ctx) (any, error) {
		kept = c
		if v, err := Await(c, func() (string, error) { return "v", bad }); v != "v" || err != bad {
			t.Error(v, err)
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
	if v, err := Await(kept, func() (int, error) { return 1, nil }); v != 0 || !errors.Is(err, ErrStale) {
		t.Error(v, err)
	}
}

func TestActors(t *testing.T) {
	limit(t, 10*time.Second)
	s := newSys(t, Config{})
	p := sup(t, s, "sup", Supervision{})
	r := box0(t, p, "r")
	box0(t, s, "gone").Kill()
	begun, gate := make(chan bool), make(chan bool)
	_ = do.Tell(bg, r, func(*box, *Ctx) (any, error) { close(begun); <-gate; return nil, nil })
	<-begun
	_ = do.Tell(bg, r, inc)
	_ = do.Tell(bg, r, inc)
	var all []Info
	for in := range s.Actors() {
		all = append(all, in)
	}
	slices.SortFunc(all, func(x, y Info) int { return len(x.Name) - len(y.Name) })
	if len(all) == 3 { // until its worker has ended it
		all = slices.DeleteFunc(all, func(in Info) bool { return in.Name == "gone" })
	}
	if len(all) != 2 || all[0].Elapsed <= 0 {
		t.Fatal(all)
	}
	all[0].Elapsed = 0
	if all[0] != (Info{"r", "*actor.box", "sup", "alive", 2, "Do", 0}) || all[1] != (Info{"sup", "supervisor", "", "alive", 0, "", 0}) {
		t.Error(all)
	}
	for range s.Actors() {
		break
	}
	close(gate)
}
