package actor

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

type pupil struct {
	log  []string
	gate chan bool
}

func (n *pupil) say(_ *Ctx, s string) error {
	n.log = append(n.log, s)
	return nil
}

var (
	say   = NewAction("Say", (*pupil).say)
	shout = NewAction("Shout", (*pupil).say)
	stay  = NewAction("Hold", func(n *pupil, _ *Ctx, in chan bool) error { close(in); <-n.gate; return nil })
	told  = NewMethod("Told", func(n *pupil, _ *Ctx, _ int) ([]string, error) { return n.log, nil })
	huge  = NewAction("Huge", func(n *pupil, _ *Ctx, p [1 << 12]byte) error { return n.say(nil, string(p[:1])) })
	wide  = NewAction("Wide", func(n *pupil, _ *Ctx, p [100]byte) error { return n.say(nil, string(p[:1])) })
)

// holding makes an actor that handles a message until its gate is closed.
func holding(t *testing.T, s *System, opts ...Option) (Ref[*pupil], *pupil) {
	t.Helper()
	n := &pupil{gate: make(chan bool)}
	r := must(t, s, "", Value(n), opts...)
	in := make(chan bool)
	if err := stay.Tell(bg, r, in); err != nil {
		t.Fatal(err)
	}
	<-in
	return r, n
}

// places is how many places of the list an actor's mailbox takes.
func places(a *actor) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for e := a.mail.first; e != nil; e = e.next {
		n++
	}
	return n
}

// Tells of one method that wait one behind the other share a place, tells of other methods keep
// their own places, and all are handled in order.
func TestPacks(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{})
	r, n := holding(t, s)
	var want []string
	for i := range 200 {
		m := say
		if i >= 100 && i%10 == 0 {
			m = shout
		}
		want = append(want, fmt.Sprint(i))
		if err := m.Tell(bg, r, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range []byte("abcdefghij") {
		want = append(want, string(b))
		if err := wide.Tell(bg, r, [100]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if k := places(r.a); k > 60 {
		t.Errorf("210 messages take %d places", k)
	}
	if k := r.Len(); k != 210 {
		t.Errorf("%d messages wait", k)
	}
	for _, b := range []byte("klm") {
		want = append(want, string(b))
		if err := huge.Tell(bg, r, [1 << 12]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	close(n.gate)
	if got, err := told.Call(within(t), r, 0); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error(err, got)
	}
	if huge.bulk != 0 || wide.bulk != leastPack || say.bulk < leastPack || say.bulk > packed {
		t.Error(huge.bulk, wide.bulk, say.bulk)
	}
	s.Close()
	books(t, s)
}

// Where it matters when each message is taken there are no packs.
func TestNoPacks(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{})
	late := NewAction("Late", (*pupil).say, WithTimeout(time.Hour, Warn))
	read := NewAction("Read", func(*pupil, *Ctx, string) error { return nil }, ReadOnly())
	low := NewAction("Low", (*pupil).say, WithPriority(firq.PriorityLow))
	for name, c := range map[string]struct {
		m    *Method[*pupil, string, struct{}]
		opts []Option
	}{
		"timeout":  {late, nil},
		"readonly": {read, nil},
		"priority": {low, nil},
		"actor's":  {say, []Option{WithHandlerTimeout(time.Hour, Stop)}},
		"slow":     {say, []Option{WithSlowAfter(time.Hour, func(SlowHandler) {})}},
		"full":     {say, []Option{WithReentrancy(Full)}},
		"oldest":   {say, []Option{WithMailbox(Mailbox{Backpressure: firq.Backpressure{Policy: firq.DropOldest}})}},
	} {
		r, n := holding(t, s, c.opts...)
		for range 10 {
			if err := c.m.Tell(bg, r, ""); err != nil {
				t.Fatal(name, err)
			}
		}
		r.a.mu.Lock()
		k := 0
		r.a.each(func(l *list) bool {
			for e := l.first; e != nil; e = e.next {
				k++
			}
			return true
		})
		r.a.mu.Unlock()
		if k != 10 {
			t.Errorf("%s: 10 messages take %d places", name, k)
		}
		close(n.gate)
	}
}

// Each tell of a pack becomes a separate dead letter, in order, and an actor at rest keeps no
// pack.
func TestPackEnds(t *testing.T) {
	limit(t, 20e9)
	var mu sync.Mutex
	var dead []string
	s := newSys(t, Config{OnDeadLetter: func(d DeadLetter) {
		mu.Lock()
		dead = append(dead, fmt.Sprint(d.Method, d.Req))
		mu.Unlock()
	}})
	r, n := holding(t, s)
	want := []string{}
	for i := range 50 {
		_ = say.Tell(bg, r, fmt.Sprint(i))
		want = append(want, "Say"+fmt.Sprint(i))
	}
	r.Kill()
	close(n.gate)
	<-r.Done()
	mu.Lock()
	if fmt.Sprint(dead) != fmt.Sprint(want) {
		t.Error(dead)
	}
	mu.Unlock()
	s.Close()
	books(t, s)
}

// A pack whose rest was recalled is not used again as long as a worker may look at it: when its
// handler returns, the worker clears the request that it has claimed, and in a reused pack that
// would be the request of another message.
func TestTornPack(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{Slots: 1, Slice: time.Hour, Handoff: -1})
	for range 20 {
		in, end := make(chan bool), make(chan bool)
		cut := must(t, s, "", Value(&pupil{gate: make(chan bool)}))
		first := make(chan bool)
		_ = stay.Tell(bg, cut, first)
		<-first
		pause := NewAction("Pause", func(_ *pupil, _ *Ctx, p *int) error {
			if *p == 8 {
				close(in)
				<-end
			}
			return nil
		})
		for i := range 30 {
			_ = pause.Tell(bg, cut, &i)
		}
		cut.a.mu.Lock()
		gate := cut.a.state.(*pupil).gate
		cut.a.mu.Unlock()
		close(gate)
		<-in
		cut.Kill()
		other := must(t, s, "", Value(&pupil{}))
		for i := range 100 {
			_ = pause.Tell(bg, other, &[]int{100 + i}[0])
		}
		close(end)
		<-cut.Done()
		if err := other.Stop(within(t)); err != nil || other.Err() != nil {
			t.Fatal(err, other.Err()) // a nil request has made it panic
		}
	}
	s.Close()
	books(t, s)
}

// The clock is read after the first message of a turn unless all were short so far.
func TestFirstCheck(t *testing.T) {
	for _, c := range []struct {
		mean       int32
		throughput int
		want       int
	}{{0, 100, 1}, {1000, 100, 8}, {1000, 3, 3}, {4000, 100, 1}, {50_000, 100, 1}} {
		a := &actor{mean: c.mean, set: &settings{sys: &System{slice: 100_000}, throughput: c.throughput}}
		if got := a.firstCheck(); got != c.want {
			t.Errorf("mean %d, throughput %d: %d", c.mean, c.throughput, got)
		}
	}
}

// A tell that would join a pack is refused like any other message: by an actor that ends, and
// from outside while the System ends.
func TestJoinIsRefused(t *testing.T) {
	limit(t, 20e9)
	for name, end := range map[string]func(*System, Ref[*pupil]){
		"stop": func(_ *System, r Ref[*pupil]) { r.a.mu.Lock(); r.a.draining = true; r.a.mu.Unlock() },
		"shut": func(s *System, _ Ref[*pupil]) { s.shutting.Store(true) },
	} {
		s := newSys(t, Config{})
		r, n := holding(t, s)
		for range 5 {
			_ = say.Tell(bg, r, "x")
		}
		end(s, r)
		if err := say.Tell(bg, r, "y"); !errors.Is(err, ErrStopped) || r.Len() != 5 {
			t.Errorf("%s: %v, %d wait", name, err, r.Len())
		}
		close(n.gate)
		if err := r.Stop(within(t)); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if st := s.Stats(); st.Refused != 1 || st.Handled != 6 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}
