package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// goal is what a figure of ours shall be: in itself, or as a part of the best peer's, or of another job's.
type goal struct {
	what, job, metric string
	against           against
	than              string // the other job
	low, high         float64
}

type against uint8

const (
	itself against = iota
	bestPeer
	otherJob
)

// none is a negligible number: what the runtime does now and then, compared with thousands of messages.
const none = 0.005

func goals() []goal {
	inf := math.Inf(1)
	all := []goal{
		{"tell, 1 sender to 1 actor, messages/s", "tell-1-1", "rate", bestPeer, "", 1.3, inf},
		{"tell, 8 to 1, messages/s", "tell-8-1", "rate", bestPeer, "", 1.3, inf},
		{"tell, 8 to 64, messages/s", "tell-8-64", "rate", bestPeer, "", 1.3, inf},
		{"call of an idle actor, p50", "call", "p50", bestPeer, "", 0, 0.2},
		{"call through the mailbox, p50", "call-queued", "p50", bestPeer, "", 0, 0.6},
		{"ping-pong, 1 pair, messages/s", "pingpong-1", "rate", bestPeer, "", 1.5, inf},
		{"ping-pong, 32 pairs, messages/s", "pingpong-32", "rate", bestPeer, "", 1, inf},
		{"quiet actors among flooded ones, p99", "quiet-flooded", "p99", bestPeer, "", 0, 1.0 / 8},
		{"quiet actors' p50, against nobody noisy", "quiet-flooded", "p50", otherJob, "quiet-alone", 0, 2},
		{"handlers that block, messages/s", "quiet-blocked", "rate", bestPeer, "", 0.5, inf},
		{"quiet actors' p50 among those, µs", "quiet-blocked", "p50", itself, "", 0, 100},
		{"processor time, 1 ms messages against 50 µs", "share", "ratio", itself, "", 0.8, 1.25},
	}
	for _, job := range []string{"tell-1-1", "tell-8-1", "tell-8-64", "call", "call-queued"} {
		all = append(all, goal{"allocations, " + job, job, "allocs", itself, "", 0, none})
	}
	for _, job := range []string{"memory", "memory-many"} {
		all = append(all, goal{"bytes of an idle actor, " + job, job, "bytes", itself, "", 0, 256},
			goal{"goroutines of an idle actor, " + job, job, "goroutines", itself, "", 0, none})
	}
	return append(all,
		goal{"spawn and stop, time", "spawn", "both", bestPeer, "", 0, 0.6},
		goal{"a cycle of calls is an error, µs", "cycle", "answer", itself, "", 0, 1000},
		goal{"the error names the cycle", "cycle", "named", itself, "", 1, 1})
}

// measured returns what the goal is about, and the name of the best peer if it is about that.
func (g *goal) measured(f *file) (i interval, peer string) {
	own := f.figures(g.job, peers.Own, g.metric)
	switch g.against {
	case bestPeer:
		peer, _ = f.best(g.job, metricOf(g.job, g.metric))
		return ratio(own, f.figures(g.job, peer, g.metric)), peer
	case otherJob:
		return ratio(own, f.figures(g.than, peers.Own, g.metric)), ""
	}
	return intervalOf(values(own)), ""
}

func (g *goal) String() (text string) {
	switch {
	case g.low == g.high:
		text = exact(g.low)
	case math.IsInf(g.high, 1):
		text = "at least " + exact(g.low)
	case g.low == 0 && g.high == none:
		text = "0"
	case g.low == 0:
		text = "at most " + exact(g.high)
	default:
		text = exact(g.low) + " to " + exact(g.high)
	}
	if g.against != itself {
		text += " x"
	}
	return text
}

// exact writes a limit as it was given.
func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// reached says whether the median is within the goal, and whether all of its interval is on the same side.
func (g *goal) reached(i interval) string {
	in := func(x float64) bool { return x >= g.low && x <= g.high }
	switch {
	case in(i.Median) && in(i.Low) && in(i.High):
		return "yes"
	case in(i.Median):
		return "yes, not certain"
	case i.Low <= g.high && i.High >= g.low:
		return "**no**, not certain"
	}
	return "**no**"
}

// goalsTable says of each goal whether it is reached. Goals of what was not measured are left out.
func goalsTable(w io.Writer, f *file) {
	began := false
	for _, g := range goals() {
		i, peer := g.measured(f)
		if i.N == 0 {
			continue
		}
		if !began {
			report.Heading(w, "what", "goal", "ours", "best peer", "ratio, or ours (interval)", "reached")
			began = true
		}
		theirs := ""
		switch g.against {
		case bestPeer:
			_, median := f.best(g.job, metricOf(g.job, g.metric))
			theirs = fmt.Sprintf("%s, %s", figure(median), peer)
		case otherJob:
			theirs = fmt.Sprintf("%s, ours in %s", figure(intervalOf(values(f.figures(g.than, peers.Own, g.metric))).Median), g.than)
		}
		report.Row(w, g.what, g.String(), figure(intervalOf(values(f.figures(g.job, peers.Own, g.metric))).Median), theirs, i.String(), g.reached(i))
	}
	if began {
		report.Printf(w, "\n\"Not certain\": the interval has both sides of the goal in it. The best peer is the best library in the table\n"+
			"above; scripts/peers-actors adds GoAkt and ergo.\n\n")
	}
}
