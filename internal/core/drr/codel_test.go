package drr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/firq-go/firq"
)

// dropHost notes what CoDel drops.
type dropHost struct {
	idleHost
	late []int
}

func (h *dropHost) Late(_ *Tenant[int, int], task *Task[int]) { h.late = append(h.late, task.Payload) }

const ms = 1_000_000

func newControlled(cfg Config, tenants int) (*Queue[int, int], *dropHost, []*Tenant[int, int]) {
	h := new(dropHost)
	cfg.Target, cfg.Interval = 5*ms, 100*ms
	return New[int, int](cfg, h), h, newTenants(tenants, func(int) int64 { return 1 })
}

func at(payload int, enqueued int64) Task[int] {
	return Task[int]{Payload: payload, Cost: 1, Enqueued: enqueued, Due: NoDeadline, Priority: firq.PriorityNormal}
}

// rfc is RFC 8289, sections 5.4 and 5.5, on its own queue, call by call.
type rfc struct {
	queue            []int64 // when they came
	target, interval int64
	above, next      int64
	count, last      int64
	dropping         bool
	drops            int
	out              int64
	isOK             bool
}

func (r *rfc) take(now int64) bool {
	r.isOK = false
	if len(r.queue) == 0 {
		r.above = 0
		return false
	}
	r.out, r.queue = r.queue[0], r.queue[1:]
	switch {
	case now-r.out < r.target || len(r.queue) == 0:
		r.above = 0
	case r.above == 0:
		r.above = now + r.interval
	case now >= r.above:
		r.isOK = true
	}
	return true
}

func (r *rfc) law(t int64) int64 { return t + int64(float64(r.interval)/math.Sqrt(float64(r.count))) }

func (r *rfc) dequeue(now int64) bool {
	got := r.take(now)
	switch {
	case r.dropping:
		if !r.isOK {
			r.dropping = false
		}
		for r.dropping && now >= r.next {
			r.drops++
			r.count++
			if got = r.take(now); !r.isOK {
				r.dropping = false
			} else {
				r.next = r.law(r.next)
			}
		}
	case r.isOK:
		r.drops++
		got = r.take(now)
		r.dropping = true
		delta := r.count - r.last
		r.count = 1
		if delta > 1 && now-r.next < 16*r.interval {
			r.count = delta
		}
		r.next = r.law(now)
		r.last = r.count
	}
	return got
}

// One tenant is treated as the RFC has it: under overload, in bursts, and in between.
func TestCoDelIsRFC8289(t *testing.T) {
	drops, paces := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		q, h, ts := newControlled(Config{}, 1)
		model := &rfc{target: q.cfg.Target, interval: q.cfg.Interval}
		now, pushed := int64(1), 0
		push1 := func() {
			pushed++
			push(q, ts[0], at(pushed, now))
			model.queue = append(model.queue, now)
		}
		for step := range 6000 {
			phase := step / 500 % 4 // overload, recovery, bursts, overload
			now += int64(1+r.IntN(4)) * ms / 2
			arrivals := []int{2, 0, 0, 3}[phase]
			if phase == 2 && step%100 == 0 {
				arrivals = 30
			}
			for range r.IntN(arrivals + 1) {
				push1()
			}
			want := model.dequeue(now)
			_, task, v := q.Next(now)
			if (v == Delivered) != want || want && task.Enqueued != model.out || len(h.late) != model.drops || q.Len() != len(model.queue) {
				t.Fatalf("seed %d, step %d: %v %+v, %d dropped, %d left; the RFC has %v, %d, %d dropped, %d left",
					seed, step, v, task, len(h.late), q.Len(), want, model.out, model.drops, len(model.queue))
			}
			if model.dropping && model.count > 5 {
				paces++
			}
		}
		drops += model.drops
	}
	if drops < 1000 || paces < 1000 {
		t.Errorf("%d drops, %d steps at a pace: too little to see anything", drops, paces)
	}
}

// A standing queue: nothing is dropped for an interval, then one, then at intervals that
// shrink with the root. What is dropped costs the tenant nothing.
func TestCoDelPace(t *testing.T) {
	q, h, ts := newControlled(Config{}, 1)
	for i := range 3000 {
		push(q, ts[0], at(i, 0))
	}
	var drops []int64
	for now := int64(6 * ms); now < 800*ms; now += ms {
		had := len(h.late)
		if _, _, v := q.Next(now); v != Delivered {
			t.Fatalf("at %d ms: %v", now/ms, v)
		}
		for range h.late[had:] {
			drops = append(drops, now/ms)
		}
	}
	want := []int64{106, 206, 277, 335, 385, 429, 470, 508, 543, 577, 608, 638, 667, 695, 722, 747, 772, 797}
	for i := range want { // rounded up to a step
		if i >= len(drops) || drops[i] < want[i]-1 || drops[i] > want[i]+2 {
			t.Fatalf("drops at %v ms, want about %v", drops, want)
		}
	}
	if f := &ts[0].seat; f.deficit != 0 {
		t.Errorf("a deficit of %d", f.deficit)
	}
}

// A drop costs the tenant no turn: the next one is served instead.
func TestCoDelDropsAreFree(t *testing.T) {
	q, h, ts := newControlled(Config{}, 2)
	for i := range 3000 {
		push(q, ts[0], at(i, 0))
		push(q, ts[1], at(i, 1<<60)) // has always just come
	}
	got := [2]int{}
	for now := int64(6 * ms); now < 2000*ms; now += ms {
		for range 2 {
			x, _, v := q.Next(now)
			if v != Delivered {
				t.Fatal(v)
			}
			got[x.Key]++
		}
	}
	if d := got[0] - got[1]; len(h.late) < 20 || d < -1 || d > 1 {
		t.Errorf("served %d and %d, with %d drops of the first", got[0], got[1], len(h.late))
	}
}

// A burst that is over within an interval, and the last task of a queue, lose nothing.
func TestCoDelSpares(t *testing.T) {
	q, h, ts := newControlled(Config{}, 1)
	now := int64(1)
	for round := range 50 {
		for i := range 95 {
			push(q, ts[0], at(round*100+i, now))
		}
		for range 95 {
			now += ms
			q.Next(now)
		}
		now += 10 * ms
	}
	for i := range 100 { // always alone, and always late
		push(q, ts[0], at(i, now))
		now += 300 * ms
		if _, _, v := q.Next(now); v != Delivered {
			t.Fatal(v)
		}
	}
	if len(h.late) > 0 {
		t.Errorf("dropped %v", h.late)
	}
}

// Each tenant is judged by its own waits, and so is each of its priorities.
func TestCoDelApart(t *testing.T) {
	for _, cfg := range []Config{{}, {NewFirst: true}, {Across: true}} {
		q, h, ts := newControlled(cfg, 2)
		now := int64(1)
		for i := range 2000 {
			task := at(i, now)
			task.Priority = firq.PriorityLow
			push(q, ts[0], task)
			task.Payload += 10_000
			push(q, ts[0], task)
		}
		for i := range 600 {
			now += 2 * ms
			push(q, ts[1], at(50_000+i, now))
			high := at(60_000+i, now)
			high.Priority = firq.PriorityHigh
			push(q, ts[0], high)
			for range 3 {
				q.Next(now)
			}
		}
		if slices.ContainsFunc(h.late, func(p int) bool { return p >= 50_000 }) || len(h.late) == 0 {
			t.Errorf("%+v: dropped %v", cfg, h.late)
		}
	}
}

// Without control nothing is dropped; with it again it goes on.
func TestCoDelControl(t *testing.T) {
	q, h, ts := newControlled(Config{}, 1)
	for i := range 3000 {
		push(q, ts[0], at(i, 0))
	}
	var got []string
	for now := int64(6 * ms); now < 900*ms; now += ms {
		if now%(300*ms) == 0 {
			q.Control(now != 300*ms)
			got = append(got, fmt.Sprint(len(h.late) > 0))
			h.late = nil
		}
		q.Next(now)
	}
	if got = append(got, fmt.Sprint(len(h.late) > 0)); fmt.Sprint(got) != "[true false true]" {
		t.Errorf("dropped before, while off, and after: %v", got)
	}
}

// Times at the end of their range, and absurd settings, neither drop all nor panic.
func TestCoDelExtremes(t *testing.T) {
	for _, cfg := range []Config{{Target: 1, Interval: 1}, {Target: 1, Interval: math.MaxInt64}, {Target: math.MaxInt64, Interval: 1}} {
		h := new(dropHost)
		q := New[int, int](cfg, h)
		ts := newTenants(1, func(int) int64 { return 1 })
		for i := range 100 {
			push(q, ts[0], at(i, math.MinInt64+1))
		}
		delivered := 0
		for _, now := range []int64{math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64} {
			for range 3 {
				if _, _, v := q.Next(now); v == Delivered {
					delivered++
				}
			}
		}
		if delivered != 18 {
			t.Errorf("%+v: %d of 18 delivered, %d dropped", cfg, delivered, len(h.late))
		}
	}
}

// The pace that dropping had come to holds for 16 intervals after it has ended, and no longer.
func TestCoDelForgetsItsPace(t *testing.T) {
	const interval = 100 * ms
	for _, x := range []struct {
		after int64
		want  int64
	}{{0, 9}, {16*interval - 1, 9}, {16 * interval, 1}, {1000 * interval, 1}} {
		c := codel{count: 12, last: 3, next: 50 * interval}
		if c.begin(50*interval+x.after, interval); c.count != x.want {
			t.Errorf("%d after the next drop: it begins with %d, want %d", x.after, c.count, x.want)
		}
	}
}
