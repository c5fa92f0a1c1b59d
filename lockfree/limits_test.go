package lockfree

import (
	"runtime"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// holds is what the tenant holds, not the difference of two limits, while its limit
// changes.
func TestHoldsWhileLimitChanges(t *testing.T) {
	s := build(t, config{MaxPerTenant: 5})
	h := s.Tenant("a")
	for range 3 {
		if err := h.Enqueue(firq.Task[int]{}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.lookUp("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	// In the middle of a change: room is of the new limit already.
	word := a.limit.word.Load()
	a.limit.word.Store(word + limitTimes)
	a.word.Add(1000 * roomUnit)
	asked := make(chan int, 1)
	go func() { asked <- a.holds() }()
	for i := 0; i < 20_000 && len(asked) == 0; i++ {
		runtime.Gosched()
	}
	a.word.Add(^uint64(1000*roomUnit - 1))
	a.limit.word.Store(word + 2*limitTimes)
	if n := <-asked; n != 3 {
		t.Errorf("holds %d tasks in the middle of a change, want 3", n)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for n := range 20_000 {
			s.SetLimit("a", 1+n%2*1000)
		}
	}()
	for running := true; running; {
		select {
		case <-over:
			running = false
		default:
		}
		if n := a.holds(); n != 3 {
			t.Errorf("holds %d tasks, want 3", n)
			running = false
		}
	}
	<-over
	if err := atRest(s); err != nil {
		t.Error(err)
	}
}

// A handle finds its tenant once, as long as it is not forgotten.
func TestHandleLooksUpOnce(t *testing.T) {
	s := build(t, config{TenantIdle: time.Nanosecond})
	h := s.Tenant("a").(*handle[string, int])
	enqueue := func() {
		t.Helper()
		if err := h.Enqueue(firq.Task[int]{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		enqueue() // makes the tenant known
		enqueue() // finds it
		a, _ := s.tenants.Load("a")
		if a == nil || h.at.Load() != a {
			t.Fatal("the handle does not know its tenant")
		}
		for _, ok := s.TryDequeue(); ok; _, ok = s.TryDequeue() {
			continue
		}
		s.TryDequeue()
		time.Sleep(time.Microsecond) // a clock may be coarse
		s.Stats()
		if a.word.Load()&deadBit == 0 {
			t.Fatal("the tenant is not forgotten")
		}
	}
}

// A tenant with its limit far below what it holds: everything that gives back a place
// pays that first.
func TestRoomBelowNothing(t *testing.T) {
	s := build(t, config{MaxPerTenant: firq.MaxTasks})
	for range 40 {
		if err := s.Enqueue("a", firq.Task[int]{}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.lookUp("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 39, 40, 7, firq.MaxTasks, 1} {
		s.SetLimit("a", limit)
		if w := a.word.Load(); roomIn(w) != limit-40 || a.held(w) != 40 || (w&roomBit != 0) != (limit > 40) {
			t.Errorf("limit %d: room %d, held %d", limit, roomIn(w), a.held(w))
		}
		if err := atRest(s); err != nil {
			t.Error(err)
		}
	}
	for left := 39; left >= 0; left-- {
		if _, ok := s.TryDequeue(); !ok {
			t.Fatal("nothing is there")
		}
		if w := a.word.Load(); roomIn(w) != 1-left {
			t.Errorf("%d left: room %d", left, roomIn(w))
		}
	}
}

// A tenant was busy when a call looked, so that the config was not asked; then it is
// forgotten. What the config says of the new one counts.
func TestForgottenIsAskedAbout(t *testing.T) {
	asked := 0
	s := build(t, config{MaxPerTenantFor: func(string) int { asked++; return 1 }})
	old, err := s.lookUp("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	old.word.Or(deadBit)
	var d drr.Task[int]
	if err := s.shared.Task(&d, &firq.Task[int]{}, s.shared.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.enter(old, "a", &d, nil, 0); err != nil {
		t.Fatal(err)
	}
	if a, _ := s.tenants.Load("a"); a == old || a.limit.get() != 1 || asked != 1 {
		t.Errorf("asked %d times; the new tenant has a limit of %d", asked, a.limit.get())
	}
}
