package lockfree

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/firq-go/firq"
)

// produce hands in the tasks of one producer.
func (r *schedule) produce(producer int, rnd *rand.Rand) {
	var tickets [4]firq.Ticket
	for seq := 0; seq < stressTasks; {
		if rnd.IntN(8) == 0 {
			seq += r.batch(producer, seq, rnd)
			continue
		}
		p := load{producer, rnd.IntN(stressTenants), seq + 1, producer*stressTasks + seq}
		seq++
		x := firq.Task[load]{Payload: p, Cost: 1 + rnd.Int64N(3)}
		if r.priorities {
			x.Priority = firq.Priority(rnd.IntN(int(firq.PriorityCritical) + 1))
		}
		if r.deadlines && rnd.IntN(3) == 0 {
			x.Deadline = time.Now().Add(time.Duration(rnd.IntN(200)-50) * time.Microsecond)
		}
		if r.tickets && rnd.IntN(2) == 0 {
			x.Ticket = &tickets[rnd.IntN(len(tickets))]
		}
		err := r.enqueue(p.tenant, x, rnd)
		switch {
		case err == nil:
			r.ledger.accepted[p.id] = true
		case !errors.Is(err, firq.ErrRejected) && err != firq.ErrClosed && !errors.Is(err, firq.ErrInvalidTask):
			r.errorf("Enqueue: %v", err)
		}
		if r.tickets && rnd.IntN(4) == 0 && tickets[rnd.IntN(len(tickets))].Cancel() {
			r.ledger.cancelled.Add(1)
		}
		if n := r.s.Len(); n < 0 || n > r.s.shared.Config.MaxGlobal {
			r.errorf("Len is %d", n)
		}
		switch rnd.IntN(40) {
		case 0:
			r.s.Stats()
		case 1:
			r.s.SetQuantum(p.tenant, 3)
		case 2:
			r.s.ResetQuantum(p.tenant)
		case 3, 4, 5:
			runtime.Gosched()
		}
	}
}

// batch hands in a few of a producer's tasks together, of which the first one is number seq,
// and returns how many.
func (r *schedule) batch(producer, seq int, rnd *rand.Rand) int {
	tenant := rnd.IntN(stressTenants)
	ts := make([]firq.Task[load], min(1+rnd.IntN(2*batchSize+4), stressTasks-seq))
	for i := range ts {
		ts[i] = firq.Task[load]{Payload: load{producer, tenant, seq + i + 1, producer*stressTasks + seq + i}, Cost: rnd.Int64N(3)}
		if r.priorities && rnd.IntN(20) == 0 {
			ts[i].Priority = firq.PriorityHigh
		}
		if r.deadlines && rnd.IntN(20) == 0 {
			ts[i].Deadline = time.Now().Add(time.Duration(rnd.IntN(200)-50) * time.Microsecond)
		}
	}
	r.meet(rnd)
	n, err := r.s.EnqueueBatch(tenant, ts)
	if (n < len(ts)) != (err != nil) || err != nil && !errors.Is(err, firq.ErrRejected) && err != firq.ErrClosed {
		r.errorf("EnqueueBatch: %d of %d, %v", n, len(ts), err)
	}
	for i := range ts[:n] {
		r.ledger.accepted[ts[i].Payload.id] = true
	}
	return len(ts)
}

func (r *schedule) enqueue(k int, x firq.Task[load], rnd *rand.Rand) error {
	switch rnd.IntN(4) {
	case 0:
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(500))*time.Microsecond)
		defer cancel()
		return r.s.EnqueueWait(ctx, k, x)
	case 1:
		_, err := r.s.EnqueueBatch(k, []firq.Task[load]{x})
		return err
	}
	r.meet(rnd)
	return r.s.Enqueue(k, x)
}

// meet lets tasks of calls that come go under the lock, if it is free, or by rings and lanes.
func (r *schedule) meet(rnd *rand.Rand) {
	if rnd.IntN(2) == 0 {
		r.s.uncontended()
	} else {
		r.s.crowd()
	}
}

// consume takes items, in all ways that there are, until the scheduler is closed.
func (r *schedule) consume(rnd *rand.Rand) {
	var last [stressProducers][stressTenants][firq.PriorityCritical + 1]int
	dst := make([]firq.Item[int, load], 5)
	for {
		afterClose := r.ledger.closed.Load()
		n, err := r.dequeue(dst[:1+rnd.IntN(len(dst))], rnd)
		if err == firq.ErrClosed {
			return
		}
		if n > 0 && afterClose {
			r.errorf("delivered after Close")
		}
		for i := range dst[:n] {
			it := &dst[i]
			p := it.Payload
			r.ended(p, &r.ledger.delivered)
			if it.Tenant != p.tenant {
				r.errorf("%v came from tenant %d", p, it.Tenant)
			}
			was := &last[p.producer][p.tenant][it.Priority]
			// With several consumers, these lines do not run in the order in
			// which the items were delivered.
			if r.consumers == 1 && *was >= p.seq {
				r.errorf("%v delivered after number %d", p, *was)
			}
			*was = p.seq
			if rnd.IntN(10) == 0 {
				it.Charge(rnd.Int64N(5) - 2)
			}
			it.Done()
			if rnd.IntN(3) == 0 {
				it.Done()
			}
		}
	}
}

func (r *schedule) dequeue(dst []firq.Item[int, load], rnd *rand.Rand) (n int, err error) {
	var ok bool
	switch rnd.IntN(4) {
	case 0:
		if dst[0], ok = r.s.TryDequeue(); ok {
			n = 1
		}
	case 1:
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Microsecond)
		defer cancel()
		if dst[0], err = r.s.Dequeue(ctx); err == nil {
			n = 1
		}
	case 2:
		if dst[0], err = r.s.Dequeue(context.Background()); err == nil {
			n = 1
		}
	default:
		n, err = r.s.DequeueBatch(context.Background(), dst)
	}
	return n, err
}

// inspect takes locks and checks what their last holders have left.
func (r *schedule) inspect(end <-chan struct{}, rnd *rand.Rand) {
	for {
		select {
		case <-end:
			return
		case <-time.After(time.Duration(rnd.IntN(100)) * time.Microsecond):
		}
		sh := r.s.shards[rnd.IntN(len(r.s.shards))]
		sh.mu.Lock()
		err := sh.check()
		sh.mu.Unlock()
		if err != nil {
			r.errorf("%v", err)
		}
	}
}
