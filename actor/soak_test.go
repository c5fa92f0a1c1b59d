package actor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq"
)

// Everything together, under supervisors of all strategies, with mailboxes of all policies. Each
// message that was accepted is handled or becomes a dead letter, once. No two handlers of an
// incarnation run at the same time. A sender is served in order, and in the end no caller waits.
// FIRQ_SOAK=10m sets for how long.
func TestSoak(t *testing.T) {
	d := 2 * time.Second
	if text := os.Getenv("FIRQ_SOAK"); text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			t.Fatalf("FIRQ_SOAK: %v", err)
		}
	} else if testing.Short() {
		d = 600 * time.Millisecond
	}
	limit(t, 2*d+40*time.Second)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for i, cfg := range []Config{{}, {Slots: 1, Throughput: 2, Handoff: time.Millisecond}, {Slots: 4, Metrics: NewRecorder()}} {
		t.Run(fmt.Sprint(i), func(t *testing.T) { newSoak(t, cfg).run(d / 3) })
	}
}

// soak is one System, and the records to check it by.
type soak struct {
	t     *testing.T
	s     *System
	dead  atomic.Uint64
	taken atomic.Uint64 // tells that were accepted
	begun atomic.Bool   // before, Goexit in a start or in a handler that it calls inline would end the test

	mu      sync.Mutex
	parents []Parent
	refs    []Ref[*soaked]
	notes   []*soakNote // of tells that were accepted
	m       soakMethods
}

type soakMethods struct {
	tell, urgent, read, inline, cancel, warn *Method[*soaked, *soakNote, int]
	tick                                     *Method[*soaked, int, struct{}]
	down                                     *Method[*soaked, Down, struct{}]
}

// soakNote is a message.
type soakNote struct {
	seq     int64 // of its sender
	depth   int
	ends    bool        // its caller's ctx ends: the message may stay put aside
	from    *soakSender // nil: a call, or a handler sends it
	runs    atomic.Int32
	stashed atomic.Int32
	dead    atomic.Int32
}

// soakSender is a goroutine that tells; done is the last of its messages that each actor has had.
type soakSender struct {
	seq  int64
	mu   sync.Mutex
	done map[*soakPlace]int64
}

// soakPlace is what the incarnations of an actor share.
type soakPlace struct {
	ordered bool // none of its messages is put aside
	precise bool // none of its handlers is abandoned
}

// soaked is the state of an incarnation.
type soaked struct {
	k       *soak
	place   *soakPlace
	writers atomic.Int32
	readers atomic.Int32
}

func newSoak(t *testing.T, cfg Config) *soak {
	k := &soak{t: t}
	cfg.OnTimeout = func(SlowHandler) {}
	cfg.OnDeadLetter = func(d DeadLetter) {
		k.dead.Add(1)
		if n, ok := d.Req.(*soakNote); ok {
			n.dead.Add(1)
		}
	}
	k.s = newSys(t, cfg)
	k.m = soakMethods{
		tell:   NewMethod("tell", (*soaked).handle),
		urgent: NewMethod("urgent", (*soaked).handle, WithPriority(firq.PriorityHigh)),
		read:   NewMethod("read", (*soaked).look, ReadOnly()),
		inline: NewMethod("inline", (*soaked).handle, Inline()),
		cancel: NewMethod("cancel", (*soaked).handle, WithTimeout(time.Millisecond, Cancel)),
		warn:   NewMethod("warn", (*soaked).handle, WithTimeout(time.Millisecond, Warn)),
		tick:   NewAction("tick", func(p *soaked, _ *Ctx, _ int) error { p.enter(); p.leave(); return nil }),
		down:   NewAction("down", func(p *soaked, _ *Ctx, _ Down) error { p.enter(); p.leave(); return nil }),
	}
	k.parents = []Parent{k.s}
	for _, st := range []Strategy{OneForOne, OneForAll, RestForOne} {
		k.parents = append(k.parents, sup(t, k.s, "", Supervision{Strategy: st, MaxRestarts: 1 << 30, Backoff: 50 * time.Microsecond, MaxBackoff: time.Millisecond}))
	}
	for range 24 {
		k.spawn(k.parents[rand.IntN(len(k.parents))])
	}
	return k
}

// spawn starts an actor of a random kind in the place of another one.
func (k *soak) spawn(p Parent) {
	policies := []firq.Backpressure{
		{}, {Policy: firq.DropOldest}, {Policy: firq.DropNewest},
		{Policy: firq.Wait, Wait: time.Duration(1+rand.IntN(2000)) * time.Microsecond},
	}
	place := &soakPlace{ordered: rand.IntN(2) == 0, precise: true}
	opts := []Option{
		WithReentrancy(Reentrancy(rand.IntN(3))),
		WithMailbox(Mailbox{1 + rand.IntN(40), policies[rand.IntN(len(policies))]}),
	}
	switch rand.IntN(6) {
	case 0:
		place.precise = false
		opts = append(opts, WithHandlerTimeout(time.Millisecond, Stop))
	case 1:
		opts = append(opts, WithSlowAfter(time.Millisecond, func(SlowHandler) {}))
	case 2:
		opts = append(opts, Dedicated())
	case 3:
		opts = append(opts, WithThroughput(1), WithWeight(3))
	}
	r, err := Spawn(p, "", func(c *Ctx) (*soaked, error) {
		if rand.IntN(10) == 0 {
			k.spawn(c)
		}
		if rand.IntN(10) == 0 {
			k.ask(c, rand.IntN(2), false)
		}
		switch x := rand.IntN(100); {
		case x < 1:
			return nil, errors.New("start")
		case x < 2:
			panic("start")
		case x < 3 && k.begun.Load():
			runtime.Goexit()
		}
		return &soaked{k: k, place: place}, nil
	}, opts...)
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.refs) < 24 {
		k.refs = append(k.refs, r)
	} else {
		i := rand.IntN(len(k.refs))
		k.refs[i].Kill() // otherwise groups grow until one of their starts fails each time
		k.refs[i] = r
	}
}

func (k *soak) some() Ref[*soaked] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.refs) == 0 {
		return Ref[*soaked]{}
	}
	return k.refs[rand.IntN(len(k.refs))]
}

func (p *soaked) enter() {
	if w, r := p.writers.Add(1), p.readers.Load(); p.place.precise && (w != 1 || r != 0) {
		p.k.t.Errorf("%d handlers at once, beside %d readers", w, r)
	}
}

func (p *soaked) leave() { p.writers.Add(-1) }

// waits runs f, for which the handler waits.
func (p *soaked) waits(f func()) {
	p.leave()
	defer p.enter()
	f()
}

func (p *soaked) look(c *Ctx, n *soakNote) (int, error) {
	n.runs.Add(1)
	p.readers.Add(1)
	defer p.readers.Add(-1)
	if w := p.writers.Load(); p.place.precise && w != 0 {
		p.k.t.Errorf("a reader beside %d writers", w)
	}
	if rand.IntN(50) == 0 {
		time.Sleep(200 * time.Microsecond)
	}
	return n.depth, nil
}

func (p *soaked) handle(c *Ctx, n *soakNote) (int, error) {
	n.runs.Add(1)
	p.enter()
	defer p.leave()
	p.inOrder(c, n)
	k := p.k
	switch x := rand.IntN(200); {
	case x < 4:
		panic("soak")
	case x < 6 && k.begun.Load():
		runtime.Goexit()
	case x < 12:
		time.Sleep(time.Duration(rand.IntN(2500)) * time.Microsecond)
	case x < 18 && !p.place.ordered && p.place.precise && (n.from != nil || n.ends):
		c.Stash()
		n.stashed.Add(1)
		return 0, nil
	case x < 40:
		c.Unstash()
	case x < 42:
		c.Stop(nil)
	case x < 46:
		p.waits(func() { _ = c.Await(func() error { time.Sleep(200 * time.Microsecond); return nil }) })
	case x < 50:
		c.Yield()
	case x < 52:
		k.m.tick.Every(c, time.Duration(1+rand.IntN(3))*time.Millisecond, 0)
	case x < 55:
		k.m.tick.After(c, time.Duration(rand.IntN(500))*time.Microsecond, 0)
	case x < 57:
		Watch(c, k.some(), k.m.down)
	case x < 60:
		p.waits(func() { k.spawn(c) })
	case x < 64:
		p.waits(func() { _ = k.m.tell.Tell(c, k.some(), &soakNote{}) }) // for room
	}
	if n.depth > 0 {
		p.waits(func() { k.ask(c, n.depth-1, n.ends) })
	}
	return n.depth, nil
}

// inOrder fails if a later message of the sender was handled before.
func (p *soaked) inOrder(c *Ctx, n *soakNote) {
	if n.from == nil || !p.place.ordered || c.Err() != nil {
		return
	}
	n.from.mu.Lock()
	defer n.from.mu.Unlock()
	if last := n.from.done[p.place]; last > n.seq {
		p.k.t.Errorf("message %d comes after %d of its sender", n.seq, last)
	}
	n.from.done[p.place] = n.seq
}

// ask calls some actor. ends: ctx ends.
func (k *soak) ask(ctx context.Context, depth int, ends bool) {
	ms := []*Method[*soaked, *soakNote, int]{k.m.tell, k.m.urgent, k.m.read, k.m.inline, k.m.cancel, k.m.warn}
	m, r, n := ms[rand.IntN(len(ms))], k.some(), &soakNote{depth: depth, ends: ends}
	var got int
	var err error
	switch rand.IntN(4) {
	case 0:
		f := m.Start(ctx, r, n)
		if rand.IntN(3) == 0 {
			return // the future leaves the call, if the ctx ends
		}
		got, err = f.Wait(ctx)
	default:
		got, err = m.Call(ctx, r, n)
	}
	if err == nil && got != depth {
		k.t.Errorf("%d answers %d", depth, got)
	}
}
