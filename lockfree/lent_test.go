package lockfree

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/lockfree/internal/inbox"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// lent checks how many slots of a tenant's inbox are lent, and that the books are right.
func lent(t *testing.T, s *scheduler, tn *tenant[string, int], want int) {
	t.Helper()
	if got := tn.Lent(); got != want {
		t.Fatalf("%d slots are lent, want %d", got, want)
	}
	rests(t, s)
}

// Plain tasks stay in the slots that their producers have written until they are delivered;
// then the slots are free. What they were enqueued with comes out again.
func TestLent(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{Quantum: 100}, first)
		tn := idle(t, s, "a")
		for round := range 5 { // the slots that are lent go round
			for i := range 6 {
				p := published(t, s, "a", task{Payload: 10*round + i, Cost: int64(1 + i)})
				defer p.announce()
			}
			tn.shard.lock()
			tn.shard.drainAll(tn)
			tn.shard.unlock()
			lent(t, s, tn, 6)
			if used := usedIn(tn.word.Load()); used != 6 {
				t.Errorf("%d slots are in use", used)
			}
			for i := range 6 {
				if it := take(t, s, 10*round+i); it.Cost != int64(1+i) || it.Priority != firq.PriorityNormal || !it.Deadline.IsZero() {
					t.Errorf("%+v", it)
				}
				if used := usedIn(tn.word.Load()); int(used) != 5-i {
					t.Errorf("after %d deliveries %d slots are in use", 1+i, used)
				}
			}
			nothing(t, s)
		}
	})
}

// What does not fit behind lent slots comes after them all the same: a task that is not plain, one
// that was refused, one behind a hole, one that is pushed under the lease.
func TestLentAndOthers(t *testing.T) {
	for name, then := range map[string]func(t *testing.T, s *scheduler, tn *tenant[string, int]) (also []int){
		"a task with a deadline": func(t *testing.T, s *scheduler, _ *tenant[string, int]) []int {
			admit(t, s, "a", task{Payload: 3, Deadline: far()})
			return []int{3}
		},
		"an expensive task": func(t *testing.T, s *scheduler, _ *tenant[string, int]) []int {
			admit(t, s, "a", task{Payload: 3, Cost: 1 << 40})
			return []int{3}
		},
		"a task that is refused": func(t *testing.T, s *scheduler, _ *tenant[string, int]) []int {
			stopped(t, s, "a", task{}).void()
			return nil
		},
		"a batch of which a part is refused": func(t *testing.T, s *scheduler, tn *tenant[string, int]) []int {
			giveBack := exhaust(s)
			s.credit.Give(1)
			if n := s.admitBatch("a", nil, tasks(3, 3), s.shared.Clock.Now()); n != 1 {
				t.Fatalf("%d are admitted, want 1", n)
			}
			giveBack()
			s.credit.Take()
			return []int{3}
		},
		"tasks behind a hole": func(t *testing.T, s *scheduler, tn *tenant[string, int]) []int {
			p := stopped(t, s, "a", task{Payload: 9})
			if err := p.charge(); err != nil {
				t.Fatal(err)
			}
			admit(t, s, "a", task{Payload: 3}, task{Payload: 4})
			tn.shard.lock()
			tn.shard.drainAll(tn)
			tn.shard.unlock()
			if n := tn.Lent(); n != 0 {
				t.Errorf("%d slots are lent", n)
			}
			box := tn.inbox.Load()
			for i := range uint32(2) {
				if got := box.Slots()[box.Index(p.ticket+1+i)].Payload; got != 0 {
					t.Errorf("the slot of %d, which was copied, keeps it", got)
				}
			}
			if err := withStopped(s, 1, 1); err != nil {
				t.Error(err)
			}
			p.publish()
			return []int{3, 4, 9}
		},
		"a hole that is filled while others are lent": func(t *testing.T, s *scheduler, tn *tenant[string, int]) []int {
			p := stopped(t, s, "a", task{Payload: 9})
			if err := p.charge(); err != nil {
				t.Fatal(err)
			}
			admit(t, s, "a", task{Payload: 3})
			touch(s)
			tn.shard.lock()
			tn.shard.drainAll(tn)
			tn.shard.unlock()
			p.publish()
			admit(t, s, "a", task{Payload: 4})
			tn.shard.lock()
			tn.shard.drainAll(tn)
			tn.shard.unlock()
			rests(t, s)
			return []int{3, 9, 4}
		},
		"one under the lease": func(t *testing.T, s *scheduler, tn *tenant[string, int]) []int {
			d := mustTask(t, s, task{Payload: 3})
			if done, err := tn.shard.enqueueLocked(tn, &d, nil); !done || err != nil {
				t.Fatal(done, err)
			}
			return []int{3}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachStart(t, func(t *testing.T, first uint32) {
				s := buildAt(t, config{MaxGlobal: 16}, first)
				tn := idle(t, s, "a")
				batched(t, s, "a", inboxSize, nil, tasks(100, inboxSize)...) // each slot says something
				take(t, s, count(100, inboxSize)...)
				batched(t, s, "a", 3, nil, tasks(0, 3)...)
				touch(s)
				lent(t, s, tn, 3)
				also := then(t, s, tn)
				admit(t, s, "a", task{Payload: 20}, task{Payload: 21})
				tn.shard.lock()
				tn.shard.drainAll(tn)
				tn.shard.unlock()
				rests(t, s)
				take(t, s, append(append(count(0, 3), also...), 20, 21)...)
				nothing(t, s)
				rests(t, s)
			})
		})
	}
}

// TestLentMixed: a tenant's tasks of one priority leave in the order in which they came, whatever
// they have, whichever way they come and however many there are; the newest can be evicted.
func TestLentMixed(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := buildAt(t, config{MaxPerTenant: 600}, []uint32{0, lendSize, 1<<ring.TicketBits - 100}[seed%3])
		s.direct = seed%2 == 0
		var want []int
		next := 0
		for range 400 {
			switch n := r.IntN(12); {
			case n < 3:
				x := task{Payload: next}
				if r.IntN(6) == 0 {
					x.Deadline = far()
				}
				if len(want) < 600 {
					admit(t, s, "a", x)
					want = append(want, next)
				}
				next++
			case n < 5:
				batch := tasks(next, r.IntN(40))
				if r.IntN(6) == 0 && len(batch) > 2 {
					batch[2].Deadline = far()
				}
				if len(want)+len(batch) <= 600 {
					batched(t, s, "a", len(batch), nil, batch...)
					want = append(want, count(next, len(batch))...)
				}
				next += len(batch)
			case n == 5 && len(want) > 0:
				tn, _ := s.tenants.Load("a")
				tn.shard.lock()
				tn.shard.drainAll(tn)
				newest := r.IntN(2) == 0
				if !tn.shard.Evict(&tn.Tenant, firq.PriorityNormal, newest) {
					t.Fatalf("seed %d: nothing to evict of %d", seed, len(want))
				}
				tn.shard.left(tn)
				tn.shard.unlock()
				if newest {
					want = want[:len(want)-1]
				} else {
					want = want[1:]
				}
			case n < 9:
				for range min(len(want), r.IntN(30)) {
					take(t, s, want[0])
					want = want[1:]
				}
			case n == 9 && len(want) > 0:
				dst := make([]item, 1+r.IntN(40))
				got, _ := s.DequeueBatch(t.Context(), dst)
				for i := range got {
					if dst[i].Payload != want[i] {
						t.Fatalf("seed %d: %d, want %d", seed, dst[i].Payload, want[i])
					}
				}
				want = want[got:]
			case n == 10:
				touch(s)
			default:
				meet(s, r.IntN(2) == 0)
			}
		}
		rests(t, s)
		take(t, s, want...)
		nothing(t, s)
	}
}

// When many tenants have large inboxes, one that has no task left gives its own back, and the
// next one gets it. One that had other tasks than plain ones is not kept.
func TestInboxShrinks(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{}, first)
		sh := s.shards[0]
		fill := func(k string, mixed bool) *tenant[string, int] {
			tn := idle(t, s, k)
			batched(t, s, k, 3*inboxSize, nil, tasks(0, 3*inboxSize)...)
			if mixed {
				admit(t, s, k, task{Payload: 3 * inboxSize, Deadline: far()})
			} else {
				admit(t, s, k, task{Payload: 3 * inboxSize})
			}
			if n := tn.inbox.Load().Size(); n != lendSize {
				t.Fatalf("%d slots", n)
			}
			return tn
		}
		empty := func(k string, tn *tenant[string, int], want int) {
			t.Helper()
			take(t, s, count(0, 3*inboxSize+1)...)
			nothing(t, s)
			if n := tn.inbox.Load().Size(); n != want {
				t.Errorf("%s: %d slots with no task, want %d", k, n, want)
			}
			rests(t, s)
		}
		a := fill("a", false)
		empty("a", a, lendSize) // few have one
		if sh.large != 1 {
			t.Errorf("%d large ones, want 1", sh.large)
		}
		sh.large += mostLarge
		a = fill("a", false)
		box := a.inbox.Load()
		empty("a", a, inboxSize)
		if sh.large != mostLarge || len(sh.boxes) != 1 {
			t.Errorf("%d large ones, %d kept", sh.large, len(sh.boxes))
		}
		b := fill("b", true)
		if b.inbox.Load() != box || len(sh.boxes) != 0 {
			t.Error("the one that was given back is not used again")
		}
		empty("b", b, inboxSize)
		if len(sh.boxes) != 0 {
			t.Error("one that had a task with a deadline is kept")
		}
	})
}

// A ticket is not drawn by a word that was read before the inbox was replaced: a batch may have
// more tasks than the new one has slots.
func TestResizePassesATicket(t *testing.T) {
	s := build(t, config{})
	tn := idle(t, s, "a")
	before := tn.word.Load()
	sh := s.shards[0]
	sh.lock()
	tn.resize(lendSize)
	sh.unlock()
	if w := tn.word.Load(); w == before || usedIn(w) != 0 || tn.held(w) != 0 || roomIn(w) != roomIn(before) {
		t.Errorf("the word was %#x, and is %#x", before, w)
	}
	batched(t, s, "a", 100, nil, tasks(0, 100)...)
	take(t, s, count(0, 100)...)
}

// A tenant that is forgotten gives its large inbox to the next one.
func TestForgottenInboxIsKept(t *testing.T) {
	s := build(t, config{TenantIdle: time.Nanosecond})
	tn := idle(t, s, "a")
	batched(t, s, "a", 100, nil, tasks(0, 100)...)
	take(t, s, count(0, 100)...)
	nothing(t, s)
	if n := s.Stats().Tenants; n != 0 || tn.word.Load()&deadBit == 0 || tn.inbox.Load().Size() != lendSize {
		t.Fatalf("%d tenants; it had %d slots", n, tn.inbox.Load().Size())
	}
	if sh := s.shards[0]; sh.large != 0 || len(sh.boxes) != 1 {
		t.Errorf("%d large ones, %d kept", sh.large, len(sh.boxes))
	}
}

// Costs that a slot has no room for come out as they went in, on each way.
func TestLentCosts(t *testing.T) {
	for _, past := range []bool{true, false} {
		s := direct(t, config{Quantum: 1 << 40})
		s.direct = past
		for i, cost := range []int64{drr.MostPlain, drr.MostPlain + 1, 1 << 50, 1} {
			admit(t, s, "a", task{Payload: i, Cost: cost}, task{Payload: i, Cost: cost})
			batched(t, s, "a", 2, nil, task{Payload: i, Cost: cost}, task{Payload: i, Cost: cost})
			for range 4 {
				if it := take(t, s, i); it.Cost != cost {
					t.Errorf("direct %v: it costs %d, want %d", past, it.Cost, cost)
				}
			}
		}
	}
}

// No slot keeps the payload of a task that was copied out of it alive.
func TestLentForgets(t *testing.T) {
	type large [1 << 10]byte
	s, err := newAt(firq.Config[string, *large]{Shards: 1}, 0, inboxSize)
	if err != nil {
		t.Fatal(err)
	}
	var payloads []weak.Pointer[large]
	func() {
		for range 3 {
			p := new(large)
			payloads = append(payloads, weak.Make(p))
			if err := s.Enqueue("a", firq.Task[*large]{Payload: p}); err != nil {
				t.Fatal(err)
			}
		}
		sh := s.shards[0]
		sh.lock()
		tn, _ := s.tenants.Load("a")
		sh.drainAll(tn)
		if tn.Lent() != 3 {
			t.Errorf("%d slots are lent", tn.Lent())
		}
		sh.empty(tn)
		sh.unlock()
		for range payloads {
			if it, ok := s.TryDequeue(); !ok || it.Payload == nil {
				t.Fatal("a payload is lost")
			}
		}
	}()
	for end := time.Now().Add(patience); ; runtime.GC() {
		alive := slices.ContainsFunc(payloads, func(p weak.Pointer[large]) bool { return p.Value() != nil })
		if !alive {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a payload is alive")
		}
	}
	runtime.KeepAlive(s)
}

// A shard keeps a bounded number of large inboxes, and one that it gives out again says nothing about its
// last owner's tickets.
func TestBoxes(t *testing.T) {
	s := build(t, config{})
	sh := s.shards[0]
	sh.lock()
	defer sh.unlock()
	var boxes []*inbox.Inbox[int]
	for range 2 * keepBoxes {
		b := sh.box(lendSize, 0)
		for i := range uint32(lendSize) {
			b.PutVoid(i)
			b.Publish(i)
		}
		boxes = append(boxes, b)
	}
	if sh.large != 2*keepBoxes {
		t.Errorf("%d are large", sh.large)
	}
	for _, b := range boxes {
		sh.keepBox(b)
	}
	if len(sh.boxes) != keepBoxes || sh.large != 0 {
		t.Errorf("%d are kept, %d are large", len(sh.boxes), sh.large)
	}
	b := sh.box(lendSize, 0)
	for i := range uint32(lendSize) {
		if !b.Holes(i, i+1) {
			t.Fatalf("ticket %d seems to be published", i)
		}
	}
	if len(sh.boxes) != keepBoxes-1 {
		t.Error("what is given out is kept")
	}
	sh.keepBox(b)
}

// An inbox that had a task which is not plain lends nothing any more: what it lends would be
// copied with the next such task.
func TestMixedLendsNothing(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{}, first)
		tn := polled(t, s, "a", 0, 1, 2)
		if tn.Lent() == 0 {
			t.Error("nothing is lent")
		}
		admit(t, s, "a", task{Payload: 3, Priority: firq.PriorityHigh}, task{Payload: 4}, task{Payload: 5})
		take(t, s, 3)
		if n := tn.Lent(); n != 0 || tn.Len() != 5 {
			t.Errorf("%d slots are lent, %d tasks queued; want 0, 5", n, tn.Len())
		}
		take(t, s, 0, 1, 2, 4, 5)
		nothing(t, s)
	})
}
