package firqnats

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
)

// unending begin something of the user that does not end until open is closed, and return the node where that is.
var unending = map[string]func(t *testing.T, o Options, open chan struct{}) *testNode{
	"a handler that sees the end": func(t *testing.T, o Options, _ chan struct{}) *testNode {
		n, begun := join(t, o), make(chan struct{})
		kind(t, n)
		block := program(t, "block", func(_ *tally, c *actor.Ctx) (string, error) { close(begun); <-c.Done(); return "", c.Err() })
		run.Start(t.Context(), client(t, o).Ref("x"), block)
		<-begun
		return n
	},
	"a handler": func(t *testing.T, o Options, open chan struct{}) *testNode {
		n, begun := join(t, o), make(chan struct{})
		kind(t, n)
		block := program(t, "block", func(*tally, *actor.Ctx) (string, error) { close(begun); <-open; return "", nil })
		run.Start(t.Context(), client(t, o).Ref("x"), block)
		<-begun
		return n
	},
	"a start": func(t *testing.T, o Options, open chan struct{}) *testNode {
		n, begun := join(t, o), make(chan struct{})
		must(NewKind(n.Node, "tally", func(*actor.Ctx, string) (*tally, error) {
			close(begun)
			<-open
			return &tally{}, nil
		}, methods))(t)
		add.Start(t.Context(), client(t, o).Ref("x"), 1)
		<-begun
		return n
	},
	"OnLost": func(t *testing.T, o Options, open chan struct{}) *testNode {
		kind(t, join(t, o))
		begun := make(chan struct{})
		o.OnLost = func(actor.Identity, string, error) { close(begun); <-open }
		n := join(t, o)
		k := must(NewKind[*tally](n.Node, "tally", nil, nil))(t)
		if err := actor.NewAction("None", func(*tally, *actor.Ctx, int) error { return nil }).Tell(t.Context(), k.Ref("x"), 1); err != nil {
			t.Fatal(err)
		}
		<-begun
		return n
	},
}

// Leave ends when its ctx does, whatever the user's code does: what is left is killed, and goes on elsewhere.
func TestLeaveEndsFirst(t *testing.T) {
	t.Parallel()
	for name, begin := range unending {
		t.Run(name, func(t *testing.T) {
			o, open, ctx := options(t), make(chan struct{}), bounded(t)
			n := begin(t, o, open)
			t.Cleanup(func() { close(open) }) // before the nodes leave
			short, end := context.WithTimeout(ctx, 50*time.Millisecond)
			defer end()
			left := make(chan error, 1)
			go func() { left <- n.Leave(short) }()
			select {
			case err := <-left:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error("Leave:", err)
				}
			case <-time.After(patience / 3):
				t.Fatal("Leave has not ended")
			}
			if _, err := NewKind[*tally](n.Node, "other", nil, nil); !errors.Is(err, actor.ErrStopped) {
				t.Error("a node that has left:", err)
			}
			if name == "OnLost" {
				return
			}
			kind(t, join(t, o))
			if got, err := keep.Call(ctx, client(t, o).Ref("x"), 1); got != 1 || err != nil {
				t.Error("the actor elsewhere:", got, err)
			}
		})
	}
}

// A full mailbox of policy Wait holds up neither the node's other actors nor the order, also when the actor goes.
func TestPolicyWait(t *testing.T) {
	for _, goes := range []bool{false, true} {
		t.Run(fmt.Sprintf("goes=%v", goes), func(t *testing.T) {
			o := options(t)
			a, b := join(t, o), join(t, o)
			box := actor.WithMailbox(actor.Mailbox{Limit: 2, Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: patience}})
			kind(t, a, box)
			kind(t, b, box)
			see(t, a, b)
			k, ctx, j := client(t, o), bounded(t), journalOf(t)
			key := ""
			for i := 0; key == ""; i++ {
				if x := fmt.Sprint(i); a.place(actor.Identity{Kind: "tally", Key: x}) == a.ID() {
					key = x
				}
			}
			open, begun := make(chan struct{}), make(chan struct{})
			block := program(t, "block", func(*tally, *actor.Ctx) (string, error) { close(begun); <-open; return "", nil })
			first := run.Start(ctx, k.Ref(key), block)
			<-begun
			const n = 200
			var calls []*actor.Future[actor.Nothing]
			for i := range n {
				e := entryOf{t.Name(), i}
				if i%2 == 0 {
					calls = append(calls, note.Start(ctx, k.Ref(key), e))
				} else if err := note.Tell(ctx, k.Ref(key), e); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 20 { // the node is not held up
				must(add.Call(ctx, k.Ref(fmt.Sprint("other-", i)), 1))(t)
			}
			if goes {
				a.let(actor.Identity{Kind: "tally", Key: key})
			}
			close(open)
			must(first.Wait(ctx))(t)
			for i, f := range calls {
				if _, err := f.Wait(ctx); err != nil {
					t.Fatal(i, err)
				}
			}
			must(note.Call(ctx, k.Ref(key), entryOf{t.Name(), n}))(t)
			j.mu.Lock()
			defer j.mu.Unlock()
			for i, got := range j.got[key] {
				if i != got {
					t.Fatalf("%d was handled as number %d", got, i)
				}
			}
			if len(j.got[key]) != n+1 {
				t.Errorf("%d of %d were handled", len(j.got[key]), n+1)
			}
		})
	}
}
