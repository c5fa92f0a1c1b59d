package actor

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/firq-go/firq"
)

// held makes an actor with tells 0 to n-1 and returns while the actor handles number at, which
// is in a batch; free lets it go on. Each tell adds its number plus the n of its box to the list
// that order returns.
func held(t *testing.T, s *System, p Parent, at, n int, within job, opts ...Option) (r Ref[*box], order func() string, free func()) {
	t.Helper()
	r = must(t, p, "", fresh, opts...)
	var mu sync.Mutex
	var got []int
	gate, in, end := make(chan bool), make(chan bool), make(chan bool)
	_ = do.Tell(bg, r, func(*box, *Ctx) (any, error) { <-gate; return nil, nil })
	for i := range n {
		if err := do.Tell(bg, r, func(b *box, c *Ctx) (any, error) {
			mu.Lock()
			got = append(got, i+b.n)
			mu.Unlock()
			if i != at {
				return nil, nil
			}
			close(in)
			<-end
			if within == nil {
				return nil, nil
			}
			return within(b, c)
		}); err != nil {
			t.Fatal(err)
		}
	}
	close(gate)
	<-in
	r.a.mu.Lock()
	if b := r.a.batch; b == nil || b.n < 2 || int(b.begun.Load()) == b.n {
		t.Error("there is no batch, or nothing left of it")
	}
	r.a.mu.Unlock()
	order = func() string { mu.Lock(); defer mu.Unlock(); return fmt.Sprint(got) }
	return r, order, sync.OnceFunc(func() { close(end) })
}

func numbers(from, to int) (all []int) {
	for ; from < to; from++ {
		all = append(all, from)
	}
	return all
}

// Messages that a worker has taken and not begun count as waiting: in Len, in Stats, for the limit.
func TestBatchCounts(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{Slice: time.Hour, Handoff: -1})
	r, order, free := held(t, s, s, 8, 20, nil, WithMailbox(Mailbox{Limit: 30}))
	defer free()
	if st := s.Stats(); r.Len() != 11 || st.Waiting != 11 || st.Handled != 10 || st.Accepted != 21 {
		t.Errorf("%d wait: %+v", r.Len(), st)
	}
	n := 0
	for ; do.Tell(bg, r, inc) == nil; n++ {
	}
	if n != 19 || r.Len() != 30 {
		t.Errorf("%d went in, %d wait", n, r.Len())
	}
	free()
	if err := r.Stop(within(t)); err != nil || order() != fmt.Sprint(numbers(0, 20)) {
		t.Error(err, order())
	}
	books(t, s)
}

// Everything that has to come before the rest of a batch does, and nothing of the rest is lost.
func TestBatchIsRecalled(t *testing.T) {
	limit(t, 20e9)
	after := func(at int, what string) string { return fmt.Sprint(numbers(0, at+1)) + what }
	t.Run("priority", func(t *testing.T) {
		urgent := NewMethod("Urgent", run, WithPriority(firq.PriorityCritical))
		s := newSys(t, Config{Slice: time.Hour, Handoff: -1})
		r, order, free := held(t, s, s, 8, 20, nil)
		seen := make(chan string, 1)
		_ = urgent.Tell(bg, r, func(*box, *Ctx) (any, error) { seen <- order(); return nil, nil })
		free()
		if got := <-seen; got != after(8, "") {
			t.Error(got)
		}
		if err := r.Stop(within(t)); err != nil || order() != fmt.Sprint(numbers(0, 20)) {
			t.Error(err, order())
		}
		books(t, s)
	})
	for name, end := range map[string]func(*System, Ref[*box]){
		"kill":  func(_ *System, r Ref[*box]) { r.Kill() },
		"close": func(s *System, _ Ref[*box]) { _ = s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var dead atomic.Int32
			s := newSys(t, Config{Slice: time.Hour, Handoff: -1, OnDeadLetter: func(DeadLetter) { dead.Add(1) }})
			r, order, free := held(t, s, s, 8, 20, nil)
			end(s, r)
			free()
			<-r.Done()
			if dead.Load() != 11 || order() != after(8, "") {
				t.Error(dead.Load(), order())
			}
			books(t, s)
		})
	}
	for name, within := range map[string]job{
		"stop":   func(_ *box, c *Ctx) (any, error) { c.Stop(nil); return nil, nil },
		"panic":  boom,
		"goexit": func(*box, *Ctx) (any, error) { runtime.Goexit(); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSys(t, Config{Slice: time.Hour, Handoff: -1})
			r, order, free := held(t, s, s, 8, 20, within)
			free()
			<-r.Done()
			if st := s.Stats(); st.DeadLetters != 11 || order() != after(8, "") {
				t.Errorf("%+v %v", st, order())
			}
			books(t, s)
		})
	}
}

// The next incarnation finds the rest in order; so does a handler that comes back from a call.
func TestBatchGoesOn(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{Slice: time.Hour, Handoff: -1})
	sup, err := Supervise(s, "sup", Supervision{})
	if err != nil {
		t.Fatal(err)
	}
	other := box0(t, s, "other")
	for name, within := range map[string]job{
		"restart": func(b *box, _ *Ctx) (any, error) { b.n = 1000; panic("the next one has its own n") },
		"call":    func(_ *box, c *Ctx) (any, error) { return do.Call(c, other, get) },
		"await":   func(_ *box, c *Ctx) (any, error) { return nil, c.Await(func() error { runtime.Gosched(); return nil }) },
		"start":   func(_ *box, c *Ctx) (any, error) { return do.Start(c, other, get), nil },
	} {
		r, order, free := held(t, s, sup, 8, 20, within)
		free()
		if err := r.Stop(t.Context()); err != nil || order() != fmt.Sprint(numbers(0, 20)) {
			t.Error(name, err, order())
		}
	}
	if st := s.Stats(); st.Restarts != 1 {
		t.Errorf("%+v", st)
	}
	books(t, s)
}

// A message that is put aside and taken back in a batch comes before the rest of the batch.
func TestBatchAndStash(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{Slice: time.Hour, Handoff: -1})
	r := box0(t, s, "")
	free := block(t, r)
	for i := range 20 {
		aside := i == 8
		_ = do.Tell(bg, r, func(b *box, c *Ctx) (any, error) {
			if aside {
				aside = false
				c.Stash()
				return nil, nil
			}
			if i == 9 {
				c.Unstash()
			}
			b.log = append(b.log, fmt.Sprint(i))
			return nil, nil
		})
	}
	free()
	want := append(append(numbers(0, 8), 9, 8), numbers(10, 20)...)
	if got := fmt.Sprint(logOf(t, r)); got != fmt.Sprint(want) {
		t.Error(got)
	}
	s.Close()
	books(t, s)
}

// A Ctx that a tell has leaked is stale once the rest of its batch was recalled: no other
// handler gets it, because the actor has no last words.
func TestBatchEndsItsCtx(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{Slice: time.Hour, Handoff: -1})
	gate, in, end := make(chan bool), make(chan bool), make(chan bool)
	var leaked *Ctx
	var began atomic.Int32
	leak := NewAction("Leak", func(_ int, c *Ctx, i int) error {
		began.Add(1)
		switch i {
		case 0:
			<-gate
		case 8:
			leaked = c
			close(in)
			<-end
		}
		return nil
	})
	r := must(t, s, "", Value(0))
	for i := range 20 {
		_ = leak.Tell(bg, r, i)
	}
	close(gate)
	<-in
	r.Kill()
	close(end)
	<-r.Done()
	if err := leaked.Err(); !errors.Is(err, ErrStale) || began.Load() != 9 {
		t.Error(err, began.Load())
	}
}

// Nothing keeps the requests of handled messages.
func TestBatchLeavesNothing(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{Slice: time.Hour, Handoff: -1})
	keep := NewAction("Keep", func(*box, *Ctx, *[1 << 10]byte) error { return nil })
	r := box0(t, s, "")
	free := block(t, r)
	var refs []weak.Pointer[[1 << 10]byte]
	for range 50 {
		p := new([1 << 10]byte)
		refs = append(refs, weak.Make(p))
		_ = keep.Tell(bg, r, p)
	}
	free()
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if i := slices.IndexFunc(refs, func(p weak.Pointer[[1 << 10]byte]) bool { return p.Value() != nil }); i >= 0 {
		t.Errorf("something keeps message %d", i)
	}
}

// Concurrent senders, panics, urgent messages and slots that are lost: the messages of a
// sender stay in order, the limit holds at any instant, and nothing gets lost.
func TestBatchStress(t *testing.T) {
	limit(t, 60e9)
	const senders, each, most = 4, 4000, 64
	type state struct{}
	for _, cfg := range []Config{{}, {Slots: 1}, {Slots: 3, Handoff: 100 * time.Microsecond}, {Slots: 16, Handoff: 100 * time.Microsecond}} {
		s := newSys(t, cfg)
		sup, err := Supervise(s, "sup", Supervision{MaxRestarts: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		var in, wrong atomic.Int32
		var next [senders]int // of all incarnations
		type msg struct{ from, n int }
		count := NewAction("Count", func(_ *state, c *Ctx, m msg) error {
			if in.Add(1) != 1 || next[m.from] != m.n {
				wrong.Add(1)
			}
			next[m.from]++
			if m.n%97 == 3 {
				for start := time.Now(); time.Since(start) < 200*time.Microsecond; {
				}
			}
			in.Add(-1)
			if m.n%501 == 7 {
				panic("boom")
			}
			return nil
		})
		urgent := NewAction("Urgent", func(*state, *Ctx, int) error { return nil }, WithPriority(firq.PriorityHigh))
		r := must(t, sup, "", func(*Ctx) (*state, error) { return &state{}, nil }, WithMailbox(Mailbox{Limit: most}))
		var wg sync.WaitGroup
		for from := range senders {
			wg.Go(func() {
				for n := range each {
					for count.Tell(bg, r, msg{from, n}) != nil {
						runtime.Gosched()
					}
					if n%64 == 0 {
						_ = urgent.Tell(bg, r, n)
					}
					if n := r.Len(); n > most {
						t.Errorf("%d wait", n)
					}
				}
			})
		}
		wg.Wait()
		if err := r.Stop(within(t)); err != nil {
			t.Fatal(err)
		}
		if wrong.Load() > 0 || next != [senders]int{each, each, each, each} {
			t.Error(wrong.Load(), next)
		}
		books(t, s)
		s.Close()
	}
}
