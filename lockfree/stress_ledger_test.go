package lockfree

import (
	"sync/atomic"

	"github.com/firq-go/firq"
)

// ledger is what became of the tasks of a schedule.
type ledger struct {
	accepted  [stressProducers * stressTasks]bool // each written by its producer
	ends      [stressProducers * stressTasks]atomic.Int32
	delivered atomic.Int64
	dropped   atomic.Int64
	cancelled atomic.Int64
	closed    atomic.Bool // Close has returned
}

// ended notes the end of a task.
func (r *schedule) ended(p load, how *atomic.Int64) {
	how.Add(1)
	if n := r.ledger.ends[p.id].Add(1); n != 1 {
		r.errorf("%v has ended %d times", p, n)
	}
}

func (r *schedule) dropped(_ int, p load, _ firq.DropReason) { r.ended(p, &r.ledger.dropped) }

// finish checks the books when all calls have returned and everything is over.
func (r *schedule) finish() {
	l := &r.ledger
	accepted := int64(0)
	for id, ok := range l.accepted {
		if ok {
			accepted++
		}
		if n := l.ends[id].Load(); ok != (n == 1) {
			r.errorf("task %d: accepted %t, ended %d times", id, ok, n)
		}
	}
	if l.delivered.Load()+l.dropped.Load() != accepted {
		r.errorf("%d delivered, %d dropped, %d accepted", l.delivered.Load(), l.dropped.Load(), accepted)
	}
	st := r.s.Stats()
	out := st.Dequeued + st.Expired + st.Cancelled + st.DroppedPolicy + st.Overload + st.Closed
	if int64(st.Enqueued) != accepted || st.Enqueued != out || st.QueueLen != 0 || st.InFlight != 0 {
		r.errorf("%d accepted; %+v", accepted, st)
	}
	if int64(st.Dequeued) != l.delivered.Load() || int64(st.Cancelled) != l.cancelled.Load() {
		r.errorf("%d delivered, %d cancelled; %+v", l.delivered.Load(), l.cancelled.Load(), st)
	}
	if err := atRest(r.s); err != nil {
		r.errorf("in the end: %v", err)
	}
	r.s.tenants.Range(func(k int, t *tenant[int, load]) bool {
		if held := t.held(); held != 0 || !t.Registered() {
			r.errorf("tenant %d: %d places taken, known: %t", k, held, t.Registered())
		}
		return true
	})
}
