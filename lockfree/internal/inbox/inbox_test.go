package inbox

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// published puts plain tasks, whose payloads are their tickets' numbers, into slots.
func published(b *Inbox[int], tickets ...uint32) {
	for _, t := range tickets {
		payload := int(t)
		b.PutPlain(t, &payload, 1, 0)
		b.Publish(t)
	}
}

// takes checks that Next gives out these, and then nothing.
func takes(t *testing.T, b *Inbox[int], k *Taker, tail uint32, want ...int) {
	t.Helper()
	at := k.Head()
	for _, n := range want {
		if s, _, ok := b.Next(k, &at, tail); !ok || s == nil || s.Payload != n {
			t.Fatalf("Next: %+v, %t; want %d", s, ok, n)
		}
	}
	if s, _, ok := b.Next(k, &at, tail); ok {
		t.Fatalf("Next: %+v, want nothing", s)
	}
}

// What was taken behind a hole does not come again. Nothing is lent before the head has passed
// all of it; then slots are lent as ever.
func TestBehindAHole(t *testing.T) {
	b, k := New[int](8, 0), Taker{}
	published(b, 1, 2, 4) // not 0 and 3
	takes(t, b, &k, 5, 1, 2, 4)
	published(b, 0)
	if n := b.Run(&k, 5); n != 0 {
		t.Fatalf("%d are lent, with three taken behind", n)
	}
	takes(t, b, &k, 5, 0)
	if k.Head() != 3 || k.Free(0) != 3 {
		t.Fatalf("the head is %d, want 3", k.Head())
	}
	published(b, 3, 5)
	if n := b.Run(&k, 6); n != 0 {
		t.Fatalf("%d are lent, with one taken behind", n)
	}
	takes(t, b, &k, 5, 3)
	if n := b.Run(&k, 6); n != 1 || k.Head() != 6 || k.Free(1) != 2 {
		t.Fatalf("%d are lent, the head is %d", n, k.Head())
	}
}

// Run ends before a task that is not plain, before one that was refused, and before the end.
func TestRunEnds(t *testing.T) {
	for name, put := range map[string]func(b *Inbox[int]){
		"refused":  func(b *Inbox[int]) { b.PutVoid(2) },
		"deadline": func(b *Inbox[int]) { b.Put(2, &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: 5}) },
		"cost": func(b *Inbox[int]) {
			b.Put(2, &drr.Task[int]{Cost: drr.MostPlain + 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
		},
	} {
		b, k := New[int](4, 0), Taker{}
		put(b)
		b.Publish(2)
		published(b, 0, 1, 3)
		if n := b.Run(&k, 1); n != 1 {
			t.Errorf("%s: %d before the end", name, n)
		}
		if n := b.Run(&k, 4); n != 1 || k.Head() != 2 {
			t.Errorf("%s: %d, head %d", name, n, k.Head())
		}
		at := k.Head()
		if s, more, ok := b.Next(&k, &at, 4); s != nil || !ok || (more == nil) != (name == "refused") || at != 3 {
			t.Errorf("%s: %+v, %t, %+v", name, s, ok, more)
		}
		if n := b.Run(&k, 4); n != 1 {
			t.Errorf("%s: %d behind it", name, n)
		}
	}
}

// An inbox that is used again says nothing of its last owner's tickets.
func TestReset(t *testing.T) {
	for next := range uint32(20) {
		b := New[int](4, 0)
		published(b, 0, 1, 2, 3)
		b.Reset(next)
		for i := range uint32(4) {
			if !b.Holes(next+i, next+i+1) {
				t.Errorf("from %d: ticket %d has a task", next, next+i)
			}
		}
	}
}

// Producers against one consumer that lends, copies, and gives slots back: nothing is lost or
// taken twice, and a task whose Publish returned before another one's ticket was drawn is
// taken before it.
func TestConcurrent(t *testing.T) {
	const producers, per, size = 4, 3_000, 8
	type stamped struct {
		producer, n int
		begun       int64
	}
	b := New[stamped](size, 1<<ring.TicketBits-50)
	var k Taker
	k.Init(1<<ring.TicketBits - 50)
	var word, clock atomic.Uint64 // word: tail<<32 | tickets that are free again
	word.Store(uint64(k.Head()) << 32)
	var free atomic.Int64
	free.Store(size)
	var mu sync.Mutex // draws a ticket and its slot in one step, as the tenant's word does
	draw := func() (uint32, bool) {
		mu.Lock()
		defer mu.Unlock()
		if free.Load() == 0 {
			return 0, false
		}
		free.Add(-1)
		t := uint32(word.Load() >> 32)
		word.Store(uint64(ring.After(t)) << 32)
		return t, true
	}
	ended := make([][]uint64, producers)
	var over atomic.Bool
	var wg sync.WaitGroup
	for p := range producers {
		ended[p] = make([]uint64, per)
		wg.Go(func() {
			for n := range per {
				begun := int64(clock.Load())
				t, ok := draw()
				for ; !ok; t, ok = draw() {
					if over.Load() {
						return
					}
					runtime.Gosched()
					begun = int64(clock.Load())
				}
				if n%5 == p {
					runtime.Gosched() // a hole
				}
				v := stamped{p, n, begun}
				if n%7 == 0 {
					b.Put(t, &drr.Task[stamped]{Payload: v, Cost: 1, Priority: firq.PriorityHigh, Due: drr.NoDeadline})
				} else {
					b.PutPlain(t, &v, 1, 0)
				}
				b.Publish(t)
				ended[p][n] = clock.Add(1)
			}
		})
	}
	var order []stamped
	for start := time.Now(); len(order) < producers*per && time.Since(start) < 20*time.Second; {
		tail := uint32(word.Load() >> 32)
		at, got := k.Head(), len(order)
		for {
			if at == k.Head() {
				n := b.Run(&k, tail)
				for range n { // delivered from where they are
					order = append(order, b.Slots()[b.Index(at)].Payload)
					at = ring.After(at)
				}
			}
			s, more, ok := b.Next(&k, &at, tail)
			if !ok {
				break
			}
			if s != nil {
				order = append(order, s.Payload)
			} else {
				order = append(order, more.Payload)
			}
		}
		free.Add(int64(k.Free(0)))
		if len(order) == got {
			runtime.Gosched()
		}
	}
	over.Store(true)
	wg.Wait()
	if len(order) != producers*per {
		t.Fatalf("%d tasks came, want %d", len(order), producers*per)
	}
	var next [producers]int
	latest := int64(-1)
	for _, v := range order {
		if v.n != next[v.producer] {
			t.Fatalf("producer %d: task %d came, want %d", v.producer, v.n, next[v.producer])
		}
		next[v.producer]++
		if end := int64(ended[v.producer][v.n]); end <= latest {
			t.Fatalf("a task that was in at %d was taken after one begun at %d", end, latest)
		}
		latest = max(latest, v.begun)
	}
}
