package status

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// Calls times a client's scripts, as a hook of it (redis.Hook), or its statements (pgx.QueryTracer).
type Calls struct {
	mu     sync.Mutex
	counts [len(bounds) + 1]uint64 // by the first bound that is not below
	sum    time.Duration
}

// bounds are the upper bounds of the histogram's buckets.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond,
}

// DialHook implements redis.Hook.
func (s *Calls) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook. Scripts do not come in pipelines here.
func (s *Calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (s *Calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := cmd.Name(); name != "evalsha" && name != "eval" {
			return next(ctx, cmd)
		}
		began := time.Now()
		err := next(ctx, cmd)
		s.add(time.Since(began))
		return err
	}
}

type startedAt struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (s *Calls) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, startedAt{}, time.Now())
}

// TraceQueryEnd implements pgx.QueryTracer.
func (s *Calls) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if at, ok := ctx.Value(startedAt{}).(time.Time); ok {
		s.add(time.Since(at))
	}
}

func (s *Calls) add(d time.Duration) {
	i, _ := slices.BinarySearch(bounds[:], d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[i]++
	s.sum += d
}

// exposition writes metrics of one queue in the text format of Prometheus.
type exposition struct {
	w             io.Writer
	engine, queue string // labels
}

func (e *exposition) head(name, kind, help string) {
	_, _ = fmt.Fprintf(e.w, "# HELP firq_queue_%s %s\n# TYPE firq_queue_%s %s\n", name, help, name, kind)
}

// sample writes one value. more are names and values of further labels.
func (e *exposition) sample(name string, v float64, more ...string) {
	_, _ = fmt.Fprintf(e.w, "firq_queue_%s{engine=\"%s\",queue=\"%s\"", name, e.engine, e.queue)
	for i := 0; i < len(more); i += 2 {
		_, _ = fmt.Fprintf(e.w, ",%s=\"%s\"", more[i], escape(more[i+1]))
	}
	_, _ = fmt.Fprintf(e.w, "} %s\n", strconv.FormatFloat(v, 'g', -1, 64))
}

// escape makes a value of a label: UTF-8, with what ends it escaped.
func escape(v string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(v, "\ufffd"))
}

func (e *exposition) counter(name string, v uint64, help string) {
	e.head(name+"_total", "counter", help)
	e.sample(name+"_total", float64(v))
}

func (e *exposition) gauge(name string, v float64, help string) {
	e.head(name, "gauge", help)
	e.sample(name, v)
}

// readyCounter is an engine that knows how many tenants have something that can be delivered.
type readyCounter interface {
	ReadyTenants(ctx context.Context) (int64, error)
}

// metrics answers a scrape. A server that is away is firq_queue_up 0, and nothing else of it.
func (p *pages) metrics(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	e := &exposition{w, escape(p.Queue.Engine().Traits().Name), escape(p.Name)}
	// A scrape costs the same however many tenants there are.
	s, tops, err := p.Queue.Survey().Overview(ctx, max(p.Top, 1), queue.ByQueued)
	var top []queue.TenantStats
	if err == nil && p.Top > 0 {
		top = tops[0]
	}
	counts, ok := p.Queue.Engine().(readyCounter)
	var ready int64
	if err == nil && ok {
		ready, err = counts.ReadyTenants(ctx)
	}
	var waits []firq.Bucket
	var waited time.Duration
	if err == nil {
		waits, waited, err = p.Queue.QueueTimes(ctx)
	}
	up := 0.0
	if err == nil {
		up = 1
	}
	e.gauge("up", up, "1 if the server answered.")
	if err == nil {
		e.stats(&s)
		if ok {
			e.gauge("ready_tenants", float64(ready), "Tenants that have tasks which can be delivered now.")
		}
		e.waits(waits, waited)
		e.tenants(top)
	}
	if p.Calls != nil {
		e.calls(p.Calls)
	}
}

func (e *exposition) stats(s *queue.Stats) {
	for _, c := range []struct {
		name string
		v    uint64
		help string
	}{
		{"pushed", s.Enqueued, "Tasks that were enqueued."},
		{"requeued", s.Requeued, "Dead letters that were queued again."},
		{"delivered", s.Delivered, "Deliveries."},
		{"acked", s.Acked, "Tasks that were acked."},
		{"retried", s.Nacked, "Deliveries that ended with Nack, the last attempts included."},
		{"released", s.Released, "Deliveries that were given back and do not count as attempts."},
		{"reaped", s.LeaseExpired, "Deliveries whose lease ran out."},
		{"dead", s.Dead, "Tasks that became dead letters."},
		{"purged", s.Purged, "Dead letters that were purged."},
		{"cancelled", s.Cancelled, "Tasks that were cancelled."},
		{"expired", s.Expired, "Tasks that were dropped as their deadline had passed."},
		{"lease_lost", s.LeaseLost, "Calls that were refused as the lease was lost."},
		{"duplicates", s.Duplicates, "Tasks that were refused as their UniqueKey was known."},
		{"rejected", s.Rejected, "Tasks that were refused as a limit was reached."},
	} {
		e.counter(c.name, c.v, c.help)
	}
	paused := 0.0
	if s.Paused {
		paused = 1
	}
	e.gauge("queued", float64(s.Queued), "Tasks that wait for a worker.")
	e.gauge("delayed", float64(s.Delayed), "Tasks that are not due yet.")
	e.gauge("in_flight", float64(s.InFlight), "Tasks that workers have.")
	e.gauge("dead_letters", float64(s.DeadLetters), "Dead letters.")
	e.gauge("tenants", float64(s.Tenants), "Tenants that have tasks.")
	e.gauge("oldest_seconds", s.Oldest.Seconds(), "How long the oldest queued task has been due.")
	e.gauge("paused", paused, "1 if the queue is paused.")
	e.gauge("held", float64(s.Held), "Tenants whose rate holds their next task back.")
}

// tenants names the tenants with the most tasks only, as there may be many.
func (e *exposition) tenants(top []queue.TenantStats) {
	for _, m := range []struct {
		name, help string
		of         func(*queue.TenantStats) float64
	}{
		{"tenant_queued", "Queued tasks of the tenants with the most.", func(t *queue.TenantStats) float64 { return float64(t.Queued) }},
		{"tenant_in_flight", "Tasks in flight of the tenants with the most queued ones.", func(t *queue.TenantStats) float64 { return float64(t.InFlight) }},
		{"tenant_oldest_seconds", "How long the oldest task of the tenants with the most has been due.", func(t *queue.TenantStats) float64 { return t.Oldest.Seconds() }},
	} {
		if len(top) > 0 {
			e.head(m.name, "gauge", m.help)
		}
		for i := range top {
			e.sample(m.name, m.of(&top[i]), "tenant", top[i].Tenant)
		}
	}
}

func (e *exposition) waits(buckets []firq.Bucket, sum time.Duration) {
	e.head("queue_seconds", "histogram", "How long tasks had been due when they were delivered for the first time.")
	var n uint64
	for i, b := range buckets {
		n += b.Count
		if i < len(buckets)-1 {
			e.sample("queue_seconds_bucket", float64(n), "le", strconv.FormatFloat(b.UpperBound.Seconds(), 'g', -1, 64))
		}
	}
	e.sample("queue_seconds_bucket", float64(n), "le", "+Inf")
	e.sample("queue_seconds_sum", sum.Seconds())
	e.sample("queue_seconds_count", float64(n))
}

func (e *exposition) calls(s *Calls) {
	s.mu.Lock()
	counts, sum := s.counts, s.sum
	s.mu.Unlock()
	e.head("script_seconds", "histogram", "What this process waited for the server's scripts (Redis) or statements (PostgreSQL).")
	var n uint64
	for i, b := range bounds {
		n += counts[i]
		e.sample("script_seconds_bucket", float64(n), "le", strconv.FormatFloat(b.Seconds(), 'g', -1, 64))
	}
	n += counts[len(bounds)]
	e.sample("script_seconds_bucket", float64(n), "le", "+Inf")
	e.sample("script_seconds_sum", sum.Seconds())
	e.sample("script_seconds_count", float64(n))
}
