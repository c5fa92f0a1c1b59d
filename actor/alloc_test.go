package actor

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/firq-go/firq/internal/proof/race"
)

// The operations that promise to allocate nothing: tells, calls inline and through the mailbox,
// calls by handlers, refusals.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("under the race detector pools drop things at random")
	}
	limit(t, 60e9)
	s := newSys(t, Config{})
	var relay *Method[*counter, int, int]
	r := must(t, s, "", Value(&counter{}))
	q := must(t, s, "", Value(&counter{}), WithReentrancy(CallChain)) // never inline
	full := must(t, s, "", Value(&counter{}), WithMailbox(Mailbox{Limit: 1}))
	gate := make(chan bool)
	hold := NewAction("hold", func(*counter, *Ctx, int) error { <-gate; return nil })
	_ = hold.Tell(context.Background(), full, 0)
	for full.Len() > 0 {
		runtime.Gosched()
	}
	_ = add.Tell(context.Background(), full, 1)
	relay = NewMethod("relay", func(_ *counter, c *Ctx, n int) (int, error) {
		if _, err := add.Call(c, q, n); err != nil {
			return 0, err
		}
		return add.Call(c, must2, n)
	})
	must2 = must(t, s, "", Value(&counter{}))
	ctx := context.Background()
	bounded := within(t)
	timed := func(mode TimeoutMode, opts ...Option) func() {
		r := must(t, s, "", Value(&counter{}), append(opts, WithHandlerTimeout(time.Hour, mode))...)
		return func() { _ = add.Tell(ctx, r, 1); _, _ = add.Call(bounded, r, 1) }
	}
	for name, f := range map[string]func(){
		"Warn":            timed(Warn, WithSlowAfter(time.Hour, func(SlowHandler) {})),
		"Cancel":          timed(Cancel),
		"Stop":            timed(Stop),
		"call inline":     func() { _, _ = add.Call(ctx, r, 1) },
		"call by mailbox": func() { _, _ = add.Call(bounded, r, 1) },
		"tell":            func() { _ = add.Tell(ctx, r, 1); _, _ = add.Call(bounded, r, 1) },
		"relay":           func() { _, _ = relay.Call(ctx, r, 1) },
		"refused":         func() { _ = add.Tell(ctx, full, 1) },
	} {
		if n := testing.AllocsPerRun(3000, f); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	close(gate)
}

var must2 Ref[*counter]

// An idle actor without its state costs at most 256 bytes, and no goroutine, also if it has a
// supervisor. Done is a channel more, of 112 bytes.
func TestMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector's memory is not the actors'")
	}
	limit(t, 120e9)
	n := 100_000
	if v, err := strconv.Atoi(os.Getenv("FIRQ_ACTORS")); err == nil {
		n = v
	}
	for name, c := range map[string]struct {
		supervised, done bool
		most             float64
	}{"alone": {false, false, 256}, "supervised": {true, false, 256}, "Done": {true, true, 256 + 112}} {
		s := newSys(t, Config{})
		var p Parent = s
		if c.supervised {
			p = sup(t, s, "", Supervision{})
		}
		st := &counter{}
		start := func(*Ctx) (*counter, error) { return st, nil }
		goroutines, before := runtime.NumGoroutine(), heap()
		for range n {
			r, err := Spawn(p, "", start)
			if err != nil {
				t.Fatal(err)
			}
			_ = add.Tell(context.Background(), r, 1)
			if c.done {
				r.Done()
			}
		}
		for s.pool.q.Any() {
			runtime.Gosched()
		}
		each := float64(heap()-before) / float64(n)
		t.Logf("%s: %d actors, %.0f bytes each", name, n, each)
		if each > c.most {
			t.Errorf("%s: %.0f bytes for an idle actor, want at most %v", name, each, c.most)
		}
		if g := runtime.NumGoroutine(); g > goroutines+10 {
			t.Errorf("%s: %d goroutines", name, g)
		}
		if s.Stats().Actors != n {
			t.Error(s.Stats())
		}
		s.Close()
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
