// Package arrivals says when tasks come to a system that cannot ask them to
// wait: the schedules of open loops.
//
// # Why intended start
//
// A closed loop sends the next task when the last call has returned. If the
// system stalls for a second, the loop stalls with it, and the thousand tasks
// that would have come in that second are never sent: one bad sample stands for
// all of them. Gil Tene calls that coordinated omission ("How NOT to Measure
// Latency"). Here the schedule is fixed before the run, and a latency counts
// from when the task was to be sent, whenever it was.
//
// HdrHistogram offers a correction for histograms that were recorded in a closed
// loop (RecordCorrectedValue): for a value above the expected interval it adds the
// values that evenly spaced tasks would have seen in the same time, each one interval
// shorter than the one before. That is an estimate. It supposes a constant
// interval, that a stall holds up nothing but what it was seen in, and that the
// tasks which were never sent would not have made it longer. A schedule supposes
// nothing: the tasks are really sent, and queue behind each other.
package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Shape says how arrivals lie in time. All have the same mean rate.
type Shape string

// The shapes.
const (
	// Constant: equal intervals; the streams take turns.
	Constant Shape = "constant"
	// Poisson: independent of each other, as requests of many clients are; the
	// intervals are distributed exponentially.
	Poisson Shape = "poisson"
	// Bursty: Poisson, but all of it in the first fifth of each BurstPeriod, at
	// five times the rate; then silence. All streams burst together.
	Bursty Shape = "bursty"
	// Ramp: evenly rising, from nothing at the start of the schedule through the
	// rate at Schedule.Mid.
	Ramp Shape = "ramp"
)

// A burst of the shape Bursty, and the silence after it, take BurstPeriod; the
// burst is the BurstPart of it.
const (
	BurstPeriod = 20 * time.Millisecond
	BurstPart   = 0.2
)

// Shapes returns all of them.
func Shapes() []Shape { return []Shape{Constant, Poisson, Bursty, Ramp} }

// ParseShape returns the shape of that name.
func ParseShape(name string) (Shape, error) {
	var names []string
	for _, s := range Shapes() {
		if string(s) == name {
			return s, nil
		}
		names = append(names, string(s))
	}
	return "", fmt.Errorf("%q, must be one of %s", name, strings.Join(names, ", "))
}

// MaxRate is the largest rate that ParseRate takes, per second.
const MaxRate = 1e9

// ParseRate reads a rate per second: 800, 50k, 1.5M, each with or without "/s"
// after it.
func ParseRate(text string) (float64, error) {
	number, factor := strings.TrimSuffix(text, "/s"), 1.0
	switch {
	case strings.HasSuffix(number, "k"):
		number, factor = strings.TrimSuffix(number, "k"), 1e3
	case strings.HasSuffix(number, "M"):
		number, factor = strings.TrimSuffix(number, "M"), 1e6
	}
	rate, err := strconv.ParseFloat(number, 64)
	if rate *= factor; err != nil || !(rate > 0) || rate > MaxRate {
		return 0, fmt.Errorf("%q, must be a rate such as 800, 50k/s or 1.5M, at most 1000M", text)
	}
	return rate, nil
}

// FormatRate is the inverse of ParseRate, for people.
func FormatRate(rate float64) string {
	unit := ""
	switch {
	case rate >= 1e6:
		rate, unit = rate/1e6, "M"
	case rate >= 1e3:
		rate, unit = rate/1e3, "k"
	}
	return strconv.FormatFloat(rate, 'g', 4, 64) + unit + "/s"
}

// Schedule is when the calls of all producers come. It does not depend on what
// becomes of them, and is the same each time: contestants get the same arrivals.
type Schedule struct {
	Shape   Shape
	Rate    float64       // of all streams together, per second; positive
	Streams int           // at least 1
	Mid     time.Duration // Ramp: when it has risen to Rate; positive
}

// Stream returns the arrivals of one producer, 0 <= i < Streams. A Stream is for
// one goroutine.
func (s Schedule) Stream(i int) *Stream {
	st := &Stream{
		interval: float64(time.Second) * float64(s.Streams) / s.Rate,
		offset:   (float64(i) + 0.5) / float64(s.Streams), warp: steady,
	}
	switch s.Shape {
	case Poisson, Bursty:
		st.random = rand.New(rand.NewPCG(uint64(i), 0xF1E9))
	}
	switch s.Shape {
	case Bursty:
		st.warp = burst
	case Ramp:
		st.warp = func(u float64) float64 { return math.Sqrt(2 * float64(s.Mid) * u) }
	}
	return st
}

// Stream is the arrivals of one producer.
//
// They are made on a clock on which the rate is always the mean, u, in
// nanoseconds. warp converts u to real time: where it is steep, little comes.
// (For a Poisson process that is the usual way to vary its rate: Cinlar,
// "Introduction to Stochastic Processes", 1975, chapter 4.)
type Stream struct {
	interval float64    // mean, ns
	offset   float64    // of the first arrival, in intervals
	random   *rand.Rand // nil: equal intervals
	warp     func(u float64) float64
	n        uint64  // arrivals so far
	u        float64 // of the last one, where intervals are random
}

// Next returns when the next one arrives, since the start of the schedule. The
// times never go back.
func (s *Stream) Next() time.Duration {
	u := (float64(s.n) + s.offset) * s.interval
	if s.random != nil {
		s.u += s.random.ExpFloat64() * s.interval
		u = s.u
	}
	s.n++
	return time.Duration(min(s.warp(u), math.MaxInt64/2))
}

func steady(u float64) float64 { return u }

func burst(u float64) float64 {
	periods, rest := math.Modf(u / float64(BurstPeriod))
	return (periods + rest*BurstPart) * float64(BurstPeriod)
}
