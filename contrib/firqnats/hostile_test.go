package firqnats

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/actor"
)

// badStore is a Store whose Load does not return.
type badStore struct{ load func() }

func (s badStore) Load(context.Context, actor.Identity, uint64) ([]byte, error) {
	s.load()
	return nil, nil
}

func (badStore) Save(context.Context, actor.Identity, uint64, []byte) error { return nil }

// A start, and what it stands on, that panics or ends its goroutine: senders get an error, and the next one tries again.
func TestStartEndsBadly(t *testing.T) {
	for name, how := range map[string]func(){"panics": func() { panic("boom") }, "ends its goroutine": runtime.Goexit} {
		for _, where := range []string{"start", "Store.Load"} {
			t.Run(strings.ReplaceAll(where, ".", "")+" "+name, func(t *testing.T) {
				o := options(t)
				var bad atomic.Bool
				bad.Store(true)
				now := func(at string) {
					if at == where && bad.Load() {
						how()
					}
				}
				o.Store = badStore{func() { now("Store.Load") }}
				n := join(t, o)
				must(NewKind(n.Node, "tally", func(c *actor.Ctx, key string) (*tally, error) {
					now("start")
					return &tally{}, nil
				}, methods))(t)
				k := client(t, o)
				ctx, end := context.WithTimeout(context.Background(), patience/3)
				defer end()
				if _, err := add.Call(ctx, k.Ref("x"), 1); !errors.Is(err, actor.ErrNotSent) || ctx.Err() != nil {
					t.Error("a call:", err)
				}
				bad.Store(false)
				if got, err := add.Call(bounded(t), k.Ref("x"), 1); got != 1 || err != nil {
					t.Error("the next one:", got, err)
				}
			})
		}
	}
}

// A call whose ctx has ended is not handled.
func TestEndedContext(t *testing.T) {
	o := options(t)
	n := join(t, o)
	here := kind(t, n)
	for name, k := range map[string]*Kind[*tally]{"here": here, "elsewhere": client(t, o)} {
		ctx := bounded(t)
		must(add.Call(ctx, k.Ref(name), 0))(t)
		over, end := context.WithCancel(ctx)
		end()
		if _, err := add.Call(over, k.Ref(name), 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a call: %v", name, err)
		}
		if _, err := add.Start(over, k.Ref(name), 1).Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a start: %v", name, err)
		}
		if got := must(add.Call(ctx, k.Ref(name), 0))(t); got != 0 {
			t.Errorf("%s: %d were handled", name, got)
		}
	}
}

// Calls in a circle over three nodes, by Call and by Start, are an error soon, which names each once.
func TestCircleOverThreeNodes(t *testing.T) {
	o := options(t)
	o.Place = Local
	var kinds []*Kind[*tally]
	var nodes []*testNode
	for range 3 {
		nodes = append(nodes, join(t, o))
		kinds = append(kinds, kind(t, nodes[len(nodes)-1]))
	}
	see(t, nodes...)
	ctx := bounded(t)
	for i, k := range kinds {
		must(add.Call(ctx, k.Ref(fmt.Sprint(i)), 0))(t)
	}
	last := program(t, "last", func(*tally, *actor.Ctx) (string, error) { return "", nil })
	next := last
	for i := 2; i >= 0; i-- {
		to, then := fmt.Sprint((i+1)%3), next
		next = program(t, fmt.Sprint("step", i), func(_ *tally, c *actor.Ctx) (string, error) {
			f := run.Start(c, kinds[i].Ref(to), then)
			return f.Wait(c)
		})
	}
	began := time.Now()
	_, err := run.Call(ctx, kinds[0].Ref("0"), next)
	var dead *actor.DeadlockError
	if !errors.As(err, &dead) || len(dead.Cycle) != 3 {
		t.Errorf("%v, %+v", err, dead)
	}
	if time.Since(began) > patience/2 {
		t.Error("it was the deadline that ended it")
	}
	for i, k := range kinds { // and nothing waits
		must(add.Call(ctx, k.Ref(fmt.Sprint(i)), 0))(t)
	}
}

// Two chains that cross over nodes wait for each other, and one ends by its deadline: the other by its own, or
// it goes on, as the actor that it waits for is free. Then both actors go on.
func TestChainsThatCross(t *testing.T) {
	ka, kb := pair(t)
	ctx, end := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer end()
	nop := program(t, "nop", func(*tally, *actor.Ctx) (string, error) { return "", nil })
	var both sync.WaitGroup
	both.Add(2)
	cross := func(k *Kind[*tally], to string) func(*tally, *actor.Ctx) (string, error) {
		return func(_ *tally, c *actor.Ctx) (string, error) {
			both.Done()
			both.Wait()
			return run.Call(c, k.Ref(to), nop)
		}
	}
	fa := run.Start(ctx, ka.Ref("a"), program(t, "a", cross(ka, "b")))
	fb := run.Start(ctx, kb.Ref("b"), program(t, "b", cross(kb, "a")))
	late := 0
	for _, f := range []*actor.Future[string]{fa, fb} {
		_, err := f.Wait(bounded(t))
		if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, actor.ErrDeadlock) {
			late++
		} else if err != nil {
			t.Error(err)
		}
	}
	if late == 0 {
		t.Error("no deadline has ended the wait")
	}
	for _, k := range []*Kind[*tally]{ka, kb} {
		for _, key := range []string{"a", "b"} {
			must(add.Call(bounded(t), k.Ref(key), 1))(t)
		}
	}
}
