package firqnats

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/firq-go/firq/actor"
)

var errOurs = errors.New("one of ours")

func init() { RegisterError("test.ours", errOurs) }

var failures = map[string]func() error{
	"ours":  func() error { return fmt.Errorf("wrapped: %w", errOurs) },
	"plain": func() error { return errors.New("plain") },
	"panic": func() error { panic("the value") },
	"left":  func() error { return notSent(actor.ErrStopped) },
}

func TestCallElsewhere(t *testing.T) {
	o := options(t)
	a := join(t, o)
	kind(t, a)
	k := client(t, o)
	ctx := bounded(t)
	for i := 1; i <= 3; i++ {
		if got, err := add.Call(ctx, k.Ref("x"), 2); got != 2*i || err != nil {
			t.Fatalf("call %d: %d, %v", i, got, err)
		}
	}
	if err := add.Tell(ctx, k.Ref("x"), 4); err != nil {
		t.Fatal(err)
	}
	f := add.Start(ctx, k.Ref("x"), 10)
	if got, err := f.Wait(ctx); got != 20 || err != nil {
		t.Fatalf("Start after Tell: %d, %v", got, err)
	}
	for _, key := range []string{"", "a b", "*.>", strings.Repeat("k", 200), "=", "\x00ä"} { // any string is a key
		if got, err := add.Call(ctx, k.Ref(key), 1); got != 1 || err != nil {
			t.Errorf("key %q: %d, %v", key, got, err)
		}
		if at, err := k.n.Where(ctx, actor.Identity{Kind: "tally", Key: key}); at != a.ID() || err != nil {
			t.Errorf("key %q: Where is %q, %v", key, at, err)
		}
	}
}

func TestOneActivation(t *testing.T) {
	o := options(t)
	nodes := []*testNode{join(t, o), join(t, o), join(t, o)}
	var kinds []*Kind[*tally]
	for _, n := range nodes {
		kinds = append(kinds, kind(t, n))
	}
	see(t, nodes...)
	ctx := bounded(t)
	const keys, each = 20, 10
	var wg sync.WaitGroup
	for _, k := range kinds {
		for i := range keys {
			wg.Go(func() {
				for range each {
					if _, err := keep.Call(ctx, k.Ref(fmt.Sprint(i)), 1); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for i := range keys {
		if got, err := keep.Call(ctx, kinds[0].Ref(fmt.Sprint(i)), 0); got != len(kinds)*each || err != nil {
			t.Errorf("key %d: %d, %v", i, got, err)
		}
	}
	sum := Stats{}
	for _, n := range nodes {
		s := n.Stats()
		if s.Activations == 0 {
			t.Error("a node has no actors")
		}
		sum.Activated += s.Activated
		sum.Activations += s.Activations
	}
	if sum.Activated != keys || sum.Activations != keys {
		t.Errorf("%d activations, %d now, of %d actors", sum.Activated, sum.Activations, keys)
	}
}

func TestErrors(t *testing.T) {
	o := options(t)
	a := join(t, o)
	here := kind(t, a)
	k := client(t, o)
	ctx := bounded(t)
	for how, want := range map[string]error{"ours": errOurs, "plain": nil, "panic": actor.ErrPanicked, "left": actor.ErrStopped} {
		_, err := fail.Call(ctx, k.Ref(how), how)
		var r *RemoteError
		if !errors.As(err, &r) || want != nil && !errors.Is(err, want) || want != errOurs && errors.Is(err, errOurs) {
			t.Errorf("%s: %v", how, err)
		}
		if errors.Is(err, actor.ErrNotSent) {
			t.Errorf("%s: ErrNotSent of a message that was handled", how)
		}
		if how == "panic" && (!strings.Contains(err.Error(), "the value") || strings.Contains(err.Error(), "goroutine")) {
			t.Errorf("a panic: %v", err)
		}
	}
	missing := actor.NewAction("Missing", func(*tally, *actor.Ctx, int) error { return nil })
	if _, err := missing.Call(ctx, k.Ref("x"), 1); !errors.Is(err, ErrUnknown) || !errors.Is(err, actor.ErrNotSent) {
		t.Errorf("a method that is not known: %v", err)
	}
	if _, err := run.Call(ctx, here.Ref("x"), "none"); err == nil || !strings.Contains(err.Error(), "no program") {
		t.Error(err)
	}
}

func TestStartFails(t *testing.T) {
	o := options(t)
	a := join(t, o)
	starts := 0
	k := must(NewKind(a.Node, "tally", func(*actor.Ctx, string) (*tally, error) {
		if starts++; starts < 3 {
			return nil, errOurs
		}
		return &tally{}, nil
	}, methods))(t)
	ctx := bounded(t)
	if _, err := add.Call(ctx, k.Ref("x"), 1); !errors.Is(err, errOurs) || !errors.Is(err, actor.ErrNotSent) {
		t.Error("here:", err)
	}
	id := actor.Identity{Kind: "tally", Key: "x"}
	if at, err := a.Where(ctx, id); at != "" || err != nil {
		t.Errorf("the record of a start that failed was not given back: %q, %v", at, err)
	}
	far := client(t, o)
	if _, err := add.Call(ctx, far.Ref("x"), 1); !errors.Is(err, errOurs) || !errors.Is(err, actor.ErrNotSent) {
		t.Error("from another node:", err)
	}
	if got, err := add.Call(ctx, far.Ref("x"), 1); got != 1 || err != nil {
		t.Error("the error was kept:", err)
	}
}

// An activation that ends by itself is followed by another one, from what was saved.
func TestStateOutlives(t *testing.T) {
	o := options(t)
	a := join(t, o)
	kind(t, a)
	k := client(t, o)
	ctx := bounded(t)
	first := must(fence.Call(ctx, k.Ref("x"), actor.Nothing{}))(t)
	must(keep.Call(ctx, k.Ref("x"), 7))(t)
	last := first
	for _, how := range []string{"end", "panic", "end"} {
		if how == "end" {
			must(end.Call(ctx, k.Ref("x"), actor.Nothing{}))(t)
		} else if _, err := fail.Call(ctx, k.Ref("x"), how); !errors.Is(err, actor.ErrPanicked) {
			t.Fatal(err)
		}
		if got, err := keep.Call(ctx, k.Ref("x"), 0); got != 7 || err != nil {
			t.Errorf("after %s: %d, %v", how, got, err)
		}
		a.mu.RLock()
		if x := a.acts[actor.Identity{Kind: "tally", Key: "x"}]; x == nil || x.own.state != nil {
			t.Errorf("after %s: what start has read is kept", how)
		}
		a.mu.RUnlock()
		now := must(fence.Call(ctx, k.Ref("x"), actor.Nothing{}))(t)
		if now <= last {
			t.Errorf("the fence of the next activation is %d, after %d", now, last)
		}
		last = now
	}
	must(clearM.Call(ctx, k.Ref("x"), actor.Nothing{}))(t)
	must(end.Call(ctx, k.Ref("x"), actor.Nothing{}))(t)
	eventually(t, "the record goes with the state", func() bool {
		_, _, rev, err := a.readRecord(ctx, actor.Identity{Kind: "tally", Key: "x"})
		return rev == 0 && err == nil
	})
	if got, err := keep.Call(ctx, k.Ref("x"), 0); got != 0 || err != nil {
		t.Errorf("after Clear: %d, %v", got, err)
	}
	if now := must(fence.Call(ctx, k.Ref("x"), actor.Nothing{}))(t); now <= last {
		t.Errorf("the fence after Clear is %d, after %d", now, last)
	}
}

func TestLeave(t *testing.T) {
	o := options(t)
	a, b := join(t, o), join(t, o)
	ka := kind(t, a)
	kind(t, b)
	see(t, a, b)
	k := client(t, o)
	ctx := bounded(t)
	for i := range 50 {
		must(keep.Call(ctx, k.Ref(fmt.Sprint(i)), 1))(t)
	}
	stop, calls := make(chan struct{}), 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := keep.Call(ctx, k.Ref(fmt.Sprint(i%50)), 1); err != nil {
				t.Error(err)
				return
			}
			calls++
		}
	})
	if err := a.Leave(ctx); err != nil {
		t.Error(err)
	}
	if err := a.Leave(ctx); err != nil {
		t.Error("again:", err)
	}
	close(stop)
	wg.Wait()
	sum := 0
	for i := range 50 {
		sum += must(keep.Call(ctx, k.Ref(fmt.Sprint(i)), 0))(t)
	}
	if sum != 50+calls {
		t.Errorf("%d are saved, of %d calls", sum, 50+calls)
	}
	if n := b.Stats().Activations; n != 50 {
		t.Errorf("%d activations at the node that stays", n)
	}
	if _, err := add.Call(ctx, ka.Ref("1"), 1); !errors.Is(err, actor.ErrStopped) || !errors.Is(err, actor.ErrNotSent) {
		t.Error("a call of the node that left:", err)
	}
	if err := add.Tell(ctx, ka.Ref("1"), 1); !errors.Is(err, actor.ErrStopped) || !errors.Is(err, actor.ErrNotSent) {
		t.Error("a tell of the node that left:", err)
	}
}
