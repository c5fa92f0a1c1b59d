package drr_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/proof/race"
)

// What CoDel, AdaptiveLIFO and plain first in, first out make of an overload, in virtual
// time: the same tasks come to each of them, one server takes a millisecond per task
// (exponentially distributed), and a result is worth something if it is there within 100
// ms. Nothing expires, and no task is refused but by the limit of 1,000 tasks.
//
//	go test ./drr -run TestOverloadTable -v

// counted is a host that counts what CoDel drops.
type counted struct{ dropped int }

func (*counted) Expired(*drr.Tenant[int, int], *drr.Task[int]) {}
func (c *counted) Late(*drr.Tenant[int, int], *drr.Task[int])  { c.dropped++ }

const (
	overloadLimit    = 1000
	overloadDeadline = 100 * time.Millisecond
	overloadSeconds  = 120
)

// outcome is a line of the table.
type outcome struct {
	good          float64 // served within the deadline, per second; 1,000 can be served
	p50, p99      time.Duration
	dropped, full float64 // parts of what has come
}

func (o outcome) String() string {
	return fmt.Sprintf("%4.0f/s | %v | %v | %.0f %% | %.0f %%", o.good, o.p50.Round(time.Millisecond), o.p99.Round(time.Millisecond), 100*o.dropped, 100*o.full)
}

// arrivalsOf returns when tasks come: rate times the capacity on average, all of it in the
// first half of each two seconds if bursty.
func arrivalsOf(rate float64, bursty bool) (at []int64) {
	r := rand.New(rand.NewPCG(7, uint64(rate*100)))
	for t := 0.0; t < overloadSeconds*1e9; {
		gap := r.ExpFloat64() * 1e6 / rate
		if bursty {
			gap /= 2
		}
		if t += gap; bursty && math.Mod(t, 2e9) > 1e9 {
			t += 1e9
		}
		at = append(at, int64(t))
	}
	return at
}

func simulate(cfg drr.Config, arrivals []int64) outcome {
	host := new(counted)
	q := drr.New[int, int](cfg, host)
	t := new(drr.Tenant[int, int])
	t.Init(1, 1)
	r := rand.New(rand.NewPCG(8, 1))
	var o outcome
	var waits []time.Duration
	good, full, next := 0, 0, 0
	come := func(until int64) {
		for ; next < len(arrivals) && arrivals[next] <= until; next++ {
			if q.Len() == overloadLimit {
				full++
				continue
			}
			q.Push(t, &drr.Task[int]{Cost: 1, Enqueued: arrivals[next], Due: drr.NoDeadline, Priority: firq.PriorityNormal})
		}
	}
	for now := int64(0); next < len(arrivals); {
		come(now)
		_, task, v := q.Next(now)
		if v != drr.Delivered {
			if next < len(arrivals) {
				now = max(now, arrivals[next])
			}
			continue
		}
		wait := time.Duration(now - task.Enqueued)
		now += int64(r.ExpFloat64() * 1e6)
		waits = append(waits, wait)
		if time.Duration(now-task.Enqueued) <= overloadDeadline {
			good++
		}
	}
	slices.Sort(waits)
	o.p50, o.p99 = waits[len(waits)/2], waits[len(waits)*99/100]
	o.good = float64(good) / overloadSeconds
	o.dropped, o.full = float64(host.dropped)/float64(len(arrivals)), float64(full)/float64(len(arrivals))
	return o
}

var overloadQueues = []struct {
	name string
	cfg  drr.Config
}{
	{"FIFO", drr.Config{}},
	{"AdaptiveLIFO", drr.Config{Order: firq.AdaptiveLIFO, LowWater: 40, HighWater: 80}},
	{"CoDel", drr.Config{Target: int64(5 * time.Millisecond), Interval: int64(100 * time.Millisecond)}},
	{"CoDel, 20 ms", drr.Config{Target: int64(5 * time.Millisecond), Interval: int64(20 * time.Millisecond)}},
	{"CoDel, target 50 ms", drr.Config{Target: int64(50 * time.Millisecond), Interval: int64(100 * time.Millisecond)}},
}

func TestOverloadTable(t *testing.T) {
	race.OneGoroutine(t)
	if testing.Short() {
		t.Skip("two minutes for each of 50 queues, in virtual time")
	}
	var b strings.Builder
	got := map[string]outcome{}
	for _, shape := range []string{"steady", "bursty"} {
		for _, rate := range []float64{0.9, 1.2, 1.5, 2, 3} {
			arrivals := arrivalsOf(rate, shape == "bursty")
			for _, x := range overloadQueues {
				o := simulate(x.cfg, arrivals)
				got[fmt.Sprint(shape, rate, x.name)] = o
				fmt.Fprintf(&b, "| %s | %g | %s | %v |\n", shape, rate, x.name, o)
			}
		}
	}
	t.Log("\n" + b.String())

	// What docs/design/order.md says of it.
	for _, rate := range []float64{1.2, 1.5} {
		fifo, lifo, short := got[fmt.Sprint("steady", rate, "FIFO")], got[fmt.Sprint("steady", rate, "AdaptiveLIFO")], got[fmt.Sprint("steady", rate, "CoDel, 20 ms")]
		if fifo.good > 20 || lifo.good < 950 || short.good < 980 || short.p99 > 100*time.Millisecond || lifo.p99 < 200*time.Millisecond {
			t.Errorf("%g: a moderate overload: FIFO %v, AdaptiveLIFO %v, CoDel with a short interval %v", rate, fifo, lifo, short)
		}
	}
	for _, rate := range []float64{2, 3} {
		lifo, short := got[fmt.Sprint("steady", rate, "AdaptiveLIFO")], got[fmt.Sprint("steady", rate, "CoDel, 20 ms")]
		if lifo.good < short.good*1.2 {
			t.Errorf("%g: a heavy overload: AdaptiveLIFO %v, CoDel %v", rate, lifo, short)
		}
	}
	if quiet := got["steady0.9CoDel"]; quiet.dropped > 0.01 {
		t.Errorf("without overload %v", quiet)
	}
}
