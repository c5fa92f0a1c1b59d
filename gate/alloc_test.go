//go:build !race

package gate

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Nothing is allocated in the steady state (not with -race, where a sync.Pool
// forgets things on purpose).
func TestAllocations(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	check := func(name string, want float64, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(1000, f); n > want {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	once := func(g *Gate[string]) func() {
		return func() {
			p, err := g.Acquire(ctx, "a", Request{})
			if err != nil {
				t.Fatal(err)
			}
			p.Charge(1)
			p.Release()
		}
	}
	check("at once", 0, once(New[string](1, Config[string]{})))
	check("through the queue", 0, once(New[string](1, Config[string]{MaxInFlightPerTenant: 1})))

	// Two that hand one slot to and fro: each sleeps until the other releases.
	g := New[string](1, Config[string]{MaxQueueAge: time.Hour})
	ball, stop := make(chan Permit[string]), make(chan bool)
	go func() {
		for {
			select {
			case p := <-ball:
				for g.Waiting() == 0 {
					runtime.Gosched() // AllocsPerRun leaves one processor for both
				}
				p.Release()
			case <-stop:
				return
			}
		}
	}()
	p, _ := g.Acquire(ctx, "a", Request{})
	check("waiting", 0, func() {
		ball <- p
		var err error
		if p, err = g.Acquire(ctx, "b", Request{}); err != nil || p.Waited() == 0 {
			t.Fatalf("%v, waited %v", err, p.Waited())
		}
	})
	close(stop)

	full := New[string](1, Config[string]{MaxGlobal: 1})
	out := must(t, full, "a")
	if v, _ := full.decide(1); v != announced {
		t.Fatal("two permits")
	}
	if _, err := full.enqueue("a", &Request{Weight: 1, Cost: 1}); err != nil {
		t.Fatal(err)
	}
	check("refused", 0, func() {
		if _, err := full.Acquire(ctx, "b", Request{}); err != firq.ErrGlobalFull {
			t.Fatal(err)
		}
	})
	out.Release()
}
