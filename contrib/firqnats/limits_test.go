package firqnats

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
)

func TestInvalid(t *testing.T) {
	a := join(t, options(t))
	ctx := bounded(t)
	for field, o := range map[string]Options{
		"Cluster": {Cluster: "a b"}, "Lease": {Lease: -1}, "Timeout": {Timeout: -1}, "Window": {Window: -1}, "Place": {Place: 9},
		"Rebalance": {Rebalance: 2}, "Replicas": {Replicas: -1},
	} {
		if _, err := Join(ctx, a.nc, a.sys, o); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := Join(ctx, nil, a.sys, Options{}); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error("no connection:", err)
	}
	if _, err := Join(ctx, a.nc, a.sys, options(t)); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error("a System twice:", err)
	}
	start := func(*actor.Ctx, string) (*tally, error) { return &tally{}, nil }
	for _, name := range []string{"", "a/b", "a.b", strings.Repeat("x", 65)} {
		if _, err := NewKind(a.Node, name, start, methods); !errors.Is(err, firq.ErrInvalidConfig) {
			t.Errorf("the kind %q: %v", name, err)
		}
	}
	if _, err := NewKind(a.Node, "k", start, []actor.AnyMethod[*tally]{add, add}); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error("a method twice:", err)
	}
	if _, err := NewKind(a.Node, "k", start, []actor.AnyMethod[*tally]{nil}); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error("a nil method:", err)
	}
	if _, err := NewKind(a.Node, "k", start, methods, actor.WithIdle(-1)); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error("a bad option:", err)
	}
	kind(t, a)
	if _, err := NewKind(a.Node, "tally", start, methods); !errors.Is(err, actor.ErrNameTaken) {
		t.Error("a kind twice:", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("RegisterError takes a code twice")
		}
	}()
	RegisterError("test.ours", errors.New("other"))
}

type gobCodec struct{}

func (gobCodec) Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}
func (gobCodec) Decode(d []byte, v any) error { return gob.NewDecoder(bytes.NewReader(d)).Decode(v) }

func TestMismatch(t *testing.T) {
	o := options(t)
	join(t, o)
	srv := shared(t)
	nc := must(srv.Connect())(t)
	defer nc.Close()
	sys := must(actor.New(actor.Config{}))(t)
	defer func() { _ = sys.Close() }()
	for what, change := range map[string]func(*Options){
		"Lease": func(o *Options) { o.Lease *= 2 }, "Codec": func(o *Options) { o.Codec = gobCodec{} },
	} {
		o := o
		change(&o)
		if _, err := Join(bounded(t), nc, sys, o); !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", what, err)
		}
	}
	n, err := Join(bounded(t), nc, sys, o) // the System is free again
	if err != nil {
		t.Fatal(err)
	}
	_ = n.Leave(bounded(t))
}

func TestCodec(t *testing.T) {
	o := options(t)
	o.Codec = gobCodec{}
	a := join(t, o)
	kind(t, a)
	k := client(t, o)
	if got, err := keep.Call(bounded(t), k.Ref("x"), 3); got != 3 || err != nil {
		t.Error(got, err)
	}
}

func TestRecordedFrames(t *testing.T) {
	q := &request{op: opTell, no: 7, sure: true, left: time.Second, key: "x", method: "Add", from: "N", kind: "k",
		chain: chain{{"N", 9, []string{"k/a", "k/b"}}}, headers: map[string]string{"traceparent": "00"}, data: []byte("5")}
	cancel := &request{op: opCancel, no: 8}
	b := append([]byte{frameVersion}, appendString(nil, "N")...)
	b = cancel.append(q.append(b))
	const want = "01014e0307809" + "4ebdc03017803416464" + "01014e0902036b2f61036b2f62" + "010b7472616365706172656e74023030" + "0135" + "0408"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("requests are\n%s, and were\n%s", got, want)
	}
	r, err := frame(must(hex.DecodeString(want))(t))
	if err != nil {
		t.Fatal(err)
	}
	from := r.string()
	got := readRequest(r)
	got.from, got.kind = from, "k"
	if !reflect.DeepEqual(got, q) {
		t.Errorf("%+v, want %+v", got, q)
	}
	if c := readRequest(r); c.op != opCancel || c.no != 8 || r.bad || r.more() {
		t.Errorf("%+v, %v", c, r)
	}
	answers := append([]byte{frameVersion}, (&answer{7, statusMoved, []byte("M")}).append(nil)...)
	const wantAnswers = "010702014d"
	if got := hex.EncodeToString(answers); got != wantAnswers {
		t.Errorf("answers are %s, and were %s", got, wantAnswers)
	}
	r, _ = frame(must(hex.DecodeString(wantAnswers))(t))
	if a := readAnswer(r); a.no != 7 || a.status != statusMoved || string(a.data) != "M" || r.more() || r.bad {
		t.Errorf("%+v", a)
	}
	for n := range len(b) { // cut anywhere, it is noticed
		r, err := frame(b[:n])
		if err != nil {
			continue
		}
		for _ = r.string(); r.more(); {
			readRequest(r)
		}
	}
}

// What is no frame is dropped, and heard of.
func TestUnknownFrames(t *testing.T) {
	o := options(t)
	a := join(t, o)
	kind(t, a)
	for _, d := range [][]byte{nil, {2, 1, 'N'}, {1}, {1, 200}, {1, 1, 'N', 0xff}, {1, 1, 'N', 99, 1}, bytes.Repeat([]byte{0xff}, 100)} {
		for _, s := range []string{a.subject(a.ID(), partRequests, "tally"), a.subject(a.addr, partAnswers), a.subject(a.addr, partNobody, "x"), a.subject(subjectBeats)} {
			if err := a.nc.Publish(s, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := add.Call(bounded(t), client(t, o).Ref("x"), 1); got != 1 || err != nil {
		t.Error(got, err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	o := options(t)
	a := join(t, o)
	type text struct{ st *State[string] }
	save := actor.NewMethod("Save", func(s *text, c *actor.Ctx, size int) (int, error) {
		s.st.Value = strings.Repeat("x", size)
		return size, s.st.Save(c)
	})
	long := actor.NewMethod("Long", func(_ *text, _ *actor.Ctx, size int) (string, error) { return strings.Repeat("x", size), nil })
	take := actor.NewMethod("Take", func(_ *text, _ *actor.Ctx, s string) (int, error) { return len(s), nil })
	all := []actor.AnyMethod[*text]{save, long, take}
	must(NewKind(a.Node, "text", func(c *actor.Ctx, _ string) (*text, error) {
		st, err := Load[string](c)
		return &text{st}, err
	}, all))(t)
	o.Client = true
	k := must(NewKind[*text](join(t, o).Node, "text", nil, nil))(t)
	ctx := bounded(t)
	most := int(a.nc.MaxPayload())
	must(save.Call(ctx, k.Ref("x"), 3))(t)
	if _, err := save.Call(ctx, k.Ref("x"), most); err == nil {
		t.Error("a state above the limit was saved")
	}
	if got, err := save.Call(ctx, k.Ref("x"), 4); got != 4 || err != nil {
		t.Error("after a state above the limit:", err)
	}
	if s := a.Stats(); s.Activated != 1 {
		t.Errorf("it has ended: %+v", s)
	}
	if _, err := long.Call(ctx, k.Ref("x"), most); err == nil {
		t.Error("a reply above the limit")
	}
	if _, err := take.Call(ctx, k.Ref("x"), strings.Repeat("x", most)); !errors.Is(err, nats.ErrMaxPayload) || !errors.Is(err, actor.ErrNotSent) {
		t.Error("a request above the limit:", err)
	}
	var wg sync.WaitGroup
	for range 8 { // large ones do not become a frame that is too large
		wg.Go(func() {
			if n, err := take.Call(ctx, k.Ref("x"), strings.Repeat("x", most*3/4)); n != most*3/4 || err != nil {
				t.Error(n, err)
			}
		})
	}
	wg.Wait()
}

func TestLoadElsewhere(t *testing.T) {
	a := join(t, options(t))
	k := kind(t, a)
	load := program(t, "load", func(_ *tally, c *actor.Ctx) (string, error) { _, err := Load[int](c); return "", err })
	if _, err := run.Call(bounded(t), k.Ref("x"), load); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error("in a handler:", err)
	}
	if _, err := actor.Spawn(a.sys, "other", func(c *actor.Ctx) (*State[int], error) { return Load[int](c) }); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error("in another actor's start:", err)
	}
}

// memory is a Store.
type memory struct {
	mu     sync.Mutex
	states map[actor.Identity][]byte
	fences map[actor.Identity]uint64
}

func (m *memory) Load(_ context.Context, id actor.Identity, fence uint64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if fence < m.fences[id] {
		return nil, ErrFenced
	}
	m.fences[id] = fence
	return m.states[id], nil
}

func (m *memory) Save(_ context.Context, id actor.Identity, fence uint64, state []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if fence < m.fences[id] {
		return ErrFenced
	}
	m.fences[id], m.states[id] = fence, state
	return nil
}

func TestStore(t *testing.T) {
	o := options(t)
	m := &memory{states: map[actor.Identity][]byte{}, fences: map[actor.Identity]uint64{}}
	o.Store = m
	a := join(t, o)
	kind(t, a)
	k := client(t, o)
	ctx := bounded(t)
	id := actor.Identity{Kind: "tally", Key: "x"}
	must(keep.Call(ctx, k.Ref("x"), 5))(t)
	must(end.Call(ctx, k.Ref("x"), actor.Nothing{}))(t)
	if got := must(keep.Call(ctx, k.Ref("x"), 1))(t); got != 6 || string(m.states[id]) != "6" {
		t.Errorf("%d, %q", got, m.states[id])
	}
	m.mu.Lock()
	m.fences[id]++
	m.mu.Unlock()
	if _, err := keep.Call(ctx, k.Ref("x"), 1); !errors.Is(err, ErrFenced) {
		t.Error("a save with an old fence:", err)
	}
	must(clearM.Call(ctx, k.Ref("x"), actor.Nothing{}))(t)
	if m.states[id] != nil {
		t.Errorf("after Clear: %q", m.states[id])
	}
}

// OnLost hears of tells that were refused, and of those that were not confirmed.
func TestOnLost(t *testing.T) {
	o := options(t)
	a := join(t, o)
	kind(t, a)
	lost := make(chan error, 10)
	o.OnLost = func(id actor.Identity, method string, err error) {
		lost <- fmt.Errorf("%v %s: %w", id, method, err)
		panic("is logged")
	}
	k := client(t, o)
	ctx := bounded(t)
	missing := actor.NewAction("Missing", func(*tally, *actor.Ctx, int) error { return nil })
	if err := missing.Tell(ctx, k.Ref("x"), 1); err != nil {
		t.Fatal(err)
	}
	if err := <-lost; !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "tally/x Missing") {
		t.Error(err)
	}
	if _, err := add.Call(ctx, k.Ref("x"), 1); err != nil {
		t.Error(err)
	}
	if s := k.n.Stats(); s.Lost != 1 {
		t.Errorf("%+v", s)
	}
}

type traceKey struct{}

func TestTraces(t *testing.T) {
	o := options(t)
	o.Inject = func(ctx context.Context, h map[string]string) map[string]string {
		if s, ok := ctx.Value(traceKey{}).(string); ok {
			h = map[string]string{"traceparent": s}
		}
		return h
	}
	o.Extract = func(ctx context.Context, h map[string]string) context.Context {
		return context.WithValue(ctx, traceKey{}, h["traceparent"])
	}
	a := join(t, o)
	kind(t, a)
	k := client(t, o)
	told := make(chan string, 1)
	get := program(t, "get", func(_ *tally, c *actor.Ctx) (string, error) {
		s, _ := c.Value(traceKey{}).(string)
		select {
		case told <- s:
		default:
		}
		return s, nil
	})
	ctx := context.WithValue(bounded(t), traceKey{}, "00-1")
	if got := must(run.Call(ctx, k.Ref("x"), get))(t); got != "00-1" {
		t.Errorf("a call: %q", got)
	}
	<-told
	if err := run.Tell(ctx, k.Ref("x"), get); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got != "00-1" {
		t.Errorf("a tell: %q", got)
	}
}

// A caller that leaves cancels the handler, and one that has not begun never does.
func TestCallerLeaves(t *testing.T) {
	o := options(t)
	a := join(t, o)
	kind(t, a)
	k := client(t, o)
	begun, over := make(chan struct{}), make(chan error, 1)
	wait := program(t, "wait", func(_ *tally, c *actor.Ctx) (string, error) {
		close(begun)
		<-c.Done()
		over <- c.Err()
		return "", nil
	})
	ctx, leave := context.WithCancel(bounded(t))
	f := run.Start(ctx, k.Ref("x"), wait)
	<-begun
	second, leaveSecond := context.WithCancel(bounded(t))
	g := add.Start(second, k.Ref("x"), 100)
	ref, _ := actor.Lookup[*tally](a.sys, "tally/x")
	eventually(t, "the second call waits", func() bool { return ref.Len() == 1 })
	leaveSecond()
	if _, err := g.Wait(bounded(t)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	eventually(t, "the second call waits no longer", func() bool { return ref.Len() == 0 })
	leave()
	if _, err := f.Wait(bounded(t)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Error("the handler's ctx:", err)
	}
	if got := must(add.Call(bounded(t), k.Ref("x"), 1))(t); got != 1 {
		t.Errorf("the call that had left was handled: %d", got)
	}
	deadline := program(t, "deadline", func(_ *tally, c *actor.Ctx) (string, error) {
		d, ok := c.Deadline()
		return fmt.Sprint(ok && time.Until(d) > 0 && time.Until(d) < patience), nil
	})
	if got := must(run.Call(bounded(t), k.Ref("x"), deadline))(t); got != "true" {
		t.Error("no deadline")
	}
	eventually(t, "nothing is left", func() bool { return a.runs.len() == 0 })
}

// Without a node for it a call ends with its ctx, and was not sent.
func TestNoNode(t *testing.T) {
	k := client(t, options(t))
	ctx, cancel := context.WithTimeout(bounded(t), 50*time.Millisecond)
	defer cancel()
	if _, err := add.Call(ctx, k.Ref("x"), 1); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, actor.ErrNotSent) || !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Name = "one"
	a := join(t, o)
	o.Name = "two"
	b := join(t, o)
	kind(t, a)
	kind(t, b)
	see(t, a, b)
	k := client(t, o)
	ctx := bounded(t)
	for i := range 30 {
		must(add.Call(ctx, k.Ref(fmt.Sprint(i)), 1))(t)
	}
	if m := a.Members(); len(m) != 3 || m[0].Name != "one" || !m[0].Self || m[1].Self || len(m[0].Kinds) != 1 || m[0].Activations != a.Stats().Activations {
		t.Errorf("%+v", m)
	}
	seen := map[string]int{}
	for i, err := range b.Actors(ctx, "tally") {
		if err != nil {
			t.Fatal(err)
		}
		seen[i.Node]++
	}
	if seen[a.ID()]+seen[b.ID()] != 30 || seen[a.ID()] != a.Stats().Activations {
		t.Errorf("%v", seen)
	}
}
