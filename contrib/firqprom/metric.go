package firqprom

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
)

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// metric is one that is read from snapshots of type S, in one of three ways.
type metric[S any] struct {
	name, help string
	kind       prometheus.ValueType

	value  func(*S) float64        // a single series
	each   func(*S, sender)        // as many series as it sends
	labels []string                // the names of each's labels
	hist   func(*S) firq.QueueTime // a histogram of Buckets and Sum
	unit   time.Duration           // of hist

	desc *prometheus.Desc // of name, help and labels; add fills it in
}

// sender takes one series. Of equal labels it adds the values up.
type sender = func(v float64, labels ...string)

// table is what there is to tell of snapshots of type S.
type table[S any] []metric[S]

// add describes a table's metrics with the constant labels of c and returns the
// table, ready to be sent.
func add[K comparable, S any](c *Collector[K], t table[S]) table[S] {
	for i := range t {
		m := &t[i]
		m.desc = prometheus.NewDesc(m.name, m.help, m.labels, c.constant)
		c.descs = append(c.descs, m.desc)
	}
	return t
}

// send sends what the table tells of s.
func (t table[S]) send(ch chan<- prometheus.Metric, s *S, native bool) {
	for i := range t {
		switch m := &t[i]; {
		case m.value != nil:
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(s))
		case m.each != nil:
			m.sendEach(ch, s)
		default:
			q := m.hist(s)
			ch <- newHistogram(m.desc, &q, m.unit, native)
		}
	}
}

// sendEach sends what each calls it with. A registry takes neither a series twice
// nor a label that is not UTF-8, and then refuses the whole scrape.
func (m *metric[S]) sendEach(ch chan<- prometheus.Metric, s *S) {
	type series struct {
		labels []string
		sum    float64
	}
	all := map[string]*series{}
	m.each(s, func(v float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
		}
		key := strings.Join(labels, "\xff") // which no label has
		if all[key] == nil {
			all[key] = &series{labels: labels}
		}
		all[key].sum += v
	})
	for _, one := range all {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, one.sum, one.labels...)
	}
}
