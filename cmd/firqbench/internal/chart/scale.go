package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// Scale says how values become places on an axis.
type Scale int

const (
	// Linear: equal differences are equally far apart.
	Linear Scale = iota
	// Log: equal ratios are equally far apart; values above 0.
	Log
)

func (s Scale) takes(v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return false
	}
	return s != Log || v > 0
}

// normalizer returns how the library places values. The first of categories is
// on top.
func (a *Axis) normalizer() plot.Normalizer {
	switch {
	case a.Names != nil:
		return plot.InvertedScale{Normalizer: plot.LinearScale{}}
	case a.Scale == Log:
		return plot.LogScale{}
	}
	return plot.LinearScale{}
}

// bounds widens lo to hi to what looks well, and never to nothing.
func (a *Axis) bounds(lo, hi float64) (float64, float64) {
	if a.Min < a.Max {
		lo, hi = min(lo, a.Min), max(hi, a.Max)
	}
	switch {
	case a.Names != nil:
		return -0.5, float64(len(a.Names)) - 0.5
	case a.Scale == Log:
		lo, hi = math.Pow(10, floor(math.Log10(lo), 0.25)), math.Pow(10, ceil(math.Log10(hi)+0.02, 0.25))
		if lo == hi {
			lo, hi = lo/2, hi*2
		}
		return lo, hi
	}
	if a.FromZero {
		lo, hi = min(lo, 0), max(hi, 0)
	}
	// Too near for ticks between them: FromZero both are 0.
	if most := max(math.Abs(lo), math.Abs(hi)); hi-lo <= 1e-9*most {
		lo, hi = lo-max(1, 1e-6*most), hi+max(1, 1e-6*most)
		if a.FromZero {
			lo = 0
		}
	}
	if a.Tight || a.Ticks != nil && !a.FromZero {
		return lo, hi
	}
	// The library's ticks lie within the values: the next ones are outside.
	ts := linearTicks(lo, hi)
	step := ts[1].Value - ts[0].Value
	return floor(lo, step), ceil(hi, step)
}

// floor and ceil round to a multiple of step, or leave what is next to one.
func floor(v, step float64) float64 { return min(v, math.Floor(v/step+1e-9)*step) }
func ceil(v, step float64) float64  { return max(v, math.Ceil(v/step-1e-9)*step) }

// ticks returns what is written between lo and hi, in ascending order. Some of
// them may have no label.
func (a *Axis) ticks(lo, hi float64) (ts []plot.Tick) {
	var values []float64
	switch {
	case a.Ticks != nil:
		values = a.Ticks
	case a.Names != nil:
		for i := range a.Names {
			values = append(values, float64(i))
		}
	case a.Scale == Log:
		values = logTicks(lo, hi)
	default:
		ts = linearTicks(lo, hi)
		for i := range ts {
			if !ts[i].IsMinor() {
				ts[i].Label = a.format(ts[i].Value)
			}
		}
	}
	for _, v := range values {
		if a.Scale.takes(v) && v >= lo-1e-9*math.Abs(lo) && v <= hi+1e-9*math.Abs(hi) {
			ts = append(ts, plot.Tick{Value: v, Label: a.format(v)})
		}
	}
	return ts
}

// linearTicks are the library's in ascending order.
func linearTicks(lo, hi float64) []plot.Tick {
	ts := plot.DefaultTicks{}.Ticks(lo, hi)
	slices.SortFunc(ts, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	return ts
}

// logTicks returns powers of ten, every second or third of them where there are
// many, and multiples of those where there are few. plot.LogTicks has no label
// within a decade, and its marks over ten of them run together on a phone.
func logTicks(lo, hi float64) (values []float64) {
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
		if e%every != 0 {
			continue
		}
		for _, f := range factors {
			values = append(values, f*math.Pow(10, float64(e)))
		}
	}
	return values
}

func plain(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
