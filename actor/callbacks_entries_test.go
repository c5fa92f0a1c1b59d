package actor

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/firq-go/firq"
)

func quietLogger() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// badLog is a slog.Handler that goes through an ordeal.
type badLog struct {
	slog.Handler
	f func()
}

func (b badLog) Handle(context.Context, slog.Record) error { b.f(); return nil }

// entries lists all callbacks, each with the ways to reach it. A new callback is a row here.
func entries() []entrance {
	handler := func(o *ordeal) job { return func(*box, *Ctx) (any, error) { o.f(); return nil, nil } }
	// actor starts one, under a supervisor, and hides an error: the System may be closed already.
	actor := func(o *ordeal, opts ...Option) Ref[*box] {
		p, err := Supervise(o.s, "", Supervision{}, opts...)
		if err != nil {
			return Ref[*box]{}
		}
		r, _ := Spawn(p, "", fresh)
		return r
	}
	// state starts an actor with callbacks in start (1), Started (2) or Stop (3), from
	// incarnation number from on.
	state := func(o *ordeal, p Parent, where, from int) (Ref[*starter], error) {
		n := 0
		return Spawn(p, "", func(*Ctx) (*starter, error) {
			n++
			at := func(place int) func() {
				return func() {
					if place == where && n >= from {
						o.f()
					}
				}
			}
			at(1)()
			st := &starter{begun: func() error { at(2)(); return nil }}
			st.end = func(*Ctx, error) { at(3)() }
			return st, nil
		})
	}
	restarts := func(o *ordeal, where, from int) {
		p, _ := Supervise(o.s, "", Supervision{})
		if r, err := state(o, p, where, from); err == nil {
			_, _ = poke.Call(bg, r, func() { panic("restart") })
		}
	}
	inside := func(o *ordeal, f func(c *Ctx)) { // a handler
		_, _ = do.Call(bg, actor(o), func(_ *box, c *Ctx) (any, error) { f(c); return nil, nil })
	}
	ends := func(o *ordeal, end func(Ref[*starter])) { // last words
		if r, err := state(o, o.s, 3, 1); err == nil {
			end(r)
		}
	}
	deadLetter := func(o *ordeal, c *Config) { c.OnDeadLetter = func(DeadLetter) { o.f() } }
	failure := func(o *ordeal, c *Config) { c.OnFailure = func(Failure) { o.f() } }
	onTimeout := func(o *ordeal, c *Config) { c.OnTimeout = func(SlowHandler) { o.f() } }
	timeout := func(mode TimeoutMode) func(*ordeal) {
		return func(o *ordeal) {
			r := actor(o, WithHandlerTimeout(time.Millisecond, mode))
			_, _ = do.Call(bg, r, func(*box, *Ctx) (any, error) { <-o.called; return nil, nil })
		}
	}
	metrics := func(name string) func(*ordeal, *Config) {
		return func(o *ordeal, c *Config) { c.Metrics = &hooked{at: map[string]func(){name: o.f}} }
	}
	logger := func(o *ordeal, c *Config) {
		c.Logger, c.OnTimeout = slog.New(badLog{quietLogger().Handler(), o.f}), nil
	}

	return []entrance{
		{name: "handler/Tell", reach: func(o *ordeal) { _ = do.Tell(bg, actor(o), handler(o)) }},
		{name: "handler/Call through the mailbox", reach: func(o *ordeal) { _, _ = do.Call(within(o.t), actor(o), handler(o)) }},
		{name: "handler/Call on this goroutine", reach: func(o *ordeal) { _, _ = do.Call(bg, actor(o), handler(o)) }},
		{name: "handler/Call by a handler", reach: func(o *ordeal) {
			inside(o, func(c *Ctx) { _, _ = do.Call(c, actor(o), handler(o)) })
		}},
		{name: "handler/Start", reach: func(o *ordeal) { _, _ = do.Start(bg, actor(o), handler(o)).Wait(bg) }},
		{name: "handler/that reads", reach: func(o *ordeal) { _, _ = look.Call(bg, actor(o), handler(o)) }},
		{name: "handler/several told at once", reach: func(o *ordeal) {
			r := actor(o)
			free := block(o.t, r)
			for range 5 {
				_ = do.Tell(bg, r, handler(o))
			}
			free()
		}},
		{name: "handler/reentrant, beside one that waits", reach: func(o *ordeal) {
			r := actor(o, WithReentrancy(Full))
			_ = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) { return nil, c.Await(func() error { <-o.called; return nil }) })
			_ = do.Tell(bg, r, handler(o))
		}},
		{name: "handler/Dedicated", reach: func(o *ordeal) { _ = do.Tell(bg, actor(o, Dedicated()), handler(o)) }},
		{name: "handler/that has put its message aside", reach: func(o *ordeal) {
			_ = do.Tell(bg, actor(o), func(_ *box, c *Ctx) (any, error) { c.Stash(); o.f(); return nil, nil })
		}},
		{name: "handler/of a timer", reach: func(o *ordeal) {
			tick := NewAction("Tick", func(*box, *Ctx, int) error { o.f(); return nil })
			inside(o, func(c *Ctx) { tick.After(c, 0, 1) })
		}},
		{name: "handler/of a timer that goes on", reach: func(o *ordeal) {
			tick := NewAction("Tick", func(_ *box, c *Ctx, _ int) error { c.Stop(nil); o.f(); return nil })
			inside(o, func(c *Ctx) { tick.Every(c, time.Millisecond, 1) })
		}},
		{name: "handler/of Watch", reach: func(o *ordeal) {
			down := NewAction("Down", func(*box, *Ctx, Down) error { o.f(); return nil })
			inside(o, func(c *Ctx) { Watch(c, Ref[*box]{}, down) })
		}},
		{name: "Await", reach: func(o *ordeal) { inside(o, func(c *Ctx) { _ = c.Await(func() error { o.f(); return nil }) }) }},
		{name: "Await/reentrant", reach: func(o *ordeal) {
			r := actor(o, WithReentrancy(Full))
			_ = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) { return nil, c.Await(func() error { o.f(); return nil }) })
		}},

		{name: "start/from outside", reach: func(o *ordeal) { _, _ = state(o, o.s, 1, 1) }},
		{name: "start/Dedicated", reach: func(o *ordeal) {
			_, _ = Spawn(o.s, "", func(*Ctx) (*box, error) { o.f(); return &box{}, nil }, Dedicated())
		}},
		{name: "start/from a handler", reach: func(o *ordeal) { inside(o, func(c *Ctx) { _, _ = state(o, c, 1, 1) }) }},
		{name: "start/from a start", reach: func(o *ordeal) {
			_, _ = Spawn(o.s, "", func(c *Ctx) (*box, error) { _, err := state(o, c, 1, 1); return &box{}, err })
		}},
		{name: "start/of a child, and its parent's fails", reach: func(o *ordeal) {
			_, _ = Spawn(o.s, "", func(c *Ctx) (*box, error) { _, _ = state(o, c, 1, 1); return nil, errStart })
		}},
		{name: "start/again", reach: func(o *ordeal) { restarts(o, 1, 2) }},
		{name: "Started/from outside", reach: func(o *ordeal) { _, _ = state(o, o.s, 2, 1) }},
		{name: "Started/from a handler", reach: func(o *ordeal) { inside(o, func(c *Ctx) { _, _ = state(o, c, 2, 1) }) }},
		{name: "Started/again", reach: func(o *ordeal) { restarts(o, 2, 2) }},

		{name: "last words/Stop", reach: func(o *ordeal) { ends(o, func(r Ref[*starter]) { _ = r.Stop(bg) }) }},
		{name: "last words/Kill", reach: func(o *ordeal) { ends(o, func(r Ref[*starter]) { r.Kill() }) }},
		{name: "last words/a failure", reach: func(o *ordeal) {
			ends(o, func(r Ref[*starter]) { _, _ = poke.Call(bg, r, func() { panic("end") }) })
		}},
		{name: "last words/a restart", reach: func(o *ordeal) { restarts(o, 3, 1) }},
		{name: "last words/Shutdown", ends: true, reach: func(o *ordeal) { ends(o, func(Ref[*starter]) { _ = o.s.Shutdown(bg) }) }},
		{name: "last words/Close", ends: true, byClose: true, reach: func(o *ordeal) { ends(o, func(Ref[*starter]) { _ = o.s.Close() }) }},
		{name: "last words/a parent's end", reach: func(o *ordeal) {
			r := actor(o)
			_, _ = do.Call(bg, r, func(_ *box, c *Ctx) (any, error) { _, err := state(o, c, 3, 1); return nil, err })
			r.Kill()
		}},
		{name: "last words/a start that fails", reach: func(o *ordeal) {
			_, _ = Spawn(o.s, "", func(c *Ctx) (*box, error) { _, _ = state(o, c, 3, 1); return nil, errStart })
		}},

		{name: "OnFailure/of a handler", cfg: failure, reach: func(o *ordeal) { _, _ = do.Call(bg, actor(o), boom) }},
		{name: "OnFailure/of a start", cfg: failure, reach: func(o *ordeal) {
			again := false
			r := must(o.t, sup(o.t, o.s, "", Supervision{MaxRestarts: 1}), "", func(*Ctx) (*box, error) {
				if again {
					return nil, errStart
				}
				again = true
				return &box{}, nil
			})
			_ = do.Tell(bg, r, boom)
		}},
		{name: "AfterFunc/Kill", reach: func(o *ordeal) { r := actor(o); r.AfterFunc(o.f); r.Kill() }},
		{name: "AfterFunc/Close", ends: true, reach: func(o *ordeal) { actor(o).AfterFunc(o.f); _ = o.s.Close() }},
		{name: "AfterFunc/after the end", reach: func(o *ordeal) { r := actor(o); r.Kill(); <-r.Done(); r.AfterFunc(o.f) }},
		{name: "AfterFunc/the zero Ref", reach: func(o *ordeal) { Ref[*box]{}.AfterFunc(o.f) }},
		{name: "OnDeadLetter/Kill", cfg: deadLetter, reach: func(o *ordeal) {
			r := actor(o)
			free := block(o.t, r)
			for range 3 {
				_ = do.Tell(bg, r, inc)
			}
			r.Kill()
			free()
		}},
		{name: "OnDeadLetter/Close", cfg: deadLetter, ends: true, byClose: true, reach: func(o *ordeal) {
			r := actor(o)
			free := block(o.t, r)
			for range 3 {
				_ = do.Tell(bg, r, inc)
			}
			go func() { <-o.called; free() }()
			_ = o.s.Close()
		}},
		{name: "OnDeadLetter/evicted", cfg: deadLetter, reach: func(o *ordeal) {
			r := actor(o, WithMailbox(Mailbox{1, firq.Backpressure{Policy: firq.DropOldest}}))
			free := block(o.t, r)
			go func() { <-o.called; free() }()
			for range 3 {
				_ = do.Tell(bg, r, inc)
			}
		}},
		{name: "OnDeadLetter/evicted by a handler", cfg: deadLetter, reach: func(o *ordeal) {
			r := actor(o, WithMailbox(Mailbox{1, firq.Backpressure{Policy: firq.DropOldest}}))
			free := block(o.t, r)
			go func() { <-o.called; free() }()
			inside(o, func(c *Ctx) {
				for range 3 {
					_ = do.Tell(c, r, inc)
				}
			})
		}},
		{name: "OnDeadLetter/no room to put aside", cfg: deadLetter, reach: func(o *ordeal) {
			r := actor(o, WithMailbox(Mailbox{Limit: 1}))
			in, fill := make(chan bool), make(chan bool)
			_ = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) { close(in); <-fill; c.Stash(); return nil, nil })
			<-in
			_ = do.Tell(bg, r, inc)
			close(fill)
		}},
		{name: "OnDeadLetter/a timer", cfg: deadLetter, reach: func(o *ordeal) {
			r := actor(o, WithMailbox(Mailbox{Limit: 1}))
			tick := NewAction("Tick", func(*box, *Ctx, int) error { return nil })
			_ = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) {
				_ = do.Tell(c, r, inc)
				tick.After(c, 0, 1)
				<-o.called
				return nil, nil
			})
		}},

		{name: "OnTimeout/Warn", cfg: onTimeout, reach: timeout(Warn)},
		{name: "OnTimeout/Cancel", cfg: onTimeout, reach: timeout(Cancel)},
		{name: "OnTimeout/Stop", cfg: onTimeout, reach: timeout(Stop)},
		{name: "WithSlowAfter", reach: func(o *ordeal) {
			r := actor(o, WithSlowAfter(time.Millisecond, func(SlowHandler) { o.f() }))
			_, _ = do.Call(bg, r, func(*box, *Ctx) (any, error) { <-o.called; return nil, nil })
		}},
		{name: "Logger/a timeout", cfg: logger, reach: timeout(Warn)},
		{name: "Logger/last words", cfg: logger, reach: func(o *ordeal) {
			r, err := Spawn(o.s, "", func(*Ctx) (*box, error) { return &box{end: func(*Ctx, error) { panic("end") }}, nil })
			if err == nil {
				_ = r.Stop(bg)
			}
		}},
		{name: "Logger/a hook", cfg: func(o *ordeal, c *Config) {
			logger(o, c)
			c.OnDeadLetter = func(DeadLetter) { panic("hook") }
		}, reach: func(o *ordeal) {
			r := actor(o)
			free := block(o.t, r)
			_ = do.Tell(bg, r, inc)
			r.Kill()
			free()
		}},

		{name: "Metrics/Turn", cfg: metrics("Turn"), reach: func(o *ordeal) { _ = do.Tell(bg, actor(o), inc) }},
		{name: "Metrics/Turn of a Dedicated actor", cfg: metrics("Turn"), reach: func(o *ordeal) { _ = do.Tell(bg, actor(o, Dedicated()), inc) }},
		{name: "Metrics/Turn after a failure", cfg: metrics("Turn"), reach: func(o *ordeal) { _ = do.Tell(bg, actor(o), boom) }},
		{name: "Metrics/Failed", cfg: metrics("Failed"), reach: func(o *ordeal) { _ = do.Tell(bg, actor(o), boom) }},
		{name: "Metrics/Failed on this goroutine", cfg: metrics("Failed"), reach: func(o *ordeal) { _, _ = do.Call(bg, actor(o), boom) }},
		{name: "Metrics/Restarted", cfg: metrics("Restarted"), reach: func(o *ordeal) { _ = do.Tell(bg, actor(o), boom) }},
		{name: "Metrics/Timeout", cfg: metrics("Timeout"), reach: timeout(Cancel)},
		{name: "Metrics/Abandoned", cfg: metrics("Abandoned"), reach: timeout(Stop)},
		{name: "Metrics/Refused", cfg: metrics("Refused"), reach: func(o *ordeal) {
			r := actor(o)
			_ = r.Stop(bg)
			_ = do.Tell(bg, r, inc)
		}},
		{name: "Metrics/Refused to a handler", cfg: metrics("Refused"), reach: func(o *ordeal) {
			r := actor(o)
			_ = r.Stop(bg)
			inside(o, func(c *Ctx) { _, _ = do.Call(c, r, inc) })
		}},
		{name: "Metrics/Refused: a deadlock", cfg: metrics("Refused"), reach: func(o *ordeal) {
			r := actor(o)
			_, _ = do.Call(bg, r, func(_ *box, c *Ctx) (any, error) { return do.Call(c, r, inc) })
		}},
		{name: "Metrics/Handoff", cfg: metrics("Handoff"), reach: func(o *ordeal) {
			for range 4 { // two slots
				_ = do.Tell(bg, actor(o), func(*box, *Ctx) (any, error) { <-o.called; return nil, nil })
			}
		}},
	}
}
