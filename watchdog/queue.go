package watchdog

import (
	"slices"
	"time"

	"github.com/firq-go/firq"
)

// Queue is a queue to watch. QueueOf makes one of a scheduler; any other queue can
// be watched by its own Read.
type Queue struct {
	// Name in reports; not empty.
	Name string
	// Warning and Critical thresholds for the wait in this queue and for a
	// stall. Both 0: those of Options. Only one given: Critical is ten times
	// Warning; Warning that of Options, if that is not above Critical.
	Warning, Critical time.Duration
	// Read returns the queue's counters. It is called once per interval by the
	// goroutine of Run, which waits for it; not nil.
	Read func() QueueCounters
}

// QueueCounters are the counters that a Queue reads. Except for Len they only grow.
type QueueCounters struct {
	Len       int    // tasks queued now
	Delivered uint64 // tasks
	Expired   uint64 // tasks that were dropped because their deadline had passed
	// Waits of delivered tasks, as in firq.QueueTime: ascending, not cumulative,
	// the same bounds each time.
	Waits []firq.Bucket
}

// QueueOf watches a queue by its firq.Stats, read once per interval: the method
// Stats of a firq.Scheduler, for example, or a function that returns those of the
// queue in something larger.
func QueueOf[K comparable](name string, stats func() firq.Stats[K]) Queue {
	return Queue{Name: name, Read: func() QueueCounters {
		st := stats()
		return QueueCounters{
			Len:       st.QueueLen,
			Delivered: st.Dequeued,
			Expired:   st.Expired,
			Waits:     st.QueueTime.Buckets,
		}
	}}
}

// queue watches a Queue from interval to interval; one goroutine uses it.
type queue struct {
	Queue
	last  QueueCounters
	moved time.Time // the end of the last interval that was no stall
}

// start forgets what was before now.
func (q *queue) start(now time.Time) {
	q.last, q.moved = q.read(), now
}

func (q *queue) read() QueueCounters {
	c := q.Read()
	c.Waits = slices.Clone(c.Waits) // Read may use the memory again
	return c
}

// sample ends the interval at now. The interval was a stall if it began with a
// backlog and nothing was delivered in it, unless the backlog is gone without
// expiring (cancelled, closed). One that began without a backlog is none: its
// first task may have come at the last moment.
func (q *queue) sample(now time.Time, quantile float64) QueueSample {
	c := q.read()
	s := QueueSample{
		Name:      q.Name,
		Len:       c.Len,
		Delivered: grown(q.last.Delivered, c.Delivered),
		Expired:   grown(q.last.Expired, c.Expired),
		Wait:      summarize(waits(q.last.Waits, c.Waits), quantile),
	}
	if s.Delivered > 0 || q.last.Len == 0 || c.Len == 0 && s.Expired == 0 {
		q.moved = now
	}
	s.Stalled = now.Sub(q.moved)
	q.last = c
	return s
}

// waits returns the samples that came after old, with lower bounds instead of
// upper ones.
func waits(old, now []firq.Bucket) []bin {
	bs := make([]bin, len(now))
	var from time.Duration
	for i, b := range now {
		bs[i] = bin{from, b.Count}
		if i < len(old) {
			bs[i].n = grown(old[i].Count, b.Count)
		}
		from = b.UpperBound
	}
	return bs
}
