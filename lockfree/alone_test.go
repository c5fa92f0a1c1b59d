package lockfree

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// Tasks that come alone pass the slots of their tickets by. Once in slotsEvery tickets
// each slot is used all the same, so that none says something about a ticket that
// is as old as the wrap.
func TestSlotsAreUsedInTurn(t *testing.T) {
	for _, first := range []uint32{slotsEvery - 3, 1<<ring.TicketBits - 3} {
		s := buildAt(t, config{}, first)
		for i := range 3 + lendSize + 3 {
			admit(t, s, "a", task{Payload: i})
			take(t, s, i)
		}
		tn, _ := s.tenants.Load("a")
		start := (first + 3) & (1<<ring.TicketBits - 1)
		if n := tn.inbox.Load().Size(); n != inboxSize {
			t.Fatalf("%d slots", n)
		}
		// Every slot was published in this turn: Holes finds none.
		if tn.inbox.Load().Holes(start+lendSize-inboxSize, start+lendSize) {
			t.Errorf("first %#x: some slot was passed by", first)
		}
		if !tn.inbox.Load().Holes(start+lendSize, start+lendSize+1) {
			t.Errorf("first %#x: the task after them did not come alone", first)
		}
	}
}

// A call that finds a tenant full of tasks that came alone takes them out of the ring: they
// look like calls that are not over.
func TestFullOfTasksThatCameAlone(t *testing.T) {
	s := buildAt(t, config{MaxPerTenant: 1}, lendSize)
	for i := range 3 {
		admit(t, s, "a", task{Payload: i})
		for range 2 {
			refused := start(func() error { return s.Enqueue("a", task{}) })
			if err := result(t, "Enqueue", refused); !errors.Is(err, firq.ErrTenantFull) {
				t.Fatalf("a second task: %v", err)
			}
		}
		take(t, s, i)
	}
	nothing(t, s)
}

// A task that came alone and others that came after it, while it was on its way:
// they are served, and the inbox is empty in the end.
func TestAloneOnItsWay(t *testing.T) {
	s := buildAt(t, config{}, lendSize)
	p := stopped(t, s, "a", task{Payload: 0})
	if err := p.charge(); err != nil || !piggybacks(p.word) {
		t.Fatal("it does not come alone", err)
	}
	admit(t, s, "a", task{Payload: 1}, task{Payload: 2})
	take(t, s, 1, 2)
	nothing(t, s)
	p.publish()
	take(t, s, 0)
	nothing(t, s)
	if used := usedIn(p.t.word.Load()); used != 0 {
		t.Errorf("%d slots are in use", used)
	}
}

// Where the ring is full, it goes into its slot.
func TestAloneWithTheRingFull(t *testing.T) {
	s := buildAt(t, config{}, lendSize)
	sh := s.shards[0]
	a, err := s.lookUp("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	hole := reserve(t, sh)
	for push(&sh.activations, activation[string, int]{t: a}) {
	}
	admit(t, s, "b", task{Payload: 1}, task{Payload: 2})
	put(&sh.activations.Slots, hole, activation[string, int]{t: a})
	take(t, s, 1, 2)
	nothing(t, s)
}

// Taking in a tenant that came alone forgets no deadline of another task in the inbox.
func TestAloneBesideADeadline(t *testing.T) {
	s := buildAt(t, config{MaxPerTenant: 4}, lendSize)
	p := stopped(t, s, "a", task{Payload: 0})
	if err := p.charge(); err != nil || !piggybacks(p.word) {
		t.Fatal("it does not come alone", err)
	}
	admit(t, s, "a", task{Payload: 1}, task{Payload: 2})
	touch(s)
	if p.t.word.Load()&polledBit == 0 {
		t.Fatal("a is unpolled with two tasks")
	}
	admit(t, s, "a", task{Payload: 3, Deadline: past()}) // unannounced
	p.publish()
	touch(s)
	admit(t, s, "a", task{Payload: 4}) // instead of 3
	take(t, s, 1, 2, 0, 4)
	nothing(t, s)
}

// What was taken out of the ring is not kept alive by it.
func TestAloneForgetsPayload(t *testing.T) {
	type large [1 << 10]byte
	s, err := newAt(firq.Config[string, *large]{Shards: 1}, lendSize, inboxSize)
	if err != nil {
		t.Fatal(err)
	}
	var payload weak.Pointer[large]
	func() {
		p := new(large)
		payload = weak.Make(p)
		if err := s.Enqueue("a", firq.Task[*large]{Payload: p}); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.TryDequeue(); !ok {
			t.Fatal("nothing to dequeue")
		}
	}()
	for end := time.Now().Add(patience); payload.Value() != nil; runtime.GC() {
		if time.Now().After(end) {
			t.Fatal("the payload is alive")
		}
	}
	runtime.KeepAlive(s)
}
