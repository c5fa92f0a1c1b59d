package model

import (
	"context"
	"math/bits"
	"math/rand/v2"
)

// Load is what the goroutines do: a scenario of firqbench in which all tenants send alike,
// one task per call.
type Load struct {
	seed uint64 // of the random numbers; another one shows how much they matter

	Processors int
	Producers  int
	Consumers  int
	Tenants    int
	Window     int
	Deep       bool    // consumers pause below the window
	Work       float64 // ns between two calls, on both sides
	Shards     int     // 0: what the contestant chooses
	Pair       bool    // one goroutine enqueues a task and dequeues it
}

// queue is a contestant. Both steps go on with the driver's produced or consumed.
type queue interface {
	put(*goroutine) step  // queues g.task of g.tenant
	take(*goroutine) step // takes a task, into g.task, and waits until there is one
}

// item is a task where it is queued.
type item struct {
	task int
	by   int // the processor that wrote it, counted from 1
}

type tenant struct {
	line  line // what a call touches of it under the lock
	shard *shard
	tasks fifo[item]

	// Of lockfree.
	word    line
	inbox   fifo[item]
	drained int // the processor that emptied the inbox last, counted from 1
	polled  bool
}

// driver is the load generator: producers, consumers, and the window between them.
type driver struct {
	*sim
	load     Load
	anatomy  Anatomy
	perTask  float64 // ns of local work, both calls
	tenants  []*tenant
	shards   []*shard
	rounds   *rounds
	random   *rand.Rand
	sleepers []*goroutine // consumers that have found nothing
	parked   line         // how many of them there are

	window    line
	under     int // tasks under way, as the window knows them
	low, high int
	chunk     int
	floor     int
	waiting   []*goroutine // producers

	next      int // task
	queued    int // tasks that a consumer finds
	delivered int
	last      float64        // when the last delivery was
	watch     func(task int) // nil, or told of each delivery

	produce, produced, reported    step
	consume, consumed, held, slept step
	put, take                      step // of queue
}

// newDriver makes a run of a contestant that takes perTask ns of local work for a task.
func newDriver(m Machine, a Anatomy, perTask float64, l Load) *driver {
	d := &driver{sim: newSim(m, l.Processors), load: l, anatomy: a, perTask: perTask, random: rand.New(rand.NewPCG(1+l.seed, uint64(l.Processors)))}
	n := a.shards(l)
	d.rounds = newRounds(n)
	for i := range n {
		d.shards = append(d.shards, &shard{index: i, data: line{weight: a.QueueLines}, mutex: mutex{spinning: a.Spinning}})
	}
	for range l.Tenants {
		d.tenants = append(d.tenants, &tenant{line: line{weight: a.TenantLines}, shard: d.shards[d.random.IntN(n)]})
	}
	const gap, chunk = 512, 32 // as package load has them
	d.high, d.low = l.Window, max(l.Window/2, l.Window-gap)
	d.chunk = max(1, min(chunk, d.low/l.Consumers))
	if l.Deep {
		d.floor = max(0, 2*d.low-d.high)
	}
	d.produce, d.produced, d.consume, d.consumed = d.onProduce, d.onProduced, d.onConsume, d.onConsumed
	d.reported, d.slept, d.held = d.onReported, d.onSlept, d.onHeld
	q := a.queue(d)
	d.put, d.take = q.put, q.take
	if l.Pair {
		d.start(d.produce)
		return d
	}
	for d.under < d.low { // as if it had been running for a while
		t := d.pick()
		t.shard.push(t, item{task: d.next})
		t.polled = t.tasks.len() > 1
		d.next, d.queued, d.under = d.next+1, d.queued+1, d.under+1
	}
	for i := range d.shards {
		d.rounds.publish(d.shards[i])
	}
	for i := range max(l.Producers, l.Consumers) { // in turns, as processors get them
		if i < l.Producers {
			d.start(d.produce)
		}
		if i < l.Consumers {
			d.start(d.consume)
		}
	}
	return d
}

func (d *driver) pick() *tenant { return d.tenants[d.random.IntN(len(d.tenants))] }

// throughput returns tasks/s, of as many tasks as count, after those that warm it up.
func (d *driver) throughput(ctx context.Context, warmUp, count int) (float64, error) {
	if err := d.run(ctx, func() bool { return d.delivered >= warmUp }); err != nil {
		return 0, err
	}
	from, began := d.last, d.delivered
	if err := d.run(ctx, func() bool { return d.delivered >= began+count }); err != nil {
		return 0, err
	}
	return float64(d.delivered-began) / (d.last - from) * 1e9, nil
}

// onProduce is between two calls.
func (d *driver) onProduce(g *goroutine) step {
	if g.unreported >= d.chunk {
		g.unreported = 0
		d.write(g.on, &d.window)
		d.under += d.chunk
		if d.under >= d.high {
			return d.reported
		}
	}
	g.tenant, g.task = d.pick(), d.next
	g.shard, g.tries = g.tenant.shard, 0
	d.next++
	g.on.now += d.load.Work + float64(d.anatomy.PutOut*d.perTask)
	return d.put
}

// onReported waits until the window is open.
func (d *driver) onReported(g *goroutine) step {
	if d.under <= d.low {
		return d.produce
	}
	d.waiting = append(d.waiting, g)
	return d.park(g, d.reported)
}

// onProduced goes on after a task is queued: a consumer that sleeps is woken.
func (d *driver) onProduced(g *goroutine) step {
	d.wake(g)
	if d.load.Pair {
		return d.consume
	}
	g.unreported++
	return d.produce
}

func (d *driver) wake(g *goroutine) {
	d.read(g.on, &d.parked)
	if len(d.sleepers) == 0 {
		return
	}
	w := d.sleepers[len(d.sleepers)-1] // the last that came
	d.sleepers = d.sleepers[:len(d.sleepers)-1]
	d.write(g.on, &d.parked)
	d.ready(w, g.on, false)
}

// sleep is what a consumer does that has found nothing: it says so, and looks again.
func (d *driver) sleep(g *goroutine) step {
	d.write(g.on, &d.parked)
	return d.slept
}

func (d *driver) onSlept(g *goroutine) step {
	if d.queued > 0 {
		return d.take
	}
	d.sleepers = append(d.sleepers, g)
	return d.park(g, d.take)
}

// onConsume begins a call.
func (d *driver) onConsume(g *goroutine) step {
	g.tries = 0
	return d.take
}

// onConsumed is what is done with each task.
func (d *driver) onConsumed(g *goroutine) step {
	d.delivered++
	d.last = max(d.last, g.on.now)
	if d.watch != nil {
		d.watch(g.task)
	}
	g.on.now += d.load.Work + float64(d.anatomy.TakeOut*d.perTask)
	if d.load.Pair {
		return d.produce
	}
	if g.unreported++; g.unreported < d.chunk {
		return d.consume
	}
	d.write(g.on, &d.window)
	left := d.under - g.unreported
	reopens := left <= d.low && d.under > d.low
	d.under, g.unreported = left, 0
	if !reopens {
		return d.held
	}
	for _, w := range d.waiting {
		d.ready(w, g.on, false)
	}
	d.waiting = d.waiting[:0]
	return d.yield(g, d.held)
}

// onHeld keeps the backlog deep.
func (d *driver) onHeld(g *goroutine) step {
	d.read(g.on, &d.window)
	if d.under < d.floor {
		return d.yield(g, d.held)
	}
	return d.consume
}

// fifo is a queue that uses its room again.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }
func (f *fifo[T]) push(x T) { f.items = append(f.items, x) }

func (f *fifo[T]) pop() T {
	x := f.items[f.head]
	if f.head++; f.head*2 >= len(f.items) {
		f.items = f.items[:copy(f.items, f.items[f.head:])]
		f.head = 0
	}
	return x
}

// powerOfTwo returns the least one that is at least n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }
