package firqnats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/firq-go/firq/actor"
)

// pair returns kinds on two nodes: key "a" is on the first, "b" on the second.
func pair(t *testing.T, opts ...actor.Option) (ka, kb *Kind[*tally]) {
	t.Helper()
	o := options(t)
	o.Place = Local
	a, b := join(t, o), join(t, o)
	ka, kb = kind(t, a, opts...), kind(t, b, opts...)
	see(t, a, b)
	must(add.Call(bounded(t), ka.Ref("a"), 0))(t)
	must(add.Call(bounded(t), kb.Ref("b"), 0))(t)
	must(add.Call(bounded(t), ka.Ref("b"), 0))(t)
	must(add.Call(bounded(t), kb.Ref("a"), 0))(t)
	return ka, kb
}

// calls is a program that calls another actor's program.
func calls(k *Kind[*tally], key, next string) func(*tally, *actor.Ctx) (string, error) {
	return func(_ *tally, c *actor.Ctx) (string, error) { return run.Call(c, k.Ref(key), next) }
}

func TestDeadlockOverNodes(t *testing.T) {
	ka, kb := pair(t)
	ctx := bounded(t)
	nop := program(t, "nop", func(*tally, *actor.Ctx) (string, error) { return "", nil })
	back := program(t, "back", calls(kb, "a", nop))
	first := program(t, "first", calls(ka, "b", back))
	_, err := run.Call(ctx, ka.Ref("a"), first)
	var dead *actor.DeadlockError
	if !errors.Is(err, actor.ErrDeadlock) || !errors.As(err, &dead) || !slices.Equal(dead.Cycle, []string{"tally/a", "tally/b"}) {
		t.Errorf("a, b, a: %v, %+v", err, dead)
	}
	// From c on the second node, which waits for b by way of a: c itself is not in the cycle.
	outer := program(t, "outer", calls(kb, "a", first))
	_, err = run.Call(ctx, kb.Ref("c"), outer)
	if !errors.As(err, &dead) || !slices.Equal(dead.Cycle, []string{"tally/a", "tally/b"}) {
		t.Errorf("c, a, b, a: %v, %+v", err, dead)
	}
	// Three actors, two of them on a node: b calls d there, and d calls a.
	inner := program(t, "inner", calls(kb, "d", back))
	first2 := program(t, "first2", calls(ka, "b", inner))
	_, err = run.Call(ctx, ka.Ref("a"), first2)
	if !errors.As(err, &dead) || !slices.Equal(dead.Cycle, []string{"tally/a", "tally/b", "tally/d"}) {
		t.Errorf("a, b, d, a: %v, %+v", err, dead)
	}
	if got, err := add.Call(ctx, kb.Ref("a"), 1); got != 1 || err != nil {
		t.Error("afterwards:", got, err)
	}
}

func TestReentrancyOverNodes(t *testing.T) {
	for _, r := range []actor.Reentrancy{actor.CallChain, actor.Full} {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			ka, kb := pair(t, actor.WithReentrancy(r))
			last := program(t, "last", func(s *tally, _ *actor.Ctx) (string, error) { return s.key, nil })
			back := program(t, "back", calls(kb, "a", last))
			first := program(t, "first", calls(ka, "b", back))
			if got, err := run.Call(bounded(t), ka.Ref("a"), first); got != "a" || err != nil {
				t.Errorf("%v: %q, %v", r, got, err)
			}
		})
	}
}

// A call comes back to its actor also from a node that does not know where that is, and would start it.
func TestComesBackFromWhereItWouldStart(t *testing.T) {
	for _, r := range []actor.Reentrancy{actor.CallChain, actor.Full} {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			o := options(t)
			o.Place = Local
			a, b := join(t, o), join(t, o)
			ka, kb := kind(t, a, actor.WithReentrancy(r)), kind(t, b, actor.WithReentrancy(r))
			see(t, a, b)
			must(add.Call(bounded(t), ka.Ref("a"), 0))(t)
			must(add.Call(bounded(t), kb.Ref("b"), 0))(t)
			must(add.Call(bounded(t), ka.Ref("b"), 0))(t)
			last := program(t, "last", func(s *tally, _ *actor.Ctx) (string, error) { return s.key, nil })
			back := program(t, "back", calls(kb, "a", last)) // the first message of the second node to a
			first := program(t, "first", calls(ka, "b", back))
			if got, err := run.Call(bounded(t), ka.Ref("a"), first); got != "a" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// A call that comes back does not wait behind those that wait for its actor.
func TestComesBackThroughFullWindow(t *testing.T) {
	ka, kb := pair(t, actor.WithReentrancy(actor.CallChain))
	ctx := bounded(t)
	last := program(t, "last", func(s *tally, _ *actor.Ctx) (string, error) { return s.key, nil })
	var waits []*actor.Future[int]
	full := program(t, "full", func(s *tally, c *actor.Ctx) (string, error) {
		for range 2 * kb.n.o.Window { // they wait for a, which waits for this handler
			waits = append(waits, add.Start(context.WithoutCancel(ctx), kb.Ref("a"), 1))
		}
		return run.Call(c, kb.Ref("a"), last)
	})
	first := program(t, "first", calls(ka, "b", full))
	if got, err := run.Call(ctx, ka.Ref("a"), first); got != "a" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, f := range waits {
		must(f.Wait(ctx))(t)
	}
}

// The handler of a Tell is not waited for, though it has the values of the call in which it was sent.
func TestTellIsNoChain(t *testing.T) {
	ka, kb := pair(t)
	ctx := bounded(t)
	result := make(chan error, 1)
	open := make(chan struct{})
	nop := program(t, "nop", func(*tally, *actor.Ctx) (string, error) { return "", nil })
	told := program(t, "told", func(_ *tally, c *actor.Ctx) (string, error) {
		f := run.Start(context.WithoutCancel(ctx), kb.Ref("a"), nop)
		_ = f
		_, err := run.Call(c, kb.Ref("a"), nop)
		result <- err
		return "", err
	})
	tells := program(t, "tells", func(_ *tally, c *actor.Ctx) (string, error) {
		if err := run.Tell(c, kb.Ref("d"), told); err != nil {
			return "", err
		}
		return "", c.Await(func() error { <-open; return nil })
	})
	first := program(t, "first", calls(ka, "b", tells))
	f := run.Start(ctx, ka.Ref("a"), first)
	select { // d's call waits for a, and a for b; b does not wait for d
	case err := <-result:
		t.Error("it did not wait:", err)
	case <-startedWaiting(t, kb):
	}
	close(open)
	must(f.Wait(ctx))(t)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// startedWaiting returns a channel that is closed when two calls of the node to "a" are at the actor.
func startedWaiting(t *testing.T, k *Kind[*tally]) <-chan struct{} {
	ch := make(chan struct{})
	go func() {
		defer close(ch)
		eventually(t, "the calls are sent", func() bool {
			l := k.n.lanes.get(actor.Identity{Kind: "tally", Key: "a"})
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.sent >= 2
		})
	}()
	return ch
}

// A start that waits for itself fails, on one node and over two.
func TestStartDeadlock(t *testing.T) {
	for _, two := range []bool{false, true} {
		t.Run(fmt.Sprintf("two=%v", two), func(t *testing.T) {
			o := options(t)
			a := join(t, o)
			b := a
			if two {
				b = join(t, o)
			}
			var ring [2]*Kind[*tally] // the start of each calls the other one, by the Kind of its own node
			member := func(n *testNode, i int, start bool) *Kind[*tally] {
				f := func(c *actor.Ctx, key string) (*tally, error) {
					_, err := add.Call(c, ring[i].Ref(key), 1)
					return &tally{}, err
				}
				if !start {
					f = nil
				}
				return must(NewKind(n.Node, fmt.Sprint("ring", i^1), f, methods))(t)
			}
			first := member(a, 1, true) // ring0 on a, whose start calls ring1
			second := member(b, 0, true)
			ring[0], ring[1] = first, second
			if two {
				ring[1] = member(a, 0, false)
				ring[0] = member(b, 1, false)
				eventually(t, "all is known", func() bool {
					return len(a.candidates("ring1")) == 1 && len(b.candidates("ring0")) == 1
				})
			}
			_, err := add.Call(bounded(t), first.Ref("a"), 1)
			var dead *actor.DeadlockError
			if !errors.As(err, &dead) || !errors.Is(err, actor.ErrNotSent) {
				t.Fatal(err)
			}
			slices.Sort(dead.Cycle)
			if !slices.Equal(dead.Cycle, []string{"ring0/a", "ring1/a"}) {
				t.Error(dead.Cycle)
			}
		})
	}
}
