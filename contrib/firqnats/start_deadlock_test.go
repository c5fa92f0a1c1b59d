package firqnats

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/actor"
)

// holdSenders holds each sender that has begun an activation until the nodes have sent a message more: the call
// of the start.
func holdSenders(t *testing.T, nodes ...*Node) {
	sent := func() (n uint64) {
		for _, node := range nodes {
			n += node.stat.sent.Load()
		}
		return n
	}
	var due atomic.Uint64
	due.Store(sent())
	ctx := bounded(t)
	hold := func() {
		for want := due.Add(1); sent() < want && nap(ctx, time.Millisecond) == nil; {
		}
	}
	testHookActivated.Store(&hold)
	t.Cleanup(func() { testHookActivated.Store(nil) })
}

// A call that a start makes carries the chains of all callers that wait for that start, also if the first one's sender is slow.
func TestStartKnowsWhoWaits(t *testing.T) {
	o := options(t)
	a, b := join(t, o), join(t, o)
	var ring [2]*Kind[*tally] // as each start finds the other one
	start := func(i int) func(*actor.Ctx, string) (*tally, error) {
		return func(c *actor.Ctx, key string) (*tally, error) {
			_, err := add.Call(c, ring[i].Ref(key), 1)
			return &tally{}, err
		}
	}
	first := must(NewKind(a.Node, "ring0", start(1), methods))(t)
	must(NewKind(b.Node, "ring1", start(0), methods))(t)
	ring[1] = must(NewKind[*tally](a.Node, "ring1", nil, methods))(t)
	ring[0] = must(NewKind[*tally](b.Node, "ring0", nil, methods))(t)
	eventually(t, "all is known", func() bool {
		return len(a.candidates("ring1")) == 1 && len(b.candidates("ring0")) == 1
	})
	holdSenders(t, a.Node, b.Node)
	_, err := add.Call(bounded(t), first.Ref("a"), 1)
	cycle(t, err, "ring0/a", "ring1/a")
}

// The same where a handler begins the activation on its node: b waits for a, which waits for the start of x.
func TestStartHereKnowsWhoWaits(t *testing.T) {
	ka, kb := pair(t)
	late := must(NewKind(ka.n, "late", func(c *actor.Ctx, _ string) (*tally, error) {
		_, err := add.Call(c, ka.Ref("b"), 1)
		return &tally{}, err
	}, methods))(t)
	begins := program(t, "begins", func(_ *tally, c *actor.Ctx) (string, error) {
		_, err := add.Call(c, late.Ref("x"), 1)
		return "", err
	})
	first := program(t, "first", calls(kb, "a", begins))
	holdSenders(t, ka.n)
	_, err := run.Call(bounded(t), kb.Ref("b"), first)
	cycle(t, err, "late/x", "tally/a", "tally/b")
}

// cycle checks that an error is a deadlock of some actors.
func cycle(t *testing.T, err error, names ...string) {
	t.Helper()
	var dead *actor.DeadlockError
	if !errors.As(err, &dead) {
		t.Fatal(err)
	}
	slices.Sort(dead.Cycle)
	if !slices.Equal(dead.Cycle, names) {
		t.Error(dead.Cycle)
	}
}
