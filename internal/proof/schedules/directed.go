//go:build firq_failpoints

package schedules

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"

	"github.com/firq-go/firq"
)

// neverEmptyHowever moves a task to and fro before each of a consumer's looks, in
// every pattern: there is one all the time, and the consumer has to find it. A
// tenant that is at its in-flight limit leaves nothing behind in its shard that
// a consumer would look at.
func neverEmptyHowever(st *stage) {
	const moves = 12
	d, restore := st.direct()
	defer restore()
	d.busy = true
	on := st.two(config{MaxInFlightPerTenant: 1})
	n, where := 0, 0
	put := func(shard int) {
		n++
		st.queue(on[shard], n)
		where = shard
	}
	take := func() firq.Item[string, int] {
		it := st.must()
		it.Done()
		return it
	}
	looks, pattern := 0, 0
	d.at = func(point string) {
		switch point {
		case "take active?", "take ready?", "nothing first?", "nothing?", "nothing version":
		default:
			return // the lease may be held
		}
		if shard := pattern >> looks & 1; looks < moves && shard != where {
			put(shard)
			d.processor = 1 - shard // it begins with the other shard
			if it := take(); it.Tenant == on[shard] {
				where = 1 - shard
			}
			d.processor = 0
		}
		looks++
	}
	for pattern = range 1 << moves {
		put(pattern & 1)
		d.busy, looks = false, 0
		take()
		d.busy = true
		if st.T().Failed() {
			st.Errorf("with the pattern %b", pattern)
			return
		}
	}
}

// seenOffOnPassed lets a task be served on a shard that a consumer has just passed,
// while what it would have found on the other one goes as well. A call that finds nothing then
// has still to see off the tenant that was served.
func seenOffOnPassed(st *stage) {
	d, restore := st.direct()
	defer restore()
	d.busy, d.processor = true, 1
	on := st.two(config{MaxInFlightPerTenant: 2})
	other := st.beside(on[0])
	st.queue(on[1], 1)
	st.must()
	if _, ok := st.try(); ok { // sees off
		st.Errorf("two of one task")
	}
	st.queue(on[1], 2)
	st.s.Stats() // the task is in the queue, and no activation is on its way
	looks := 0
	d.at = func(point string) {
		if point != "take ready?" {
			return
		}
		if looks++; looks == 2 { // the first shard was passed
			d.processor = 1
			st.queue(on[0], 3)
			st.must()
			st.must() // on[1] is at its limit now: no consumer would look there
			d.processor = 0
		}
	}
	d.busy, d.processor = false, 0
	ok := st.tryBatch() // not by the fast path, after which all shards are looked at again
	d.busy = true
	if ok {
		return // another core, or another way round
	}
	st.queue(on[0], 5)
	st.queue(other, 4)
	if it := st.must(); it.Payload != 5 {
		st.Errorf("%d came before 5, which was there first", it.Payload)
	}
}

// unsureSum disturbs each look of Shutdown at the credits: a call that came before
// it takes the free credit from one stripe and gives it back to the other, so that
// it is seen in neither, or in both.
func unsureSum(st *stage) {
	const most = 16 // an even number, and no less than the looks of credit.Free
	d, restore := st.direct()
	defer restore()
	d.busy = true
	st.build(config{MaxGlobal: 2})
	st.queue("a", 1, 2)
	d.processor = 1
	st.must() // so the free credit is in the second stripe
	var calls []*call
	for i := range most {
		calls = append(calls, d.call("E2 credit", func() { st.enqueue(fmt.Sprint(i), 10+i) }))
	}
	looks, released := 0, 0
	d.at = func(point string) {
		switch point {
		case "credit look":
			if looks++; looks == 2 && released < len(calls) {
				d.processor = released % 2
				calls[released].run("")
				released++
			}
		case "credit moving?":
			looks = 0
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d.busy = false
	if err := st.s.Shutdown(ctx); err == nil {
		st.Errorf("Shutdown returned nil, and %d tasks are queued", st.s.Len())
	}
	d.busy = true
	for _, c := range calls[released:] {
		c.run("")
	}
	st.must()
}

// closedFirst: a call takes a credit after Close has returned, and will give it back. No
// other call may be refused because the scheduler is full.
func closedFirst(st *stage) {
	d, restore := st.direct()
	defer restore()
	st.build(config{MaxGlobal: 1})
	first := d.call("E2 credit", func() { st.refusedBy(st.enqueue("a", 1), firq.ErrClosed) })
	if first.over {
		return // this core has no credits
	}
	var err error
	second := d.call("E2 credit", func() { err = st.enqueue("b", 2) })
	st.s.Close()
	first.run("E3 give back")
	second.run("")
	if !errors.Is(err, firq.ErrClosed) {
		st.Errorf("%v, of a scheduler that was never full", err)
	}
	first.run("")
}

// oldLimit: when a consumer looks, a shard is alone, and may deliver a costly task of a far
// round. Before the consumer has the lease, there is work on the other shard.
func oldLimit(st *stage) {
	d, restore := st.direct()
	defer restore()
	d.busy = true
	on := st.two(config{Quantum: 1, FairnessSlack: 1})
	if err := st.offer(on[0], task{Payload: 1, Cost: 100}); err != nil {
		st.Errorf("%v", err)
	}
	st.s.Stats()
	came := false
	d.at = func(point string) {
		if (point == "L1 try" || point == "lock try") && !came {
			came = true
			st.queue(on[1], 2)
			st.s.Stats() // drains it: the shard is ready
		}
	}
	d.busy = false
	if it := st.must(); it.Payload != 2 && came {
		st.Errorf("a task of round 100 was delivered before one of the first")
	}
	d.busy = true
	st.must()
}

// fullOfNothing: a call has the only place of its tenant, and will be refused, as the last
// credit goes to another tenant. Another call that finds the place taken must not be refused
// because the tenant is full.
func fullOfNothing(st *stage, until string) {
	d, restore := st.direct()
	defer restore()
	st.build(config{MaxGlobal: 1, MaxPerTenant: 1})
	first := d.call("E2 credit", func() { st.enqueue("a", 1) })
	if first.over {
		return // this core has no credits
	}
	var err error
	second := d.call("full holes?", func() { err = st.enqueue("a", 2) })
	st.queue("b", 3)
	first.run(until)
	second.run("full waits")
	first.run("")
	second.run("")
	st.refusedBy(err, firq.ErrGlobalFull)
}

// placeComesBack: a call that queues under the lease, because the inbox is full, has a place
// of its tenant and finds no credit. It gives the place back.
func placeComesBack(st *stage) {
	d, restore := st.direct()
	defer restore()
	st.build(config{MaxGlobal: inbox + 1, MaxPerTenant: inbox + 1})
	st.queue("a", upTo(inbox)...)
	last := d.call("put place", func() { st.refusedBy(st.enqueue("a", 50), firq.ErrGlobalFull) })
	if last.over {
		return // this core has no inboxes
	}
	st.queue("b", 51)
	last.run("")
	st.rest()
	st.queue("a", upTo(60 + inbox + 1)[60:]...)
}

// thresholdOfNothing: a call that has a place of its tenant, and will be refused, makes
// another call wait because the tenant is over its threshold. That one has to be woken.
func thresholdOfNothing(st *stage) {
	d, restore := st.direct()
	defer restore()
	st.build(config{MaxGlobal: 2, DynamicThreshold: 1})
	refused := d.call("E2 credit", func() { st.enqueue("a", 1) })
	if refused.over {
		return // this core has no credits
	}
	st.queue("b", 2)
	st.queue("c", 3)
	refused.run("void place")
	in := false
	go func() { in = st.wait(context.Background(), "a", 4) == nil }()
	synctest.Wait() // for a place of all
	st.must()
	synctest.Wait() // for the tenant to hold less
	if in {
		st.Errorf("the tenant was not over its threshold: this schedule shows nothing")
	}
	refused.run("")
	synctest.Wait()
	if !in {
		st.Errorf("the waiter for the threshold sleeps, and the tenant has nothing")
	}
}

// polledTooEarly: three calls have published their tasks and announced none, when a Cancel of
// one drains the others. As soon as the next call need not announce its task, the shard has
// to say that it is ready.
func polledTooEarly(st *stage) {
	d, restore := st.direct()
	defer restore()
	st.build(config{})
	var tk firq.Ticket
	var calls []*call
	for n := 1; n <= 3; n++ {
		x := task{Payload: n}
		if n == 1 {
			x.Ticket = &tk
		}
		calls = append(calls, d.call("E5 polled?", func() { st.offer("a", x) }))
	}
	cancels := d.call("cancel", func() { tk.Cancel() })
	st.queue("a", 4)
	found := false
	consumer := d.call("L1 busy", func() { _, found = st.try() })
	if consumer.over && !found {
		st.Errorf("TryDequeue found nothing")
	}
	cancels.run("")
	consumer.run("")
	for _, c := range calls {
		c.run("")
	}
}

// fullOfPut: while a call looks whether its tenant is full, another one that is
// refused gives back the last place, and a third takes it under the lease, without
// a ticket. The inbox is as full as it was, for its first slot was still to be
// written, so that the tenant's word is what it was. Then that slot is written. The
// third is refused as well.
func fullOfPut(st *stage) {
	d, restore := st.direct()
	defer restore()
	on := st.two(config{MaxGlobal: 2, MaxPerTenant: 2})
	n := 0
	start := func() *call { // a call that has seen a free credit
		n++
		task := n
		return d.call("E1 ticket", func() { st.enqueue(on[0], task) })
	}
	var calls []*call
	for range inbox + 1 {
		calls = append(calls, start())
	}
	if calls[0].over {
		return // this core has no tickets
	}
	var err error
	asks := d.call("E1 ticket", func() { err = st.enqueue(on[0], 40) })
	calls[0].run("E4 put")
	st.queue(on[1], 41)
	for _, c := range calls[1 : inbox-1] {
		c.run("") // refused: the inbox is full of nothing, but for two slots
	}
	calls[inbox-1].run("E2 credit")
	asks.run("full holes?")
	calls[inbox-1].run("")
	calls[inbox].run("E2 credit") // under the lease
	st.must()
	calls[0].run("")
	asks.run("full waits")
	st.queue(on[1], 42)
	calls[inbox].run("")
	asks.run("")
	st.refusedBy(err, firq.ErrGlobalFull)
}

// fullOfBatch: a batch has taken all places of its tenant, and gets credits for one task
// only. No call is refused because of the other places.
func fullOfBatch(st *stage) {
	d, restore := st.direct()
	defer restore()
	st.build(config{MaxGlobal: 3, MaxPerTenant: 3})
	st.queue("a", 1)
	st.must() // a is known
	st.queue("b", 2, 3)
	batch := d.call("E6 closed?", func() {
		n, _ := st.s.EnqueueBatch("a", []task{{Payload: 4}, {Payload: 5}, {Payload: 6}})
		for i := range n {
			st.accepted[4+i] = true
		}
	})
	if batch.over {
		return // this core takes them one by one
	}
	if it := st.must(); it.Tenant != "b" {
		st.Errorf("%q was served before b", it.Tenant)
	}
	if err := st.enqueue("a", 7); err != nil {
		st.Errorf("%v, with one of three places taken", err)
	}
	batch.run("")
}
