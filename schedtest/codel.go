package schedtest

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// CoDel per tenant (Config.TargetWait). The control law itself is tested in package drr,
// against RFC 8289; here it is whether a scheduler keeps its books and promises.
var codelChecks = []check{
	{name: "a standing queue is shortened", run: bubbled(codelStanding)},
	{name: "a burst loses nothing", run: bubbled(codelBurst)},
	{name: "a short queue that stands", run: bubbled(codelShort)},
	{name: "other tenants and priorities lose nothing", run: bubbled(codelOthers)},
	{name: "what is dropped is gone", run: bubbled(codelGone)},
	{name: "nothing is dropped after Shutdown", run: bubbled(codelShutdown)},
	{name: "off", run: bubbled(codelOff)},
	{name: "in batches", run: bubbled(codelBatches)},
}

// codelConfig turns CoDel on and appends the payloads that it drops to drops.
func codelConfig(drops *[]int) config {
	return config{
		Shards: 2, TargetWait: 5 * time.Millisecond,
		OnDrop: func(_ string, payload int, why firq.DropReason) {
			if why == firq.DropOverload {
				*drops = append(*drops, payload)
			}
		},
	}
}

// codelStanding has a consumer that takes half of what its producer enqueues, for ten
// seconds.
func codelStanding(t *testing.T, newSched maker) {
	var drops []int
	s := open(t, newSched, codelConfig(&drops))
	first := time.Duration(0)
	var worst time.Duration
	delivered := 0
	for i := range 10_000 { // one task a millisecond, and a delivery every other one
		admit(t, s, "a", task{Payload: i})
		time.Sleep(time.Millisecond)
		if i%2 == 1 || i%50 == 0 {
			it := take(t, s)
			delivered++
			if i > 8000 {
				worst = max(worst, it.Wait)
			}
		}
		if first == 0 && len(drops) > 0 {
			first = time.Duration(i) * time.Millisecond
		}
	}
	if first < 100*time.Millisecond || first > 250*time.Millisecond {
		t.Errorf("the first drop comes after %v", first)
	}
	// Half of the tasks are too many. CoDel drops ever faster, but takes seconds to drop that many.
	if len(drops) < 500 || worst > 4500*time.Millisecond {
		t.Errorf("%d of 10,000 dropped, waits of up to %v, and %d delivered", len(drops), worst, delivered)
	}
	st := s.Stats()
	if st.Overload != uint64(len(drops)) || st.Dequeued != uint64(delivered) || st.Expired != 0 || st.DroppedPolicy != 0 || st.Dropped != 0 {
		t.Errorf("%d told, %d delivered: %+v", len(drops), delivered, st)
	}
	balanced(t, st)
}

func codelBurst(t *testing.T, newSched maker) {
	var drops []int
	s := open(t, newSched, codelConfig(&drops))
	for range 20 {
		for i := range 80 {
			admit(t, s, "a", task{Payload: i})
		}
		for range 80 {
			time.Sleep(time.Millisecond)
			take(t, s)
		}
		time.Sleep(time.Millisecond)
	}
	for range 10 { // alone, however late
		_ = s.Enqueue("a", task{})
		time.Sleep(time.Second)
		take(t, s)
	}
	if len(drops) > 0 || s.Stats().Overload != 0 {
		t.Errorf("dropped %v", drops)
	}
}

// codelShort: four tasks that are never served in time are a standing queue like any
// other, also where a scheduler keeps short queues apart from long ones.
func codelShort(t *testing.T, newSched maker) {
	var drops []int
	cfg := codelConfig(&drops)
	cfg.Interval = 500 * time.Millisecond
	s := open(t, newSched, cfg)
	for i := range 100 {
		admit(t, s, "a", task{Payload: i})
		if i < 3 {
			continue
		}
		time.Sleep(50 * time.Millisecond)
		take(t, s)
		if len(drops) > 0 && i < 10 {
			t.Fatalf("dropped %v within an interval", drops)
		}
	}
	if len(drops) == 0 || len(drops) > 3 {
		t.Errorf("dropped %v of four that stood for seconds", drops)
	}
}

func codelOthers(t *testing.T, newSched maker) {
	var drops []int
	s := open(t, newSched, codelConfig(&drops))
	for i := range 3000 {
		admit(t, s, "noisy", task{Payload: i})
	}
	for i := range 500 {
		_ = s.Enqueue("quiet", task{Payload: 10_000 + i})
		_ = s.Enqueue("noisy", task{Payload: 20_000 + i, Priority: firq.PriorityHigh})
		time.Sleep(3 * time.Millisecond)
		for range 3 {
			take(t, s)
		}
	}
	for _, p := range drops {
		if p >= 10_000 {
			t.Fatalf("dropped %d, which did not stand in line: of a quiet tenant, or of another priority", p)
		}
	}
	if len(drops) == 0 {
		t.Error("nothing was dropped")
	}
}

// codelGone: a dropped task has given back its place and its ticket, can no longer be
// cancelled, and is not delivered.
func codelGone(t *testing.T, newSched maker) {
	const n = 500
	var drops []int
	cfg := codelConfig(&drops)
	cfg.MaxGlobal, cfg.MaxPerTenant = n, n
	s := open(t, newSched, cfg)
	tickets := make([]firq.Ticket, n)
	for i := range n {
		admit(t, s, "a", task{Payload: i, Ticket: &tickets[i]})
	}
	got := map[int]bool{}
	for len(drops) < 5 && len(got) < n-10 {
		time.Sleep(10 * time.Millisecond)
		it := take(t, s)
		got[it.Payload] = true
	}
	if len(drops) < 5 {
		t.Fatalf("%d of %d are dropped, though they wait for seconds", len(drops), n)
	}
	for _, p := range drops {
		if got[p] || tickets[p].Cancel() {
			t.Errorf("%d was dropped, and delivered (%t) or cancelled", p, got[p])
		}
	}
	room := len(drops) + len(got)
	if s.Len() != n-room {
		t.Errorf("Len is %d, with %d dropped and %d delivered of %d", s.Len(), len(drops), len(got), n)
	}
	for i := range room {
		if err := s.Enqueue("a", task{Payload: n + i, Ticket: &tickets[drops[0]]}); err != nil && i == 0 {
			t.Fatalf("a place of %d, with a dropped task's ticket: %v", room, err)
		} else if i > 0 {
			if err := s.Enqueue("a", task{Payload: n + i}); err != nil {
				t.Fatalf("place %d of %d: %v", i, room, err)
			}
		}
	}
	if err := s.Enqueue("a", task{}); err == nil {
		t.Error("there is more room than there was")
	}
}

func codelShutdown(t *testing.T, newSched maker) {
	var drops []int
	s := open(t, newSched, codelConfig(&drops))
	for i := range 600 {
		admit(t, s, "a", task{Payload: i})
	}
	for i := 0; len(drops) == 0; i++ {
		time.Sleep(10 * time.Millisecond)
		if s.TryDequeue(); i > 500 {
			t.Fatal("nothing is dropped")
		}
	}
	done := make(chan error)
	go func() { done <- s.Shutdown(context.Background()) }()
	synctest.Wait()
	had := len(drops)
	for s.Len() > 0 {
		time.Sleep(10 * time.Millisecond)
		take(t, s)
	}
	if err := <-done; err != nil || len(drops) != had {
		t.Errorf("%v; %d tasks were dropped while draining", err, len(drops)-had)
	}
}

func codelOff(t *testing.T, newSched maker) {
	var drops []int
	cfg := codelConfig(&drops)
	cfg.TargetWait, cfg.Interval = 0, time.Millisecond
	s := open(t, newSched, cfg)
	for i := range 500 {
		_ = s.Enqueue("a", task{Payload: i})
	}
	for i := range 500 {
		time.Sleep(10 * time.Millisecond)
		if it, ok := s.TryDequeue(); !ok || it.Payload != i {
			t.Fatalf("got %+v, %v", it, ok)
		}
	}
	if len(drops) > 0 {
		t.Errorf("dropped %v", drops)
	}
}

// codelBatches: the whole batch is dequeued at one instant, so CoDel drops at most a few
// tasks of it.
func codelBatches(t *testing.T, newSched maker) {
	var drops []int
	s := open(t, newSched, codelConfig(&drops))
	for i := range 5000 {
		admit(t, s, fmt.Sprint("t", i%3), task{Payload: i})
	}
	dst := make([]item, 40)
	delivered := 0
	for range 50 {
		time.Sleep(40 * time.Millisecond)
		n, err := s.DequeueBatch(t.Context(), dst)
		if err != nil || n != len(dst) {
			t.Fatal(n, err)
		}
		delivered += n
	}
	if len(drops) == 0 || len(drops) > 3*100 || delivered != 2000 {
		t.Errorf("%d delivered, %d dropped", delivered, len(drops))
	}
}
