package firqhttp

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// DeadlineFunc says until when the client waits; the zero time: it did not say. An
// error is answered with 400, and its text.
type DeadlineFunc func(*http.Request) (time.Time, error)

// Earliest is the earliest deadline that one of them finds.
func Earliest(fs ...DeadlineFunc) DeadlineFunc {
	return func(r *http.Request) (earliest time.Time, err error) {
		for _, f := range fs {
			d, err := f(r)
			if err != nil {
				return time.Time{}, err
			}
			if !d.IsZero() && (earliest.IsZero() || d.Before(earliest)) {
				earliest = d
			}
		}
		return earliest, nil
	}
}

// TimeoutHeader takes the time that the client waits from a header, usually
// X-Request-Timeout: in seconds ("2.5"), or as time.ParseDuration reads it
// ("250ms"). It counts from now, for how long the request was on its way is not
// known. A negative time, or what is neither, is an error.
func TimeoutHeader(name string) DeadlineFunc {
	return fromHeader(name, func(text string) (time.Duration, bool) {
		if seconds, err := strconv.ParseFloat(text, 64); err == nil {
			ns := seconds * float64(time.Second)
			if !(ns >= 0) { // NaN too
				return 0, false
			}
			return clamp(ns), true
		}
		d, err := time.ParseDuration(text)
		return d, err == nil && d >= 0
	})
}

// GRPCTimeout takes the time that the client waits from the header grpc-timeout,
// as gRPC over HTTP/2 has it: up to 8 digits and a unit, H, M, S, m, u or n. So
// "100m" are 100 milliseconds, where TimeoutHeader reads minutes.
func GRPCTimeout() DeadlineFunc {
	units := map[byte]time.Duration{
		'H': time.Hour, 'M': time.Minute, 'S': time.Second,
		'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
	}
	return fromHeader("Grpc-Timeout", func(text string) (time.Duration, bool) {
		last := len(text) - 1
		unit, ok := units[text[last]]
		n, err := strconv.ParseUint(text[:last], 10, 64)
		if !ok || err != nil || last > 8 {
			return 0, false
		}
		return clamp(float64(n) * float64(unit)), true
	})
}

// fromHeader is a deadline so far from now as parse reads in a header.
func fromHeader(name string, parse func(string) (time.Duration, bool)) DeadlineFunc {
	name = http.CanonicalHeaderKey(name)
	return func(r *http.Request) (time.Time, error) {
		text := r.Header.Get(name)
		if text == "" {
			return time.Time{}, nil
		}
		d, ok := parse(text)
		if !ok {
			return time.Time{}, fmt.Errorf("%s: %.40q is not a timeout", name, text)
		}
		return time.Now().Add(d), nil
	}
}

// clamp is a duration in nanoseconds, at most 100 years.
func clamp(ns float64) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	return time.Duration(math.Min(ns, float64(most)))
}
