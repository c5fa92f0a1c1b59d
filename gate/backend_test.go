package gate

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"
)

// backend is a simulated service: a number of calls at a time (knee) take base on
// average, exponentially distributed. More take longer in proportion: either they
// share what there is, or they queue for one of knee servers. Time is counted,
// nothing sleeps; there is always another call.
type backend struct {
	limit, inUse int
	a            *Adaptive
	random       *rand.Rand
	now          time.Duration

	knee   int
	base   time.Duration
	queues bool    // else it shares
	demand int     // calls that there are at a time, at most; 0: any number
	fails  float64 // share of calls that fail whatever the load

	timeout time.Duration // after which a call counts as failed; 0: never
	work    float64       // seconds that each call at work has had, of those that share
	busy    jobs          // at work
	queue   []job
	done    int
}

type job struct {
	came time.Duration
	ends float64 // in terms of work
}

type jobs []job

func (j jobs) Len() int           { return len(j) }
func (j jobs) Less(a, b int) bool { return j[a].ends < j[b].ends }
func (j jobs) Swap(a, b int)      { j[a], j[b] = j[b], j[a] }
func (j *jobs) Push(x any)        { *j = append(*j, x.(job)) }
func (j *jobs) Pop() any {
	last := (*j)[len(*j)-1]
	*j = (*j)[:len(*j)-1]
	return last
}

func (b *backend) SetLimit(n int) { b.limit = n }
func (b *backend) Limit() int     { return b.limit }
func (b *backend) InUse() int     { return b.inUse }

// newBackend returns a backend behind a limit that is start at first.
func newBackend(t testing.TB, start, knee int, base time.Duration, cfg AdaptiveConfig) *backend {
	t.Helper()
	b := &backend{limit: start, knee: knee, base: base, random: rand.New(rand.NewPCG(1, uint64(knee)))}
	cfg.Now = func() time.Time { return time.Unix(1, 0).Add(b.now) }
	var err error
	if b.a, err = NewAdaptive(b, cfg); err != nil {
		t.Fatal(err)
	}
	return b
}

// speed is at what rate each call at work gets on.
func (b *backend) speed() float64 {
	if b.queues {
		return 1
	}
	return min(1, float64(b.knee)/float64(len(b.busy)))
}

// arrive lets in as many calls as there may be.
func (b *backend) arrive() {
	for b.inUse < b.limit && (b.demand == 0 || b.inUse < b.demand) {
		b.inUse++
		b.begin(job{came: b.now})
	}
}

func (b *backend) begin(j job) {
	if b.queues && len(b.busy) >= b.knee {
		b.queue = append(b.queue, j)
		return
	}
	j.ends = b.work + b.random.ExpFloat64()*b.base.Seconds()
	heap.Push(&b.busy, j)
}

// step lets time pass until the next call is over.
func (b *backend) step() {
	b.arrive()
	j := heap.Pop(&b.busy).(job)
	b.busy = append(b.busy, j) // it counts for the speed
	b.now += time.Duration((j.ends - b.work) / b.speed() * 1e9)
	b.busy = b.busy[:len(b.busy)-1]
	b.work = j.ends
	b.done++
	latency := b.now - j.came
	failed := b.random.Float64() < b.fails || b.timeout > 0 && latency > b.timeout
	b.a.Observe(latency, failed)
	b.inUse--
	if len(b.queue) > 0 && len(b.busy) < b.knee {
		next := b.queue[0]
		b.queue = b.queue[1:]
		b.begin(next)
	}
}

// run lets so much time pass. It returns the lowest, the highest, and the average
// limit, and the share of the backend's capacity that was used.
func (b *backend) run(d time.Duration) (low, high int, mean, use float64) {
	low, high = b.limit, b.limit
	start, from, done := b.now, b.now, b.done
	for b.now < start+d {
		limit := b.limit
		b.step()
		mean += float64(limit) * float64(b.now-from)
		from = b.now
		low, high = min(low, b.limit), max(high, b.limit)
	}
	took := float64(b.now - start)
	return low, high, mean / took, float64(b.done-done) * float64(b.base) / float64(b.knee) / took
}
