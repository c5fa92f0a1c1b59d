// Package metrics has one table of metrics for each part of firq, for an exporter to a system
// other than Prometheus and OpenTelemetry: contrib/firqprom and contrib/firqotel use the same
// tables. A row has a metric's name, unit and description, and reads its values from a snapshot:
//
//	stats := pool.Stats() // of a worker.Pool
//	for _, m := range metrics.Pool() {
//		m.Series(&stats, func(v float64, labels ...string) { export(m.Name, v, m.Labels, labels) })
//	}
//
// A row with Times or EachTimes has no series, but histograms: see Histograms.
package metrics

import (
	"strings"

	"github.com/firq-go/firq"
)

// Kind says what a metric's values mean to a program that adds them up.
type Kind int

const (
	Gauge   Kind = iota // adding it up over processes makes no sense
	Level               // it may fall, and the sum over processes makes sense
	Counter             // a number that only rises
	Seconds             // a time that only rises
)

// Metric is a metric that is read from snapshots of type S, in one of four ways.
type Metric[S any] struct {
	Name string // with dots, and without firq. in front
	Unit string // as UCUM has it: {task}, s, 1
	Kind Kind
	Text string

	// Prometheus is the name there if it is not the one that follows from the others.
	Prometheus string

	Value  func(*S) float64        // a single series
	Each   func(*S, Send)          // as many series as it sends
	Labels []string                // the names of Each's and EachTimes' labels
	Times  func(*S) firq.QueueTime // a histogram of Buckets and Sum

	EachTimes func(*S, SendTimes) // as many histograms as it sends, of valid labels, each once
}

// SendTimes takes one histogram of a metric, and one value for each label.
type SendTimes = func(q firq.QueueTime, labels ...string)

// Send takes one series of a metric: its value, and one value for each label.
type Send = func(v float64, labels ...string)

// Table lists the metrics that are read from snapshots of type S.
type Table[S any] []Metric[S]

// Series sends what Each does, or the single Value. Neither exporter takes a label that
// is not UTF-8, nor a series twice: of equal labels it adds the values up.
func (m *Metric[S]) Series(s *S, send Send) {
	if m.Each == nil {
		send(m.Value(s))
		return
	}
	type series struct {
		labels []string
		sum    float64
	}
	all := map[string]*series{}
	m.Each(s, func(v float64, labels ...string) {
		for i := range labels {
			labels[i] = Valid(labels[i])
		}
		key := strings.Join(labels, "\xff") // which no label has
		if all[key] == nil {
			all[key] = &series{labels: labels}
		}
		all[key].sum += v
	})
	for _, one := range all {
		send(one.sum, one.labels...)
	}
}

// IsHistogram reports whether the metric has histograms, and no series.
func (m *Metric[S]) IsHistogram() bool { return m.Times != nil || m.EachTimes != nil }

// Histograms sends what EachTimes does, or the single Times.
func (m *Metric[S]) Histograms(s *S, send SendTimes) {
	if m.EachTimes == nil {
		send(m.Times(s))
		return
	}
	m.EachTimes(s, send)
}

// Valid puts U+FFFD in the place of what is not UTF-8.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
