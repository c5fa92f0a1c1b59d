//go:build firq_failpoints

package schedules

import (
	"context"
	"errors"
	"fmt"

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
	names := make([]string, most)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	st.known(config{MaxGlobal: 2}, names...)
	st.queue("a", 1, 2)
	d.processor = 1
	st.must() // so the free credit is in the second stripe
	var calls []*call
	for i := range most {
		calls = append(calls, d.call("credit", func() { st.enqueue(names[i], 10+i) }))
	}
	if st.passes(calls[0], "credit") {
		return
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
	st.known(config{MaxGlobal: 1}, "a", "b")
	first := d.call("credit", func() { st.refusedBy(st.enqueue("a", 1), firq.ErrClosed) })
	if st.passes(first, "credit") {
		return
	}
	var err error
	second := d.call("credit", func() { err = st.enqueue("b", 2) })
	st.s.Close()
	first.run("credit state")
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
	st.known(config{MaxGlobal: 1, MaxPerTenant: 1}, "a", "b")
	first := d.call("credit", func() { st.enqueue("a", 1) })
	if st.passes(first, "credit") {
		return
	}
	var err error
	second := d.call("unsure", func() { err = st.enqueue("a", 2) })
	if st.passes(second, "unsure") {
		return
	}
	st.queue("b", 3)
	first.run(until)
	second.run("unsure")
	first.run("")
	second.run("")
	st.refusedBy(err, firq.ErrGlobalFull)
}
