//go:build unix

package firqnats

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

const stormKeys = 5

// gust is a message of a storm: its sender, a goroutine, sends 1, 2, 3, ... to one actor.
type gust struct {
	From, N int
	Work    time.Duration
}

// storm is what a sender sends, what actors have handled, and what senders were told.
type storm struct {
	t       *testing.T
	r       *rand.Rand // of the events
	srv     *embedded.Server
	o       Options
	rough   bool // nodes die and are cut off
	calms   bool // actors end by themselves
	nodes   []*stormNode
	acts    atomic.Int64
	senders sync.WaitGroup

	mu   sync.Mutex
	got  [stormKeys][]handledGust
	sent []*stormSender
}

type handledGust struct {
	gust
	act int64
	at  time.Time
}

// stormSender is one sender. Only its goroutine writes, until it has ended.
type stormSender struct {
	from, key int
	stop      atomic.Bool
	outcomes  []error // by N-1
	tell      []bool
	lost      atomic.Int64
}

type stormNode struct {
	*testNode
	w       *wire
	k       *Kind[*stormy]
	senders []*stormSender
}

type stormy struct {
	s   *storm
	key int
	act int64
}

var (
	blow = actor.NewMethod("Blow", func(y *stormy, _ *actor.Ctx, g gust) (int, error) {
		y.s.mu.Lock()
		y.s.got[y.key] = append(y.s.got[y.key], handledGust{g, y.act, time.Now()})
		y.s.mu.Unlock()
		time.Sleep(g.Work)
		return g.N, nil
	})
	calm = actor.NewAction("Calm", func(_ *stormy, c *actor.Ctx, _ actor.Nothing) error { c.Stop(nil); return nil })
)

// join adds a node, and its senders.
func (s *storm) join(client bool) {
	w := newWire(s.t, s.srv.URL())
	o := s.o
	o.Client = client
	n := &stormNode{w: w}
	o.OnLost = func(id actor.Identity, _ string, _ error) {
		for _, x := range n.senders {
			if fmt.Sprint(x.key) == id.Key {
				x.lost.Add(1)
			}
		}
	}
	n.testNode = joinBy(s.t, must(nats.Connect(w.url(), steady...))(s.t), o)
	start := func(_ *actor.Ctx, key string) (*stormy, error) {
		i, err := strconv.Atoi(key)
		return &stormy{s, i, s.acts.Add(1)}, err
	}
	if client {
		start = nil
	}
	n.k = must(NewKind(n.Node, "stormy", start, []actor.AnyMethod[*stormy]{blow, calm}, actor.WithIdle(20*time.Millisecond)))(s.t)
	s.mu.Lock()
	for key := range stormKeys {
		x := &stormSender{from: len(s.sent), key: key}
		s.sent = append(s.sent, x)
		n.senders = append(n.senders, x)
	}
	s.mu.Unlock()
	for _, x := range n.senders {
		seed := s.r.Uint64()
		s.senders.Go(func() { s.send(n, x, rand.New(rand.NewPCG(seed, 0))) })
	}
	s.nodes = append(s.nodes, n)
}

// send is a sender.
func (s *storm) send(n *stormNode, x *stormSender, r *rand.Rand) {
	type underway struct {
		i int
		f *actor.Future[int]
	}
	var list []underway
	settle := func(keep int) {
		for len(list) > keep {
			u := list[0]
			list = list[1:]
			_, x.outcomes[u.i] = u.f.Wait(context.Background())
		}
	}
	ref := n.k.Ref(fmt.Sprint(x.key))
	for !x.stop.Load() {
		burst := 1 + r.IntN(30)
		for range burst {
			g := gust{x.from, len(x.outcomes) + 1, time.Duration(r.IntN(100)) * time.Microsecond}
			x.outcomes, x.tell = append(x.outcomes, nil), append(x.tell, false)
			i := len(x.outcomes) - 1
			switch op := r.IntN(10); {
			case op < 5:
				x.tell[i] = true
				x.outcomes[i] = blow.Tell(context.Background(), ref, g)
			case op < 8:
				list = append(list, underway{i, blow.Start(context.Background(), ref, g)})
			default:
				settle(0)
				ctx, end := context.Background(), func() {}
				if s.rough && r.IntN(20) == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(3000))*time.Microsecond)
					end = cancel
				}
				var got int
				got, x.outcomes[i] = blow.Call(ctx, ref, g)
				end()
				if x.outcomes[i] == nil && got != g.N {
					s.t.Errorf("the answer to %d is %d", g.N, got)
				}
			}
		}
		settle(50)
		switch r.IntN(10) {
		case 0:
			time.Sleep(60 * time.Millisecond) // the actor may end, as it is idle
		case 1:
			if !s.calms {
				continue
			}
			_ = calm.Tell(context.Background(), ref, actor.Nothing{})
		default:
			time.Sleep(time.Duration(r.IntN(8000)) * time.Microsecond)
		}
	}
	settle(0)
}

// take takes a random node out, not the first, which is a client and stays.
func (s *storm) take() *stormNode {
	i := 1 + s.r.IntN(len(s.nodes)-1)
	n := s.nodes[i]
	s.nodes = slices.Delete(s.nodes, i, i+1)
	return n
}

func (n *stormNode) quiet() {
	for _, x := range n.senders {
		x.stop.Store(true)
	}
}

// event makes something happen.
func (s *storm) event() string {
	kinds := 3
	if s.rough {
		kinds = 6
	}
	switch s.r.IntN(kinds) {
	case 0: // a node leaves, in order, while it sends
		s.join(false)
		n := s.take()
		if err := n.Leave(bounded(s.t)); err != nil {
			s.t.Error("Leave:", err)
		}
		n.quiet()
		return "leave"
	case 1, 2: // actors go
		for range 20 {
			for _, n := range s.nodes {
				n.let(actor.Identity{Kind: "stormy", Key: fmt.Sprint(s.r.IntN(stormKeys))})
			}
			time.Sleep(time.Duration(s.r.IntN(4000)) * time.Microsecond)
		}
		return "let"
	case 3: // it dies
		s.join(false)
		n := s.take()
		n.w.set(true, true)
		n.quiet()
		n.sys.Close()
		go func() { // what is left of it
			ctx, end := context.WithTimeout(context.Background(), time.Second)
			defer end()
			_ = n.Leave(ctx)
		}()
		return "die"
	default: // it is cut off, one way or both
		n := s.nodes[s.r.IntN(len(s.nodes))]
		way := s.r.IntN(3)
		n.w.set(way != 1, way != 0)
		time.Sleep(time.Duration(float64(s.o.Lease) * (0.2 + 2*s.r.Float64())))
		n.w.set(false, false)
		return "part"
	}
}

// TestStorm sends numbered messages from all nodes while actors move and end, and nodes come, leave, die and are cut off.
// What one sender sends to an actor is handled in that order, but over a death; each message at most once, one that is
// answered once, one that was not sent never; and while nothing dies or ends, each tell is handled.
func TestStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	seed := uint64(time.Now().UnixNano())
	if v, err := strconv.ParseUint(os.Getenv("FIRQNATS_SEED"), 10, 64); err == nil {
		seed = v
	}
	for mode, name := range []string{"Moves", "Ends", "Faults"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &storm{t: t, calms: mode > 0, rough: mode > 1, r: rand.New(rand.NewPCG(seed, 1)), o: options(t)}
			s.o.Place, s.o.Timeout, s.o.Lease = Random, 5*time.Second, time.Second
			if !s.rough { // on a busy machine none is taken for dead
				s.o.Timeout, s.o.Lease = patience, patience
			}
			s.srv = must(embedded.Start(embedded.Options{Port: -1}))(t)
			t.Cleanup(s.srv.Close)
			s.join(true)
			for range 3 {
				s.join(false)
			}
			events := map[string]int{}
			for began := time.Now(); time.Since(began) < long(t, 2*time.Second); {
				events[s.event()]++
			}
			for _, n := range s.nodes {
				n.quiet()
			}
			s.senders.Wait()
			for _, n := range s.nodes {
				if err := n.Leave(bounded(t)); err != nil {
					t.Error("Leave:", err)
				}
			}
			s.check(seed, events)
		})
	}
}

// check compares what was handled with what was sent and answered.
func (s *storm) check(seed uint64, events map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	type id struct{ from, n int }
	handled := map[id]int{}
	reversed := 0
	for key := range s.got {
		last := map[int]handledGust{}
		for _, g := range s.got[key] {
			handled[id{g.From, g.N}]++
			if was, ok := last[g.From]; ok && g.N <= was.N {
				gave := s.sent[g.From].outcomes[g.N-1]
				if !s.rough || was.act == g.act && gave == nil {
					s.t.Errorf("key %d, sender %d: %d (activation %d, outcome %v) was handled after %d (activation %d, %v before)", key, g.From, g.N, g.act, gave, was.N, was.act, g.at.Sub(was.at))
				} else {
					reversed++
				}
			}
			last[g.From] = g
		}
	}
	var total, answered, unsent, unknown, tells, gone int
	for _, x := range s.sent {
		missing := 0
		for i, err := range x.outcomes {
			total++
			k := handled[id{x.from, i + 1}]
			switch {
			case k > 1:
				s.t.Errorf("sender %d: %d was handled %d times", x.from, i+1, k)
			case errors.Is(err, actor.ErrNotSent):
				unsent++
				if k != 0 {
					s.t.Errorf("sender %d: %d was handled, and its error is %v", x.from, i+1, err)
				}
			case x.tell[i]:
				tells++
				if k == 0 {
					missing++
				}
			case err != nil:
				unknown++
				if !s.calms || !s.rough && !errors.Is(err, actor.ErrStopped) {
					s.t.Errorf("sender %d: %d: %v", x.from, i+1, err)
				}
			case k != 1:
				s.t.Errorf("sender %d: %d was answered, and handled %d times", x.from, i+1, k)
			default:
				answered++
			}
		}
		gone += missing
		if missing > 0 && !s.calms {
			s.t.Errorf("sender %d to %d: %d tells were accepted and not handled, OnLost heard of %d", x.from, x.key, missing, x.lost.Load())
		}
	}
	s.t.Logf("seed %d, %v: %d messages, %d calls answered, %d not sent, %d of unknown fate, %d tells of which %d were not handled; %d activations; %d reversed over a death",
		seed, events, total, answered, unsent, unknown, tells, gone, s.acts.Load(), reversed)
}
