package actor

import (
	"context"
	"errors"
	"testing"
	"time"
)

// words is a state with all that a life may say; each part calls ask.
type words struct{ started, last func(*Ctx) error }

func (w *words) Started(c *Ctx) error        { return w.started(c) }
func (w *words) Stop(c *Ctx, _ error)        { _ = w.last(c) }
func (w *words) fail(*Ctx, int) error        { panic("fail") }
func (w *words) look(*Ctx, int) (int, error) { return 0, nil }

var (
	wordsFail = NewAction("Fail", (*words).fail)
	wordsLook = NewMethod("Look", (*words).look)
)

// What a start, Started or last words ask for by their Ctx concerns their own actor, and never
// the next one that is handled with the same Ctx, on a worker or on a caller's goroutine.
func TestWhatALifeAsksFor(t *testing.T) {
	nothing := func(*Ctx) error { return nil }
	parts := map[string]func(ask func(*Ctx) error) (start, started, last func(*Ctx) error){
		"start":   func(ask func(*Ctx) error) (_, _, _ func(*Ctx) error) { return ask, nothing, nothing },
		"Started": func(ask func(*Ctx) error) (_, _, _ func(*Ctx) error) { return nothing, ask, nothing },
		"Stop":    func(ask func(*Ctx) error) (_, _, _ func(*Ctx) error) { return nothing, nothing, ask },
	}
	asks := map[string]func(*Ctx) error{
		"Stash":           func(c *Ctx) error { c.Stash(); return nil },
		"Unstash":         func(c *Ctx) error { c.Unstash(); return nil },
		"Stop":            func(c *Ctx) error { c.Stop(errWhy); return nil },
		"Stop and panic":  func(c *Ctx) error { c.Stop(errWhy); panic("then") },
		"Stash and error": func(c *Ctx) error { c.Stash(); return errors.New("then") },
	}
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		cfg.Slots = 1 // so that the next actor has the Ctx of the last one
		for part, in := range parts {
			for what, ask := range asks {
				s := newSys(t, cfg)
				p := sup(t, s, "", Supervision{MaxRestarts: 1 << 30})
				on := false // later lives ask
				start, started, last := in(func(c *Ctx) error {
					if !on {
						return nil
					}
					return ask(c)
				})
				r := must(t, p, "r", func(c *Ctx) (*words, error) { return &words{started, last}, start(c) })
				other := must(t, s, "other", func(*Ctx) (*words, error) { return &words{nothing, nothing}, nil })
				on = true
				_, _ = wordsFail.Call(ctx, r, 0)
				if what == "Stop" {
					<-r.Done()
					if !errors.Is(r.Err(), errWhy) {
						t.Errorf("%s in %s: %v", what, part, r.Err())
					}
				}
				if what == "Stop and panic" && part != "Stop" {
					select {
					case <-r.Done():
						t.Errorf("%s in %s: it has not failed, but ended: %v", what, part, r.Err())
					default:
					}
				}
				for range 3 {
					if _, err := wordsLook.Call(within(t), other, 0); err != nil {
						t.Errorf("%s in %s: %v of another actor", what, part, err)
					}
				}
				if err := wordsFail.Tell(ctx, other, 0); err != nil {
					t.Errorf("%s in %s: %v", what, part, err)
				}
				s.Close()
			}
		}
	})
}

// The same for a start on the goroutine of Spawn, whose Ctx serves calls from outside.
func TestWhatAFirstStartAsksFor(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	other := box0(t, s, "other")
	for _, ask := range []func(*Ctx){(*Ctx).Stash, (*Ctx).Unstash, func(c *Ctx) { c.Stop(errWhy) }} {
		r := must(t, s, "", func(c *Ctx) (*box, error) { ask(c); return &box{}, nil })
		if n, err := do.Call(bg, other, get); n != 0 || err != nil {
			t.Error(n, err)
		}
		r.Kill()
		<-r.Done()
	}
	r := must(t, s, "", func(c *Ctx) (*box, error) { c.Stop(errWhy); return &box{}, nil })
	<-r.Done()
	if !errors.Is(r.Err(), errWhy) {
		t.Error(r.Err())
	}
}
