//go:build firq_failpoints

package actor

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/internal/proof/interleave"
)

// scene is one run of a play: a System whose goroutines take part, and what became of
// each message. Only one goroutine runs at a time, so its fields need no lock.
type scene struct {
	*interleave.Schedule
	s        *System
	workers  int
	names    []string // of goroutines that have to end
	accepted map[int]bool
	left     map[int]bool   // messages that their callers have left: handled, or never heard of again
	ends     map[int]string // how each message ended
	order    []int          // the messages that were handled
}

// At implements failpoint.Hook: a new worker of the pool takes part.
func (sc *scene) At(point string) {
	if point == "worker" {
		sc.workers++
		sc.Join(fmt.Sprint("worker ", sc.workers))
		return
	}
	sc.Schedule.At(point)
}

type play struct {
	preemptions int
	f           func(sc *scene)
}

func TestSchedules(t *testing.T) {
	// Goroutines that other tests have left behind pass the same marks, and would take part.
	err := goleak.Find()
	for tries := 0; err != nil && tries < 20; tries++ {
		err = goleak.Find() // which waits for half a second
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range []map[string]play{mailboxPlays, slotPlays, callPlays, waitPlays, lifePlays, endPlays, endWaitPlays, goexitPlays} {
		for name, p := range group {
			t.Run(name, func(t *testing.T) {
				limit(t, 5*time.Minute)
				interleave.Explore(t, p.preemptions, func(ip *interleave.Schedule) {
					sc := &scene{Schedule: ip, accepted: map[int]bool{}, left: map[int]bool{}, ends: map[int]string{}}
					defer failpoint.Set(sc)()
					p.f(sc)
				})
			})
		}
	}
}

// build makes the System with that many slots, all of them asleep. Its monitor does nothing
// by itself.
func (sc *scene) build(slots int, cfg Config) {
	cfg.Slots, cfg.Handoff = 1, -1
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	cfg.OnDeadLetter = func(d DeadLetter) { sc.ended(d.Req.(int), "a dead letter") }
	s, err := New(cfg)
	if err != nil {
		sc.T().Fatal(err)
	}
	s.cfg.Handoff = time.Hour
	sc.s = s
	synctest.Wait()
	sc.Run()
	for range slots - 1 {
		sl := &slot{pool: &s.pool, wake: make(chan entry, 1)}
		s.pool.slots = append(s.pool.slots, sl)
		s.pool.pass(sl)
		synctest.Wait()
		sc.Run()
	}
}

// ended notes the end of a message, which must be its only one.
func (sc *scene) ended(n int, how string) {
	if was, twice := sc.ends[n]; twice {
		sc.Errorf("message %d ended twice: %s and %s", n, was, how)
	}
	sc.ends[n] = how
}

// prop is the state of an actor: body is what its handlers do.
type prop struct {
	sc       *scene
	in       int // handlers in progress that do not wait and were not abandoned
	readers  int
	suspends int
	body     body
	last     func(c *Ctx) // what it does as last words
}

// Stop is the state's last words.
func (p *prop) Stop(c *Ctx, _ error) {
	p.enter()
	failpoint.At("last words")
	if p.last != nil {
		p.last(c)
	}
	p.leave()
}

func (p *prop) handle(c *Ctx, n int) (int, error) {
	p.sc.ended(n, "handled")
	p.sc.order = append(p.sc.order, n)
	p.enter()
	defer p.leave()
	failpoint.At("handler")
	if p.body != nil {
		return p.body(p, c, n)
	}
	return n, nil
}

func (p *prop) enter() {
	if p.in++; p.in+p.readers > 1 {
		p.sc.Errorf("%d handlers at once, and %d that read", p.in, p.readers)
	}
}

func (p *prop) leave() { p.in-- }

// wait runs f, for which the handler waits.
func (p *prop) wait(f func()) {
	p.in--
	p.suspends++
	f()
	p.suspends--
	p.enter()
}

func (p *prop) read(_ *Ctx, n int) (int, error) {
	p.sc.ended(n, "handled")
	if p.readers++; p.in > 0 {
		p.sc.Errorf("a reader beside a writer")
	}
	failpoint.At("reader")
	p.readers--
	return n, nil
}

var (
	tell   = NewMethod("m", (*prop).handle)
	reads  = NewMethod("r", (*prop).read, ReadOnly())
	urgent = NewMethod("u", (*prop).handle, WithPriority(firq.PriorityHigh))
)

type body = func(p *prop, c *Ctx, n int) (int, error)

// actor starts an actor whose handlers run f; nil: they do nothing.
func (sc *scene) actor(parent Parent, f body, opts ...Option) Ref[*prop] {
	r, err := Spawn(parent, "", func(*Ctx) (*prop, error) { return &prop{sc: sc, body: f}, nil }, opts...)
	if err != nil {
		sc.T().Fatal(err)
	}
	return r
}

// sends is a goroutine that tells r these messages.
func (sc *scene) sends(name string, m *Method[*prop, int, int], r Ref[*prop], messages ...int) {
	sc.goes(name, func() {
		for _, n := range messages {
			sc.tell(m, r, n)
		}
	})
}

func (sc *scene) tell(m *Method[*prop, int, int], r Ref[*prop], n int) {
	if err := m.Tell(bg, r, n); err == nil {
		sc.accepted[n] = true
	}
}

// goes is Go for a goroutine that has to end.
func (sc *scene) goes(name string, f func()) {
	sc.names = append(sc.names, name)
	sc.Go(name, f)
}

// calls is a goroutine that calls r, and waits for the answer whatever it is.
func (sc *scene) calls(name string, m *Method[*prop, int, int], r Ref[*prop], n int) {
	sc.goes(name, func() {
		got, err := m.Call(bg, r, n)
		_, handled := sc.ends[n]
		switch {
		case err == nil && (got != n || sc.ends[n] != "handled"):
			sc.Errorf("%d answers %d, and was %s", n, got, sc.ends[n])
		case err == nil || handled:
			sc.accepted[n] = true
		}
	})
}

// rest lets all goroutines run, and fails if one of them sleeps, if work is left, or if the
// counters do not add up.
func (sc *scene) rest() {
	sc.Run()
	for _, name := range sc.names {
		if sc.Asleep(name) {
			sc.Errorf("%s sleeps", name)
		}
	}
	p := &sc.s.pool
	if !sc.s.closed.Load() && (len(p.idle) != len(p.slots) || p.q.Any() || p.waits()) {
		sc.Errorf("%d of %d slots sleep, entries wait: %t", len(p.idle), len(p.slots), p.q.Any())
	}
	for a := range sc.s.names.all() {
		if a.turn != idle || a.life != alive || !a.atRest() {
			sc.Errorf("%s rests with turn %d, life %d", a.name, a.turn, a.life)
		}
	}
	books(sc.T(), sc.s)
	for n := range sc.left {
		if _, ok := sc.ends[n]; ok {
			sc.accepted[n] = true
		}
	}
	for n := range sc.accepted {
		if _, ok := sc.ends[n]; !ok {
			sc.Errorf("message %d was accepted and is gone", n)
		}
	}
	for n, how := range sc.ends {
		if !sc.accepted[n] {
			sc.Errorf("message %d was refused and is %s", n, how)
		}
	}
	if st := sc.s.Stats(); st.Accepted != uint64(len(sc.accepted))+st.Cancelled {
		sc.Errorf("%d accepted of %+v", len(sc.accepted), st)
	}
}

// end is rest, and then closes the System.
func (sc *scene) end() {
	sc.rest()
	_ = sc.s.Close()
	sc.Run()
}

// count returns how many messages ended in this way.
func (sc *scene) count(how string) (n int) {
	for h := range maps.Values(sc.ends) {
		if h == how {
			n++
		}
	}
	return n
}

// inOrder fails unless the messages among these that were handled were handled in this order.
func (sc *scene) inOrder(messages ...int) {
	at := -1
	for _, n := range messages {
		for i, m := range sc.order {
			if m == n && i < at {
				sc.Errorf("%d came before its turn: %v", n, sc.order)
			} else if m == n {
				at = i
			}
		}
	}
}
