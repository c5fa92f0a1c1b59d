package drr

import (
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq"
)

// push is Push with the task as a value.
func push[K comparable, T any](q *Queue[K, T], t *Tenant[K, T], task Task[T]) { q.Push(t, &task) }

// within is NextWithin with the task as a result.
func within(q *Queue[int, int], now int64, limit uint64) (t *Tenant[int, int], task Task[int], v Verdict) {
	var h Head
	if t, v = q.NextWithin(now, limit, &task.Payload, &h); v == Delivered {
		task.is(h)
	}
	return t, task, v
}

// idleHost is a Host that does nothing.
type idleHost struct{}

func (idleHost) Expired(*Tenant[int, int], *Task[int]) {}

// pair is two queues with the same tenants and tasks.
type pair struct {
	a, b         *Queue[int, int]
	inA, inB     []*Tenant[int, int]
	next, queued int
}

func newPair(tenants int, quantum func(int) int64) *pair {
	p := &pair{a: New[int, int](Config{}, idleHost{}), b: New[int, int](Config{}, idleHost{})}
	for i := range tenants {
		q := quantum(i)
		for _, in := range []*[]*Tenant[int, int]{&p.inA, &p.inB} {
			t := new(Tenant[int, int])
			t.Init(i, q)
			*in = append(*in, t)
		}
	}
	return p
}

func (p *pair) push(tenant int, cost int64) {
	p.next++
	p.queued++
	task := Task[int]{Payload: p.next, Cost: cost, Due: NoDeadline, Priority: firq.PriorityNormal}
	push(p.a, p.inA[tenant], task)
	push(p.b, p.inB[tenant], task)
}

// TestWithinIsNext: a queue that is asked with a limit that rises by one round delivers
// the same tasks as one that is asked without a limit, in the same rounds, with the same
// deficits.
func TestWithinIsNext(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newPair(1+r.IntN(5), func(int) int64 { return 1 + r.Int64N(4) })
		limit := uint64(0)
		for range 200 {
			for range r.IntN(3) {
				p.push(r.IntN(len(p.inA)), 1+r.Int64N(60))
			}
			_, want, verdict := p.a.Next(0)
			if verdict != Delivered {
				if _, _, v := within(p.b, 0, limit); v != verdict {
					t.Fatalf("seed %d: verdict %d, want %d", seed, v, verdict)
				}
				continue
			}
			tries := 0
			for {
				tag := p.b.Tag()
				_, got, verdict := within(p.b, 0, limit)
				if verdict == Ahead {
					if after := p.b.Tag(); after <= limit || after < tag {
						t.Fatalf("seed %d: ahead of %d, with tag %d after %d", seed, limit, after, tag)
					}
					if limit += 1 + r.Uint64N(3); r.IntN(2) == 0 {
						limit = p.b.Tag()
					}
					if tries++; tries > 1000 {
						t.Fatalf("seed %d: nothing is delivered up to round %d", seed, limit)
					}
					continue
				}
				if verdict != Delivered || got.Payload != want.Payload {
					t.Fatalf("seed %d: delivered %d (%d), want %d", seed, got.Payload, verdict, want.Payload)
				}
				break
			}
			if got, want := p.b.lists[0].clock(), p.a.lists[0].clock(); got != want {
				t.Fatalf("seed %d: in round %d, want %d", seed, got, want)
			}
			for i := range p.inA {
				if a, b := p.inA[i].seat.deficit, p.inB[i].seat.deficit; a != b {
					t.Fatalf("seed %d: tenant %d has deficit %d, want %d", seed, i, b, a)
				}
			}
		}
	}
}

// TestWithinWaits: a tenant that saves up for a costly task is not served before its round,
// gets what is due until then, and does not make a newcomer wait.
func TestWithinWaits(t *testing.T) {
	p := newPair(2, func(int) int64 { return 10 })
	p.push(0, 1000) // it costs 100 quanta, so tenant 0 can pay at the start of its turn in round 99
	if _, _, v := within(p.a, 0, 5); v != Ahead || !p.a.Waiting() || p.a.Tag() != 99 {
		t.Fatalf("verdict %d, waiting %v, tag %d; want ahead, waiting for round 99", v, p.a.Waiting(), p.a.Tag())
	}
	p.a.CatchUp(40)
	if p.a.Round() != 40 {
		t.Fatalf("caught up to round %d, want 40", p.a.Round())
	}
	p.push(1, 10)
	if p.a.Waiting() || p.a.Tag() != 40 {
		t.Fatalf("waiting %v, tag %d after a newcomer; want tag 40", p.a.Waiting(), p.a.Tag())
	}
	if tn, _, v := within(p.a, 0, 41); v != Delivered || tn.Key != 1 {
		t.Fatalf("verdict %d; want the newcomer's task", v)
	}
	if _, _, v := within(p.a, 0, 41); v != Ahead || p.a.Tag() != 99 {
		t.Fatalf("verdict %d, tag %d; want ahead, for round 99 as before", v, p.a.Tag())
	}
	if _, _, v := within(p.a, 0, 98); v != Ahead {
		t.Fatalf("verdict %d in round 98, want ahead", v)
	}
	if tn, task, v := within(p.a, 0, 99); v != Delivered || tn.Key != 0 || task.Cost != 1000 {
		t.Fatalf("verdict %d in round 99, want the costly task", v)
	}
}

// TestWithinLooksAgain: a change that may let a tenant pay for its task ends the wait.
func TestWithinLooksAgain(t *testing.T) {
	for name, change := range map[string]func(*pair, *firq.Ticket){
		"a cheaper task of a higher priority": func(p *pair, _ *firq.Ticket) {
			push(p.a, p.inA[0], Task[int]{Cost: 1, Due: NoDeadline, Priority: firq.PriorityHigh})
		},
		"credit":         func(p *pair, _ *firq.Ticket) { p.a.Charge(p.inA[0], firq.PriorityNormal, -1000) },
		"a new quantum":  func(p *pair, _ *firq.Ticket) { p.a.SetQuantum(p.inA[0], 1000) },
		"cancelling":     func(p *pair, tk *firq.Ticket) { p.a.Remove(tk.Place(owner)) },
		"an empty shard": func(p *pair, _ *firq.Ticket) { p.a.AdvanceRound(200) },
	} {
		p := newPair(1, func(int) int64 { return 1 })
		var tk firq.Ticket
		tk.Acquire(owner)
		push(p.a, p.inA[0], Task[int]{Cost: 1000, Due: NoDeadline, Priority: firq.PriorityNormal, Ticket: &tk})
		push(p.a, p.inA[0], Task[int]{Cost: 1, Due: NoDeadline, Priority: firq.PriorityNormal})
		if _, _, v := within(p.a, 0, 5); v != Ahead || !p.a.Waiting() {
			t.Fatalf("%s: verdict %d, waiting %v before", name, v, p.a.Waiting())
		}
		change(p, &tk)
		if p.a.Waiting() {
			t.Errorf("%s: it goes on waiting for round %d", name, p.a.Tag())
		}
	}
}

var owner = new(firq.TicketOwner)
