package jobs

import (
	"math"
	"slices"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// sampled is which part of the calls is timed: reading the clock takes a good part of the time of an inline call.
const sampled = 8

// caller calls one actor again and again.
func caller(call func(peers.Ref, *peers.Msg) (*peers.Msg, error)) func(peers.System, Size) (Metrics, error) {
	return func(s peers.System, z Size) (Metrics, error) {
		r, err := s.Kind(func(c peers.Ctx, m *peers.Msg) { c.Reply(m) }).Spawn("call", 1)
		if err != nil {
			return nil, err
		}
		times := make([]time.Duration, 0, 1<<21)
		if _, err := calls(r, call, z.Duration/5, times); err != nil {
			return nil, err
		}
		return calls(r, call, z.Duration, times)
	}
}

func calls(r peers.Ref, call func(peers.Ref, *peers.Msg) (*peers.Msg, error), d time.Duration, times []time.Duration) (Metrics, error) {
	m := &peers.Msg{}
	n := 0
	before := used()
	for {
		start := time.Now()
		if start.Sub(before.at) > d {
			break
		}
		if _, err := call(r, m); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
		for range sampled - 1 {
			if _, err := call(r, m); err != nil {
				return nil, err
			}
		}
		n += sampled
	}
	figures := used().since(before, float64(n))
	slices.Sort(times)
	figures["p50"], figures["p99"] = us(percentile(times, 0.5)), us(percentile(times, 0.99))
	return figures, nil
}

// percentile returns the smallest of the sorted times that at least the part p of them do not exceed.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}

func us(d time.Duration) float64 { return float64(d) / 1e3 }
