package chart

import (
	"math"
	"strconv"
)

// Scale says how values become places on an axis.
type Scale int

const (
	// Linear: equal differences are equally far apart.
	Linear Scale = iota
	// Log: equal ratios are equally far apart; values above 0.
	Log
	// Tail is for quantiles from 0 to below 1: log(1/(1-q)), each further nine as
	// wide as the one before.
	Tail
)

func (s Scale) takes(v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return false
	}
	switch s {
	case Log:
		return v > 0
	case Tail:
		return v >= 0 && v < 1
	}
	return true
}

// place maps v to a line on which the axis is even.
func (s Scale) place(v float64) float64 {
	switch s {
	case Log:
		return math.Log10(v)
	case Tail:
		return -math.Log10(1 - v)
	}
	return v
}

// span is a piece of an axis that is drawn between two places in the picture.
type span struct {
	scale    Scale
	lo, hi   float64 // values
	from, to float64 // places; from may be greater
}

// at returns where v is drawn.
func (s span) at(v float64) float64 {
	lo, hi := s.scale.place(s.lo), s.scale.place(s.hi)
	if hi == lo {
		return (s.from + s.to) / 2
	}
	return s.from + (s.scale.place(v)-lo)/(hi-lo)*(s.to-s.from)
}

// bounds widens lo to hi to what looks well, and never to nothing.
func (a *Axis) bounds(lo, hi float64) (float64, float64) {
	switch {
	case a.Names != nil:
		return -0.5, float64(len(a.Names)) - 0.5
	case a.Scale == Log:
		lo, hi = math.Pow(10, floor(math.Log10(lo), 0.25)), math.Pow(10, ceil(math.Log10(hi)+0.02, 0.25))
		if lo == hi {
			lo, hi = lo/2, hi*2
		}
		return lo, hi
	case a.Scale == Tail:
		return min(lo, 0), max(hi, 0.9)
	}
	if a.FromZero {
		lo, hi = min(lo, 0), max(hi, 0)
	}
	if lo == hi {
		lo, hi = lo-1, hi+1
		if a.FromZero {
			lo = max(lo, 0)
		}
	}
	if a.Tight || a.Ticks != nil && !a.FromZero {
		return lo, hi
	}
	step := niceStep(hi - lo)
	return floor(lo, step), ceil(hi, step)
}

// floor and ceil round to a multiple of step; a 0 has no sign.
func floor(v, step float64) float64 { return math.Floor(v/step+1e-9)*step + 0 }
func ceil(v, step float64) float64  { return math.Ceil(v/step-1e-9)*step + 0 }

// niceStep returns 1, 2 or 5 times a power of ten: about five of them make
// extent.
func niceStep(extent float64) float64 {
	rough := extent / 5
	p := math.Pow(10, math.Floor(math.Log10(rough)))
	switch m := rough / p; {
	case m <= 1.0001:
		return p
	case m <= 2:
		return 2 * p
	case m <= 5:
		return 5 * p
	}
	return 10 * p
}

// ticks returns the values that are written between lo and hi.
func (a *Axis) ticks(lo, hi float64) (ts []float64) {
	add := func(v float64) {
		if v >= lo-1e-9*math.Abs(lo) && v <= hi+1e-9*math.Abs(hi) {
			ts = append(ts, v)
		}
	}
	switch {
	case a.Ticks != nil:
		for _, v := range a.Ticks {
			if a.Scale.takes(v) {
				add(v)
			}
		}
	case a.Names != nil:
		for i := range a.Names {
			ts = append(ts, float64(i))
		}
	case a.Scale == Log:
		return logTicks(lo, hi, add, &ts)
	case a.Scale == Tail:
		for _, v := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999} {
			add(v)
		}
	default:
		step := niceStep(hi - lo)
		for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
			ts = append(ts, i*step+0)
		}
	}
	return ts
}

// logTicks takes powers of ten, every second or third of them where there are
// many, and multiples of those where there are few.
func logTicks(lo, hi float64, add func(float64), ts *[]float64) []float64 {
	from, to := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	const most = 7
	every := 1 + (to-from)/most
	factors := []float64{1}
	switch decades := math.Log10(hi / lo); {
	case decades < 0.7:
		factors = []float64{1, 1.5, 2, 3, 4, 5, 7}
	case decades < 1.5:
		factors = []float64{1, 2, 5}
	case decades < 2.6:
		factors = []float64{1, 3}
	}
	for e := from; e <= to; e++ {
		if ((e%every)+every)%every != 0 {
			continue
		}
		for _, f := range factors {
			add(f * math.Pow(10, float64(e)))
		}
	}
	return *ts
}

func plain(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
