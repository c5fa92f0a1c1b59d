package firqprom

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
)

// Source is what a Collector reads. Every firq.Scheduler is one, and so is what
// is built on top of a scheduler and hands on its Stats.
type Source[K comparable] interface {
	// Stats returns a snapshot that the caller may keep. It is called once per
	// scrape, by several goroutines at a time if scrapes overlap.
	Stats() firq.Stats[K]
}

// Options of a Collector. The zero value is a working one.
type Options[K comparable] struct {
	// Scheduler is the value of the constant label "scheduler", which tells
	// several schedulers in one registry apart. It must be valid UTF-8. Empty: no
	// such label; Prometheus treats the two alike in queries, but a registry wants
	// the label on all Collectors or on none.
	Scheduler string
	// TenantLabel gives the value of the label "tenant". It is called for each top
	// tenant on each scrape, by several goroutines at a time if scrapes overlap,
	// with no lock held; it must not panic. What is not valid UTF-8 in the result
	// becomes U+FFFD. The counts of tenants with the same label are added up.
	// nil: the tenant as fmt.Sprint prints it.
	TenantLabel func(K) string
	// TopTenants is for how many tenants at most there are series. 0: for as many
	// as Stats names (Config.TopTenants); below 0: for none.
	TopTenants int
	// NativeHistogram adds the buckets of a native histogram to
	// firq_queue_time_ns. They go only to a server that asks for the protobuf
	// format, and one that ingests native histograms then drops the classic
	// buckets, firq_queue_time_ns_bucket, unless it is told to keep both
	// (always_scrape_classic_histograms, scrape_classic_histograms before 3.0).
	//
	// They are made from the classic buckets, and are no finer than these: each
	// sample counts as the upper bound of its classic bucket, rounded up to the
	// next bound of schema 3 (a factor of 2^(1/8), 9 %). A quantile read from them
	// is never below the true one by more than that, and may be above it by the
	// width of a classic bucket, a factor of 2 to 2.5, and 9 %. Prometheus 3 makes
	// native histograms with the exact bounds out of the classic ones by itself
	// (convert_classic_histograms_to_nhcb), which is better; leave this off then, as
	// it prefers the native ones that it is sent.
	NativeHistogram bool
}

// Collector exports the Stats of one Source. It is a prometheus.Collector; New
// makes it. It never changes and is safe for concurrent use.
type Collector[K comparable] struct {
	source       Source[K]
	opts         Options[K] // TenantLabel filled in
	numbers      []number[K]
	time, tenant *prometheus.Desc
}

// New returns a Collector for source, to be registered by the caller. The error
// is firq.ErrInvalidArgument for a nil source and firq.ErrInvalidConfig, naming
// the field, for options that make no sense.
func New[K comparable](source Source[K], opts Options[K]) (*Collector[K], error) {
	if source == nil {
		return nil, fmt.Errorf("%w: firqprom: nil source", firq.ErrInvalidArgument)
	}
	if !utf8.ValidString(opts.Scheduler) {
		return nil, fmt.Errorf("%w: firqprom: Options.Scheduler: %q is not valid UTF-8", firq.ErrInvalidConfig, opts.Scheduler)
	}
	if opts.TenantLabel == nil {
		opts.TenantLabel = func(tenant K) string { return fmt.Sprint(tenant) }
	}
	var constant prometheus.Labels
	if opts.Scheduler != "" {
		constant = prometheus.Labels{"scheduler": opts.Scheduler}
	}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, constant)
	}
	c := &Collector[K]{
		source:  source,
		opts:    opts,
		numbers: numbers[K](),
		time:    desc("firq_queue_time_ns", "How long delivered tasks had waited, in nanoseconds."),
		tenant:  desc("firq_tenant_dequeued_total", "Tasks delivered, by tenant, for the top tenants only.", "tenant"),
	}
	for i := range c.numbers {
		n := &c.numbers[i]
		n.desc = desc(n.name, n.help)
	}
	return c, nil
}

// Describe sends the descriptor of every metric that Collect can send.
func (c *Collector[K]) Describe(ch chan<- *prometheus.Desc) {
	for _, n := range c.numbers {
		ch <- n.desc
	}
	ch <- c.time
	ch <- c.tenant
}

// Collect calls Stats once and sends what it says.
func (c *Collector[K]) Collect(ch chan<- prometheus.Metric) {
	st := c.source.Stats()
	for _, n := range c.numbers {
		ch <- prometheus.MustNewConstMetric(n.desc, n.kind, n.value(&st))
	}
	ch <- c.queueTime(&st.QueueTime)
	for label, n := range c.tenants(st.TopTenants) {
		ch <- prometheus.MustNewConstMetric(c.tenant, counter, float64(n), label)
	}
}

// tenants returns the counts by label of the first rows of top, which has the
// most delivered first. A registry takes neither a label twice nor one that is
// not UTF-8, and then refuses the whole scrape.
func (c *Collector[K]) tenants(top []firq.TenantCount[K]) map[string]uint64 {
	if n := c.opts.TopTenants; n != 0 {
		top = top[:min(max(n, 0), len(top))]
	}
	sums := make(map[string]uint64, len(top))
	for _, row := range top {
		sums[strings.ToValidUTF8(c.opts.TenantLabel(row.Tenant), "\uFFFD")] += row.Dequeued
	}
	return sums
}
