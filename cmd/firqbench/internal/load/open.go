package load

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/hist"
)

// Open is what is known of an open loop only (Spec.Rate). It is about the tasks
// whose intended start was in the measured window, whenever they were sent and
// delivered. Tasks that were rejected or have expired are in Enqueue only, and in
// the counts of Result.
//
// Two that are late can make a task late: the contestant, whose calls hold up the
// producer that should send the next task, and the load generator, which shares
// the processors with it, and whose sleeps end late. So each producer also keeps
// the time of an ideal one, that is never late and needs no time between two
// calls: its next call starts when the task is due or when its last call has
// ended, and calls take as long as they took. What the real producer was later
// than that is Lag, the generator's fault; what the ideal one was later than
// intended is Held, the contestant's. (A call in whose middle the operating
// system took the processor away counts as a long call.)
type Open struct {
	Offered float64 `json:"offered_per_sec"`  // tasks/s that were due
	Sent    float64 `json:"sent_per_sec"`     // of them, sent before the window was over
	Unsent  uint64  `json:"unsent,omitempty"` // due and never sent: the producers were too late
	// Hurried counts tasks that were delivered when the consumers had stopped to
	// work, because the backlog took too long: their queue time would be longer.
	Hurried uint64 `json:"hurried,omitempty"`

	Enqueue Latency `json:"enqueue"` // from the intended start to the end of the call
	Queue   Latency `json:"queue"`   // from the intended start to the delivery
	Lag     Latency `json:"lag"`     // how late calls started because of the generator
	Held    Latency `json:"held"`    // how late because of earlier calls

	// Behind names the side to blame if less than Kept of what was due in the window
	// was sent in it; "" if more was.
	Behind string `json:"behind,omitempty"`
}

// Values of Open.Behind.
const (
	BehindGenerator  = "generator"
	BehindContestant = "contestant"
)

// Kept is the part of the tasks that must have been sent in time for producers
// to have kept up with their schedule.
const Kept = 0.98

// GeneratorShare returns how much of the mean queue time is the generator's own
// lateness, 0 to 1. Where it is large, latencies say more about the generator
// than about the contestant.
func (o *Open) GeneratorShare() float64 {
	if o.Queue.Mean <= 0 {
		return 0
	}
	return min(1, float64(o.Lag.Mean)/float64(o.Queue.Mean))
}

// grace is how much longer than the window the producers may take to send, and
// the consumers to serve, what was due in it. Then the rest is drained; that
// leaves more than half of drainLimit.
func (r *run) grace() time.Duration { return min(r.Measure, 10*time.Second) + time.Second }

// plan finds out how the producers are paced.
func (r *run) plan() error {
	calls := r.s.Offered(runtime.GOMAXPROCS(0)) / float64(r.s.Batch)
	shape := arrivals.Constant
	if r.open = r.Rate > 0; r.open {
		if r.s.Shape != scenario.Flow {
			return fmt.Errorf("%s: a closed loop by nature, cannot run at a rate", r.s.Name)
		}
		calls, shape = r.Rate/float64(r.s.Batch), r.Arrivals
		r.from, r.to = r.Warmup, r.Warmup+r.Measure
		r.end = r.to
		if r.Watch != nil {
			r.end = math.MaxInt64
		}
		r.every = 1
	}
	r.paced = calls > 0
	streams := r.s.Producers
	if !r.paced && r.s.QuietRate > 0 {
		calls, shape, streams = r.s.QuietRate/float64(r.s.Batch), arrivals.Poisson, r.s.Producers-r.s.HotProducers
	}
	r.schedule = arrivals.Schedule{Shape: shape, Rate: calls, Streams: streams, Mid: r.Warmup + r.Measure/2}
	return nil
}

// clocked is the part of a producer that goes by the clock. Times are since
// run.origin.
type clocked struct {
	arrivals *arrivals.Stream
	due      time.Duration // when the next call is to be made
	start    time.Duration // when the present one was to be made
	now      time.Duration // last look at the clock
	fresh    int           // calls that may be made before the next look
	free     time.Duration // when the ideal producer's last call ended

	entry, lag, held *hist.Local // Open.Enqueue, Lag, Held
	inTime           uint64      // tasks of the window sent in it
	unsent           uint64
}

// newClocked returns that of a stream of run.schedule.
func newClocked(r *run, stream int) clocked {
	c := clocked{arrivals: r.schedule.Stream(stream), entry: hist.NewLocal(), lag: hist.NewLocal(), held: hist.NewLocal()}
	c.due = c.arrivals.Next()
	return c
}

// paced reports whether a call is due, and makes it the present one; if none is,
// it has waited a little. A producer that comes late makes the calls that are due
// one after another: the load does not depend on what became of those before.
func (p *producer) paced() bool {
	const most = 64 // calls that share a look at the clock, and a deadline
	if p.due > p.now || p.fresh == 0 {
		p.now = contest.Now() - p.r.origin
		if p.due > p.now {
			p.wait(p.due - p.now)
			return false
		}
		p.fresh = most
		p.deadlines()
	}
	p.fresh--
	p.start, p.due = p.due&^(dueUnit-1), p.arrivals.Next() // as the payload will have it
	return true
}

// wait waits for about d, or less.
//
// An open loop gives way again and again when little is left: a sleep of 250 us
// ends after a millisecond where nothing else keeps Go awake, which as lateness
// would be many times what is measured. (50,000 tasks/s on two processors: calls
// are 0.6 us late in the median, and 560 us if producers sleep.) The price is
// that the processors never are idle.
//
// Overload sleeps: there the consumers keep all processors busy, and a sleeper
// wakes when one of them gives way. They do so after each task: otherwise only
// when Go takes the processor away from them, every 10 ms, and the load would
// come in heaps that size.
func (p *producer) wait(d time.Duration) {
	const nap, oversleep = 250 * time.Microsecond, time.Millisecond
	if p.r.open && d < nap+oversleep {
		runtime.Gosched()
		return
	}
	time.Sleep(nap)
}

// note records a call of an open loop.
func (p *producer) note(start, end time.Duration, tasks int, counts bool) {
	ideal := max(p.start, p.free)
	p.free = ideal + end - start
	if !counts {
		return
	}
	n := int64(tasks)
	p.lag.RecordN(start-ideal, n)
	p.held.RecordN(ideal-p.start, n)
	p.entry.RecordN(end-p.start, n)
	if start < p.r.to {
		p.inTime += uint64(n)
	}
}

// leave counts what a producer of an open loop that has to stop leaves unsent.
func (p *producer) leave() {
	for ; p.r.open && p.due < p.r.to; p.due = p.arrivals.Next() {
		if p.due >= p.r.from {
			p.unsent += uint64(p.r.s.Batch)
		}
	}
}

// waited returns the queue time, in an open loop from the intended start.
func (c *consumer) waited(it *contest.Item) time.Duration {
	if c.r.open {
		return contest.Now() - c.r.origin - dueOf(it.Payload)
	}
	return it.Wait
}

// takeOpen records a task of an open loop. Whether it counts was settled when it
// was due.
func (c *consumer) takeOpen(it *contest.Item, phase int32) {
	due := dueOf(it.Payload)
	if due < c.r.from || due >= c.r.to { // the latter only with a watch
		return
	}
	wait := contest.Now() - c.r.origin - due
	c.response.Record(wait)
	c.waits.Record(it.Wait)
	if it.Payload&focusBit != 0 {
		c.focus.Record(wait)
	}
	if phase == stopping {
		c.hurried++
	}
}

// opened sums up an open loop.
func (r *run) opened(producers []*producer, consumers []*consumer, h *Histograms) *Open {
	entry, lag, held, response := hist.NewSnapshot(), hist.NewSnapshot(), hist.NewSnapshot(), hist.NewSnapshot()
	h.Queue, h.Enqueue, h.Lag = response, entry, lag
	var o Open
	var due, inTime uint64
	for _, p := range producers {
		p.entry.AddTo(entry)
		p.lag.AddTo(lag)
		p.held.AddTo(held)
		o.Unsent += p.unsent
		inTime += p.inTime
		due += p.offered + p.unsent
	}
	for _, c := range consumers {
		c.response.AddTo(response)
		o.Hurried += c.hurried
	}
	o.Enqueue, o.Queue, o.Lag, o.Held = Summary(entry), Summary(response), Summary(lag), Summary(held)
	o.Offered, o.Sent = float64(due)/r.Measure.Seconds(), float64(inTime)/r.Measure.Seconds()
	if o.Sent < Kept*o.Offered {
		o.Behind = BehindContestant
		if o.Lag.Mean > o.Held.Mean {
			o.Behind = BehindGenerator
		}
	}
	return &o
}
