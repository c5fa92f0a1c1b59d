package firqnats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq/actor"
)

// journal collects what actors got, by key, over all activations.
type journal struct {
	mu  sync.Mutex
	got map[string][]int
}

var journals sync.Map // by test

func journalOf(t testing.TB) *journal {
	j, _ := journals.LoadOrStore(t.Name(), &journal{got: map[string][]int{}})
	t.Cleanup(func() { journals.Delete(t.Name()) })
	return j.(*journal)
}

type entryOf struct {
	Test string
	N    int
}

var note = actor.NewAction("Note", func(s *tally, _ *actor.Ctx, e entryOf) error {
	v, ok := journals.Load(e.Test)
	if !ok {
		return errors.New("no journal")
	}
	j := v.(*journal)
	j.mu.Lock()
	j.got[s.key] = append(j.got[s.key], e.N)
	j.mu.Unlock()
	return nil
})

func init() { methods = append(methods, note) }

// What a node sends to an actor is handled in that order, though the actor moves: away from the sender, to
// it, and as it ends and starts again.
func TestOrderWhileMoving(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} { // whether the sender may have the actor
		t.Run(fmt.Sprintf("own=%v", own), func(t *testing.T) {
			o := options(t)
			o.Place = Random
			a, b := join(t, o), join(t, o)
			kind(t, a)
			kb := kind(t, b)
			see(t, a, b)
			k := client(t, o)
			if own {
				k = kb
			}
			j, ctx := journalOf(t), bounded(t)
			const n = 3000
			ref := k.Ref("x")
			var futures []*actor.Future[actor.Nothing]
			for i := range n {
				e := entryOf{t.Name(), i}
				switch i % 3 {
				case 0:
					if err := note.Tell(ctx, ref, e); err != nil {
						t.Fatal(err)
					}
				case 1:
					futures = append(futures, note.Start(ctx, ref, e))
				case 2:
					if i%30 == 2 {
						if _, err := note.Call(ctx, ref, e); err != nil && !errors.Is(err, actor.ErrStopped) {
							t.Fatal(err)
						}
					} else if err := note.Tell(ctx, ref, e); err != nil {
						t.Fatal(err)
					}
				}
				if i%100 == 50 { // it goes
					for _, x := range []*testNode{a, b} {
						x.let(actor.Identity{Kind: "tally", Key: "x"})
					}
				}
				if i%250 == 99 { // it ends by itself
					if err := end.Tell(ctx, ref, actor.Nothing{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, f := range futures {
				if _, err := f.Wait(ctx); err != nil && !errors.Is(err, actor.ErrStopped) { // it was in the mailbox when the actor ended
					t.Fatal(err)
				}
			}
			for _, err := note.Call(ctx, ref, entryOf{t.Name(), n}); err != nil; _, err = note.Call(ctx, ref, entryOf{t.Name(), n}) {
				if !errors.Is(err, actor.ErrStopped) {
					t.Fatal(err)
				}
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			last, seen := -1, 0
			for _, i := range j.got["x"] {
				if i <= last && i < n {
					t.Fatalf("%d was handled after %d", i, last)
				}
				last = i
				seen++
			}
			if a.Stats().Activated+b.Stats().Activated < 10 || a.Stats().Activated*b.Stats().Activated == 0 {
				t.Errorf("the actor did not move: %+v, %+v", a.Stats(), b.Stats())
			}
			t.Logf("%d of %d handled", seen, n+1)
		})
	}
}

// What a node sends to itself by the lane, as the actor was here, may be sent back. Until then no message
// goes past the lane.
func TestSentBackHere(t *testing.T) {
	a := join(t, options(t))
	kind(t, a)
	j, id := journalOf(t), actor.Identity{Kind: "tally", Key: "x"}
	data := must(a.o.Codec.Encode(entryOf{t.Name(), 7}))(t)
	l := a.lane(id)
	o := &call{ctx: t.Context(), born: time.Now(), lane: l}
	o.request = request{op: opTell, no: a.callNo.Add(1), key: id.Key, method: "Note", data: data, kind: id.Kind}
	a.outgoing.enter()
	l.mu.Lock()
	l.node, l.sure = a.ID(), true // an answer said so, and the actor has ended since
	l.transmit(o)
	if l.sent != 1 || l.state != laneDrains || l.node == a.ID() {
		t.Errorf("%d underway, state %d, node %q", l.sent, l.state, l.node)
	}
	l.mu.Unlock()
	eventually(t, "it is handled", func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return slices.Equal(j.got["x"], []int{7})
	})
}

// let lets an actor go, as rebalancing does.
func (n *testNode) let(id actor.Identity) {
	n.mu.RLock()
	a := n.acts[id]
	n.mu.RUnlock()
	if a != nil && a.close(true) {
		n.background(func() { _ = a.body.Stop(n.ctx) })
	}
}

// Window bounds what one node has waiting at an actor elsewhere.
func TestWindow(t *testing.T) {
	o := options(t)
	o.Window = 4
	a := join(t, o)
	kind(t, a)
	flood, other := client(t, o), client(t, o)
	ctx := bounded(t)
	open, begun := make(chan struct{}), make(chan struct{})
	block := program(t, "block", func(*tally, *actor.Ctx) (string, error) { close(begun); <-open; return "", nil })
	wait := run.Start(ctx, flood.Ref("x"), block)
	<-begun
	for range 100 {
		if err := add.Tell(ctx, flood.Ref("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	var calls []*actor.Future[int]
	for range 100 {
		calls = append(calls, add.Start(ctx, flood.Ref("x"), 1))
	}
	ref, _ := actor.Lookup[*tally](a.sys, "tally/x")
	eventually(t, "all tells are at the actor", func() bool { return ref.Len() >= 100 })
	f := add.Start(ctx, other.Ref("x"), 0)
	eventually(t, "the other node's call is at the actor", func() bool { return ref.Len() == 100+o.Window-1+1 })
	close(open)
	if got := must(f.Wait(ctx))(t); got > 100+o.Window {
		t.Errorf("the other node's call was behind %d messages", got)
	}
	must(wait.Wait(ctx))(t)
	for _, c := range calls {
		must(c.Wait(ctx))(t)
	}
}

// A full queue refuses.
func TestQueueFull(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Timeout = 2 * patience // or some are given up before all are there
	k := client(t, o)        // no node has the kind
	ctx := bounded(t)
	for i := range maxQueue {
		if err := add.Tell(ctx, k.Ref("x"), i); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := add.Tell(ctx, k.Ref("x"), 1); !errors.Is(err, actor.ErrMailboxFull) || !errors.Is(err, actor.ErrNotSent) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if err := k.n.Leave(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("Leave with messages that no node takes:", err)
	}
	if s := k.n.Stats(); s.Lost != maxQueue {
		t.Errorf("%+v", s)
	}
}

// An actor that is idle ends, and a message in that moment is not lost.
func TestIdle(t *testing.T) {
	o := options(t)
	a := join(t, o)
	kind(t, a, actor.WithIdle(4*time.Millisecond))
	k := client(t, o)
	ctx := bounded(t)
	sum := 0
	for i := range 60 {
		sum++
		if got, err := keep.Call(ctx, k.Ref("x"), 1); got != sum || err != nil {
			t.Fatalf("%d, %v, want %d", got, err, sum)
		}
		_ = nap(ctx, time.Duration(i%8)*time.Millisecond)
	}
	eventually(t, "it ends", func() bool { return a.Stats().Activations == 0 })
	if s := a.Stats(); s.Passivated != s.Activated || s.Activated < 3 {
		t.Errorf("%+v", s)
	}
	if at, err := a.Where(ctx, actor.Identity{Kind: "tally", Key: "x"}); at != "" || err != nil {
		t.Errorf("an idle actor keeps its record: %q, %v", at, err)
	}
}

// A message that waits for the end of an activation is sent back when the actor goes. What its sender has sent after
// it comes back, too, until that one is here again.
func TestSentBackInOrder(t *testing.T) {
	a := join(t, options(t))
	k := kind(t, a)
	j, ctx := journalOf(t), bounded(t)
	get := func(no uint64) bool {
		return a.receive(&request{
			op: opTell, no: no, key: "x", method: "Note", from: "sender", kind: "tally",
			data: must(a.o.Codec.Encode(entryOf{t.Name(), int(no)}))(t),
		})
	}
	open, begun := make(chan struct{}), make(chan struct{})
	busy := run.Start(ctx, k.Ref("x"), program(t, "block", func(*tally, *actor.Ctx) (string, error) { close(begun); <-open; return "", nil }))
	<-begun
	a.let(actor.Identity{Kind: "tally", Key: "x"})
	if !get(1) {
		t.Error("the first message does not wait")
	}
	close(open)
	must(busy.Wait(ctx))(t)
	eventually(t, "the actor has gone", func() bool { return a.Stats().Moved == 1 })
	if get(2) {
		t.Error("a message is taken that was sent after one that was sent back")
	}
	if !get(1) || !get(2) {
		t.Error("messages that come again are sent back")
	}
	eventually(t, "both are handled in order", func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return slices.Equal(j.got["x"], []int{1, 2})
	})
}
