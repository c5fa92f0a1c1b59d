// Package report shows results: tables for people, JSON for programs, and what
// is going on while a run is on.
package report

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Duration writes d in at most six characters, two to three significant digits.
func Duration(d time.Duration) string {
	switch v := float64(d); {
	case d <= 0:
		return "0"
	case v < 999.5:
		return fmt.Sprintf("%dns", d)
	case v < 999.5e3:
		return digits(v/1e3) + "µs"
	case v < 999.5e6:
		return digits(v/1e6) + "ms"
	default:
		return digits(v/1e9) + "s"
	}
}

// Count writes n in at most five characters.
func Count(n float64) string {
	switch {
	case math.IsNaN(n):
		return "-"
	case n < 999.5:
		return fmt.Sprintf("%.0f", n)
	case n < 999.5e3:
		return digits(n/1e3) + "k"
	case n < 999.5e6:
		return digits(n/1e6) + "M"
	default:
		return digits(n/1e9) + "G"
	}
}

// Brief leaves out what Duration and Count say of how exact a number is, zeros
// behind the point: between the ticks of an axis they say nothing.
func Brief(s string) string {
	number := strings.TrimRight(s, "nµmskMG")
	if unit := s[len(number):]; strings.Contains(number, ".") {
		return strings.TrimSuffix(strings.TrimRight(number, "0"), ".") + unit
	}
	return s
}

// digits writes x with three significant digits, trailing zeros kept: they say
// how exact a number is.
func digits(x float64) string {
	switch {
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// Percent writes a part of one; exactly nothing is "0".
func Percent(p float64) string {
	switch {
	case p == 0:
		return "0"
	case p < 0.0005:
		return "<0.1%"
	case p < 0.0995:
		return fmt.Sprintf("%.1f%%", 100*p)
	}
	return fmt.Sprintf("%.0f%%", 100*p)
}

// PerTask writes an amount per task; what rounds to nothing is "0".
func PerTask(x float64) string {
	switch {
	case x < 0.005:
		return "0"
	case x < 999.5:
		return digits(x)
	}
	return Count(x)
}

// Switches writes context switches per task, of which a part is usual.
func Switches(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0.00005:
		return "<0.0001"
	case x < 0.995:
		return fmt.Sprintf("%.2g", x)
	}
	return PerTask(x)
}

// factor writes a ratio that may be anything from tiny to huge, in plain digits.
func factor(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

func number(x float64, format string) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf(format, x)
}
