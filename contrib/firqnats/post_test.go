package firqnats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

// inbox counts what the handler of posted messages got, by text.
type inbox struct {
	mu  sync.Mutex
	got map[string]int
	at  map[string]time.Time
}

func (b *inbox) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got[text]
}

// posting is a cluster whose actors note what is posted to them; hear answers it.
func posting(t *testing.T, nodes []*testNode, hear func(c *actor.Ctx, text string, times int) error) (*inbox, *actor.Method[*inbox, string, actor.Nothing], []*Kind[*inbox]) {
	b := &inbox{got: map[string]int{}, at: map[string]time.Time{}}
	note := actor.NewAction("Note", func(b *inbox, c *actor.Ctx, text string) error {
		b.mu.Lock()
		b.got[text]++
		b.at[text] = time.Now()
		times := b.got[text]
		b.mu.Unlock()
		if hear == nil {
			return nil
		}
		return hear(c, text, times)
	})
	var kinds []*Kind[*inbox]
	for _, n := range nodes {
		kinds = append(kinds, must(NewKind(n.Node, "inbox", func(*actor.Ctx, string) (*inbox, error) { return b, nil }, []actor.AnyMethod[*inbox]{note}))(t))
	}
	return b, note, kinds
}

func TestPost(t *testing.T) {
	t.Parallel()
	o := options(t)
	b, note, kinds := posting(t, []*testNode{join(t, o)}, func(_ *actor.Ctx, text string, times int) error {
		if text == "hard" && times < 3 {
			return errOurs
		}
		return nil
	})
	ctx := bounded(t)
	began := time.Now()
	for _, text := range []string{"plain", "hard"} {
		if err := Post(ctx, kinds[0], "any key *", note, text, PostOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := Post(ctx, kinds[0], "x", note, "same", PostOptions{ID: "1"}); err != nil {
			t.Fatal(err)
		}
		if err := Post(ctx, kinds[0], "x", note, "named", PostOptions{ID: "2", Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are handled", func() bool {
		return b.count("hard") == 3 && b.count("plain") > 0 && b.count("same") > 0 && b.count("named") > 0
	})
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("three attempts in %v: the delays should be 0.1 s and 0.2 s", took)
	}
	s, c, err := kinds[0].n.postStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stream is empty", func() bool {
		i, err := s.Info(ctx)
		return err == nil && i.State.Msgs == 0
	})
	if i, err := c.Info(ctx); err != nil || i.NumPending+uint64(i.NumAckPending) != 0 {
		t.Errorf("the consumer still has something: %+v, %v", i, err)
	}
	for _, text := range []string{"plain", "same", "named"} {
		if n := b.count(text); n != 1 {
			t.Errorf("%q was handled %d times", text, n)
		}
	}
}

// The sender need not stay, nor need there be a node of the kind, nor the server.
func TestPostSurvives(t *testing.T) {
	t.Parallel()
	o, dir := options(t), t.TempDir()
	srv := must(embedded.Start(embedded.Options{Dir: dir}))(t)
	far := o
	far.Client = true
	sender := joinAt(t, srv, far)
	_, note, kinds := posting(t, []*testNode{sender}, nil)
	if err := Post(bounded(t), kinds[0], "x", note, "now", PostOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Post(bounded(t), kinds[0], "x", note, "later", PostOptions{At: time.Now().Add(time.Second)}); err != nil {
		t.Fatal(err)
	}
	if err := sender.Leave(bounded(t)); err != nil {
		t.Fatal(err)
	}
	srv.Close()
	srv = must(embedded.Start(embedded.Options{Dir: dir}))(t)
	t.Cleanup(srv.Close)
	b, _, _ := posting(t, []*testNode{joinAt(t, srv, o)}, nil)
	eventually(t, "both are handled", func() bool { return b.count("now") > 0 && b.count("later") > 0 })
}

func TestPostAt(t *testing.T) {
	t.Parallel()
	o := options(t)
	b, note, kinds := posting(t, []*testNode{join(t, o)}, nil)
	ctx, at := bounded(t), time.Now().Add(1200*time.Millisecond)
	for _, text := range []string{"one", "two"} { // without a name none replaces another
		if err := Post(ctx, kinds[0], "x", note, text, PostOptions{At: at}); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"replaced", "last"} {
		if err := Post(ctx, kinds[0], "x", note, text, PostOptions{At: at, Name: "a name"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := Post(ctx, kinds[0], "x", note, "taken back", PostOptions{At: at, Name: "back"}); err != nil {
		t.Fatal(err)
	}
	if err := Unpost(ctx, kinds[0], "x", "back"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are handled", func() bool { return b.count("one") > 0 && b.count("two") > 0 && b.count("last") > 0 })
	b.mu.Lock()
	defer b.mu.Unlock()
	for text, when := range b.at {
		if when.Before(at) {
			t.Errorf("%q was handled %v before At", text, at.Sub(when))
		}
	}
	if b.got["replaced"]+b.got["taken back"] > 0 {
		t.Errorf("what was replaced or taken back was handled: %v", b.got)
	}
}

func TestPostEvery(t *testing.T) {
	t.Parallel()
	o := options(t)
	nodes := []*testNode{join(t, o), join(t, o)}
	failed := make(chan struct{}, 1)
	b, note, kinds := posting(t, nodes, func(_ *actor.Ctx, text string, times int) error {
		if text == "tick" && times == 1 {
			failed <- struct{}{}
			return errOurs
		}
		return nil
	})
	ctx, began := bounded(t), time.Now()
	if err := Post(ctx, kinds[0], "x", note, "missed", PostOptions{At: began.Add(-time.Hour), Every: time.Hour, Name: "missed"}); err != nil {
		t.Fatal(err)
	}
	if err := Post(ctx, kinds[0], "x", note, "tick", PostOptions{At: began, Every: time.Second, Name: "tick"}); err != nil {
		t.Fatal(err)
	}
	<-failed
	eventually(t, "it came twice more", func() bool { return b.count("tick") >= 3 })
	if took := time.Since(began); took < time.Second {
		t.Errorf("two in %v, every second", took)
	}
	if err := Post(ctx, kinds[1], "x", note, "tock", PostOptions{Every: time.Second, Name: "tick"}); err != nil {
		t.Fatal(err)
	}
	ticks := b.count("tick")
	eventually(t, "the one that replaced it came twice", func() bool { return b.count("tock") >= 2 })
	if n := b.count("tick"); n > ticks+1 { // one may have been on its way
		t.Errorf("what was replaced came %d times more", n-ticks)
	}
	if err := Unpost(ctx, kinds[1], "x", "tick"); err != nil {
		t.Fatal(err)
	}
	if n := b.count("missed"); n != 1 {
		t.Errorf("one that was missed came %d times", n)
	}
	s, _, err := kinds[0].n.postStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "only what is every hour is left", func() bool {
		i, err := s.Info(ctx, jetstream.WithSubjectFilter(">"))
		return err == nil && i.State.Msgs == 2 && i.State.Subjects[kinds[0].n.postSubject(postAt, (&posted{Kind: "inbox", Key: "x", Name: "missed"}).place())] == 1
	})
}

// A handler may take its own reminder back, or replace it.
func TestUnpostInHandler(t *testing.T) {
	t.Parallel()
	o := options(t)
	var kinds []*Kind[*inbox]
	b, note, kinds := posting(t, []*testNode{join(t, o)}, func(c *actor.Ctx, _ string, _ int) error {
		return Unpost(c, kinds[0], "x", "r")
	})
	if err := Post(bounded(t), kinds[0], "x", note, "r", PostOptions{At: time.Now(), Every: time.Second, Name: "r"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it came", func() bool { return b.count("r") == 1 })
	s, _, err := kinds[0].n.postStream(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing is left", func() bool {
		i, err := s.Info(bounded(t))
		return err == nil && i.State.Msgs == 0
	})
}

// Nodes that leave one after the other lose nothing.
func TestPostRolling(t *testing.T) {
	t.Parallel()
	o := options(t)
	nodes := []*testNode{join(t, o), join(t, o)}
	b, note, kinds := posting(t, nodes, nil)
	const posts = 200
	ctx := bounded(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range posts {
			if err := Post(ctx, kinds[1], fmt.Sprint(i%10), note, fmt.Sprint(i), PostOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	eventually(t, "some are handled", func() bool { return b.count("20") > 0 })
	if err := nodes[0].Leave(ctx); err != nil {
		t.Error(err)
	}
	wg.Wait()
	eventually(t, "all are handled", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.got) == posts
	})
}

func TestPostInvalid(t *testing.T) {
	t.Parallel()
	_, note, kinds := posting(t, []*testNode{join(t, options(t))}, nil)
	ctx := bounded(t)
	for _, o := range []PostOptions{{Every: time.Second}, {Every: time.Millisecond, Name: "n"}, {Every: -time.Second, Name: "n"}} {
		if err := Post(ctx, kinds[0], "x", note, "", o); !errors.Is(err, firq.ErrInvalidConfig) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := Unpost(ctx, kinds[0], "x", ""); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error(err)
	}
	other := actor.NewAction("Other", func(*inbox, *actor.Ctx, string) error { return nil })
	if err := Post(ctx, kinds[0], "x", other, "", PostOptions{}); !errors.Is(err, ErrUnknown) {
		t.Error("a method that the kind has not:", err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := Post(over, kinds[0], "x", note, "", PostOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestPostOld pretends a server that does not know schedules: it drops what it does not know of a stream.
func TestPostOld(t *testing.T) {
	t.Parallel()
	srv := must(embedded.Start(embedded.Options{}))(t)
	t.Cleanup(srv.Close)
	o := options(t)
	nc := must(srv.Connect())(t)
	defer nc.Close()
	js := must(jetstream.New(nc))(t)
	must(js.CreateStream(bounded(t), jetstream.StreamConfig{Name: "firqpost_" + o.Cluster, Subjects: []string{"firqpost." + o.Cluster + ".>"}}))(t)
	_, note, kinds := posting(t, []*testNode{joinAt(t, srv, o)}, nil)
	err := Post(bounded(t), kinds[0], "x", note, "", PostOptions{})
	if !errors.Is(err, ErrUnsupported) || !errors.Is(err, actor.ErrNotSent) {
		t.Error(err)
	}
}
