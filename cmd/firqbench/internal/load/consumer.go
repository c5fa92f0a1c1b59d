package load

import (
	"errors"
	"runtime"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/spin"
	"github.com/firq-go/firq/hist"
)

// consumer is one goroutine that dequeues. All fields are its own until it has
// ended.
type consumer struct {
	r          *run
	line       spin.Line
	unreported int64 // to the window

	waits, focus *hist.Local // in the measured window; with Spec.Rate, due in it
	response     *hist.Local // Open.Queue
	hurried      uint64      // Open.Hurried
	delivered    uint64      // in the measured window
	inTime       uint64      // of them, before their deadline; with Scenario.Life
	total        uint64      // in the whole run
	sum          uint64      // of their payloads
	sight        *sight      // nil without a watch
	labels       labels      // none of a contest.Runner, whose goroutines are its own

	_ [64]byte // the next allocation belongs to another goroutine
}

func newConsumer(r *run) *consumer {
	return &consumer{r: r, waits: hist.NewLocal(), focus: hist.NewLocal(), response: hist.NewLocal(), sight: r.newSight(&r.consumers)}
}

func (c *consumer) loop() {
	if c.r.s.Batch > 1 {
		c.loopBatch()
		return
	}
	for {
		it, err := c.r.q.Dequeue(c.r.ctx)
		if err != nil {
			c.ended(err)
			return
		}
		c.take(&it)
	}
}

func (c *consumer) loopBatch() {
	items := make([]contest.Item, c.r.s.Batch)
	for {
		n, err := c.r.q.DequeueBatch(c.r.ctx, items)
		if err != nil {
			c.ended(err)
			return
		}
		for i := range items[:n] {
			c.take(&items[i])
		}
		if c.r.s.WorkPerCall && c.r.phase.Load() != stopping {
			c.r.work.Do(&c.line)
		}
	}
}

func (c *consumer) ended(err error) {
	if !errors.Is(err, firq.ErrClosed) && c.r.ctx.Err() == nil {
		c.r.fail(err)
	}
}

// take is what is done with each task. The phase is read after the delivery: a
// task counts when it arrives.
func (c *consumer) take(it *contest.Item) {
	c.total++
	c.sum += it.Payload
	phase := c.r.phase.Load()
	if c.labels.of != nil {
		c.labels.enter(phase)
	}
	if phase == measuring {
		c.delivered++
		if c.r.s.Life > 0 && contest.Now() <= contest.OnClock(it.Deadline) {
			c.inTime++
		}
		if !c.r.open {
			c.waits.Record(it.Wait)
			if it.Payload&focusBit != 0 {
				c.focus.Record(it.Wait)
			}
		}
	}
	if phase == recording {
		c.sight.took(it, c.waited(it))
	}
	if c.r.open {
		c.takeOpen(it, phase)
	}
	if w := c.r.window; w != nil && it.Payload&freeBit == 0 {
		c.unreported++
		if c.unreported >= w.chunk {
			w.finished(c.unreported)
			c.unreported = 0
			w.hold(&c.r.phase)
		}
	}
	if phase == stopping {
		return // draining is not measured: be quick
	}
	if !c.r.s.WorkPerCall || c.r.s.Batch == 1 {
		c.r.work.Do(&c.line)
	}
	c.r.serve.Do(&c.line)
	if c.r.paced {
		runtime.Gosched() // see producer.wait
	}
}
