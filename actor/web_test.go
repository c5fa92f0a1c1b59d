package actor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// A web is a random program: a few actors of all kinds of reentrancy, most of them with a mailbox
// of one or two places for which senders wait, and goroutines that send them plans. A plan is what
// a handler does: calls, tells, futures, failures, each with the plan that it sends.
//
// Two oracles judge it, and neither knows how the rule of deadlocks works. All plans end, so in a
// bubble of testing/synctest a program that is not over after a minute hangs: only the wait for room
// is longer. And an alarm is right if the same call is refused once more when everything
// else has come to rest: a cycle is still there, and what was not one has gone on.
type web struct {
	t      *testing.T
	seed   uint64
	s      *System
	refs   []Ref[*knot]
	alarms *atomic.Int64 // that were asked again
	open   atomic.Int64  // handlers in progress
	left   atomic.Int64  // how often calls were given up, which may end a cycle
	leaves atomic.Int64  // in progress
	kind   webKind
	mu     sync.Mutex
	log    []string
}

// webKind says what occurs in a web.
type webKind uint8

const (
	plain   webKind = iota // no failures: each alarm is asked again
	ordered                // messages go to later actors only: no alarm is right
	fragile                // handlers fail, actors end and watch each other
	webKinds
)

type knot struct {
	w  *web
	id int
}

type plan []*step

type step struct {
	what  byte // c: Call, t: Tell, s: Start, w: wait for all that were started, p: panic, e: c.Stop, d: Watch, y: let others run
	to    int
	plan  plan
	begun atomic.Bool // the handler of plan
}

func (p plan) String() string {
	var b strings.Builder
	for _, s := range p {
		fmt.Fprintf(&b, "%c%d(%v)", s.what, s.to, s.plan)
	}
	return b.String()
}

var (
	weave    *Method[*knot, *step, int]
	knotDown = NewAction("KnotDown", func(*knot, *Ctx, Down) error { return nil })
)

func init() { weave = NewMethod("Weave", (*knot).weave) }

// weave does what a plan says.
func (k *knot) weave(c *Ctx, of *step) (int, error) {
	of.begun.Store(true)
	k.w.open.Add(1)
	defer k.w.open.Add(-1)
	ctx, cancel := context.WithCancel(c)
	defer cancel()
	var futures []*Future[int]
	settle := func() {
		for _, f := range futures {
			if k.w.sure(c, k.id, &step{what: 'w'}, func() error { _, err := f.Wait(c); return err }) != nil {
				k.w.leave(c, cancel) // and not when this handler is over, which the oracle would not see
			}
		}
		futures = nil
		if ctx.Err() != nil {
			ctx, cancel = context.WithCancel(c)
		}
	}
	for _, s := range of.plan {
		to := k.w.refs[s.to]
		switch s.what {
		case 'c':
			_ = k.w.sure(c, k.id, s, func() error { _, err := weave.Call(c, to, s); return err })
		case 't':
			_ = k.w.sure(c, k.id, s, func() error { return weave.Tell(c, to, s) })
		case 's':
			var f *Future[int]
			_ = k.w.sure(c, k.id, s, func() error { f = weave.Start(ctx, to, s); return f.err })
			futures = append(futures, f)
		case 'w':
			settle()
		case 'p':
			panic("web")
		case 'e':
			c.Stop(nil)
		case 'd':
			Watch(c, to, knotDown)
		case 'y':
			_ = c.Await(func() error { time.Sleep(time.Microsecond); return nil })
		}
	}
	settle()
	return k.id, nil
}

// sure runs f, and judges the alarm if that is one.
func (w *web) sure(c *Ctx, from int, s *step, f func() error) error {
	before, left := w.s.deadlocks.Load(), w.left.Load()
	err := f()
	leaves := w.leaves.Load()
	if !errors.Is(err, ErrDeadlock) || w.kind == fragile {
		return err
	}
	if w.kind == ordered {
		w.fail("a false alarm: %d %c %d: %v", from, s.what, s.to, err)
		return err
	}
	_ = c.Await(func() error { time.Sleep(time.Millisecond); return nil }) // until nothing else goes on
	if w.s.deadlocks.Load() != before+1 || leaves > 0 || w.left.Load() != left || s.begun.Load() {
		return err // something else may have ended this cycle too, or it was one with the call's own handler
	}
	w.alarms.Add(1)
	if again := f(); !errors.Is(again, ErrDeadlock) {
		w.fail("a false alarm: %d %c %d: %v, then %v", from, s.what, s.to, err, again)
	}
	return err
}

// leave gives up the calls of a ctx, and comes back when that is done.
func (w *web) leave(c *Ctx, cancel func()) {
	w.leaves.Add(1)
	w.left.Add(1)
	cancel()
	_ = c.Await(func() error { time.Sleep(time.Millisecond); return nil })
	w.leaves.Add(-1)
}

func (w *web) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t.Errorf("seed %d: "+format+"\n%s", append(append([]any{w.seed}, args...), strings.Join(w.log, "\n"))...)
}

// plan draws one for an actor; -1: for a sender outside.
func (w *web) plan(r *rand.Rand, from, n, depth int) (p plan) {
	if depth == 0 {
		return nil
	}
	for range r.IntN(4) {
		s := &step{what: "cccctttttssswy"[r.IntN(14)], to: r.IntN(n)}
		if w.kind == fragile && r.IntN(8) == 0 {
			s.what = "pppeddd"[r.IntN(7)]
		}
		if w.kind == ordered {
			if from == n-1 {
				return p
			}
			s.to = from + 1 + r.IntN(n-1-from)
		}
		if s.what == 'c' || s.what == 't' || s.what == 's' {
			s.plan = w.plan(r, s.to, n, depth-1)
		}
		p = append(p, s)
	}
	return p
}

// run makes a program of a seed, and runs it.
func (w *web) run() {
	r := rand.New(rand.NewPCG(w.seed, 0))
	w.kind = webKind(r.IntN(int(webKinds)))
	cfg := Config{Slots: 1 + r.IntN(3), Logger: quietLogger(), OnDeadLetter: func(DeadLetter) {}}
	var sh *shuffle
	if r.IntN(2) == 0 {
		cfg.Slots, cfg.Throughput = 1, 1
		sh = &shuffle{rng: rand.New(rand.NewPCG(w.seed, 1))}
	}
	s, err := newSystem(cfg, sh)
	if err != nil {
		w.t.Fatal(err)
	}
	w.s = s
	parent := Parent(s)
	n := 2 + r.IntN(4)
	if w.kind == fragile {
		strategy := Strategy(r.IntN(3))
		w.log = append(w.log, fmt.Sprint("strategy ", strategy))
		parent = sup(w.t, s, "", Supervision{Strategy: strategy, MaxRestarts: 1 << 30})
	}
	w.refs = make([]Ref[*knot], n)
	for i := range n {
		reent, box := Reentrancy(r.IntN(3)), Mailbox{1 + r.IntN(2), firq.Backpressure{Policy: firq.Wait, Wait: time.Hour}}
		if r.IntN(5) == 0 {
			box = Mailbox{}
		}
		w.log = append(w.log, fmt.Sprintf("%d: reentrancy %d, limit %d", i, reent, box.Limit))
		w.refs[i] = must(w.t, parent, fmt.Sprint(i), func(*Ctx) (*knot, error) { return &knot{w, i}, nil }, WithReentrancy(reent), WithMailbox(box))
	}
	var wg sync.WaitGroup
	var over atomic.Bool
	for range 1 + r.IntN(4) {
		var roots plan
		for range 1 + r.IntN(3) {
			to := r.IntN(n)
			roots = append(roots, &step{what: "ct"[r.IntN(2)], to: to, plan: w.plan(r, to, n, 3)})
		}
		w.log = append(w.log, fmt.Sprint("sender: ", roots))
		wg.Go(func() {
			for _, s := range roots {
				if s.what == 'c' {
					_, _ = weave.Call(context.Background(), w.refs[s.to], s)
				} else {
					_ = weave.Tell(context.Background(), w.refs[s.to], s)
				}
			}
		})
	}
	go func() { wg.Wait(); over.Store(true) }()
	time.Sleep(time.Minute)
	if st := s.Stats(); !over.Load() || w.open.Load() > 0 || st.Waiting > 0 {
		w.fail("it hangs: %+v, %v", st, s.Running())
	} else {
		books(w.t, s)
	}
	_ = s.Close()
	wg.Wait()
}

// No web hangs, and no alarm is false. FIRQ_SOAK=10m sets for how long new webs are tried, and
// FIRQ_SEED=7 tries one of them again and again.
func TestWebs(t *testing.T) {
	count, until := 3000, time.Time{}
	if testing.Short() {
		count = 600
	}
	first := uint64(1)
	if text := os.Getenv("FIRQ_SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("FIRQ_SOAK: %v", err)
		}
		until, first = time.Now().Add(d), rand.Uint64()>>1
	}
	same := os.Getenv("FIRQ_SEED")
	if same != "" {
		var err error
		if first, err = strconv.ParseUint(same, 10, 64); err != nil {
			t.Fatalf("FIRQ_SEED: %v", err)
		}
	}
	limit(t, max(time.Until(until), 0)+2*time.Minute)
	var alarms atomic.Int64
	webs := 0
	for ; webs < count || time.Now().Before(until); webs++ {
		seed := first
		if same == "" {
			seed += uint64(webs)
		}
		synctest.Test(t, func(t *testing.T) { (&web{t: t, seed: seed, alarms: &alarms}).run() })
		if t.Failed() {
			return
		}
	}
	t.Logf("%d webs, %d alarms asked again", webs, alarms.Load())
	if same == "" && alarms.Load() < int64(webs/50) {
		t.Error("hardly any alarm was asked again: the oracle sees nothing")
	}
}
