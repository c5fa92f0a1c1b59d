package metrics

import (
	"context"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// RedisStats has the fields of queue.Stats.
type RedisStats struct {
	Enqueued, Requeued, Acked, Cancelled, Expired uint64
	Dead                                          uint64
	Purged                                        uint64
	Delivered, Nacked, Released, LeaseExpired     uint64
	LeaseLost, Duplicates, Rejected               uint64
	Queued, Delayed, InFlight, DeadLetters        int
	Tenants                                       int
	Oldest                                        time.Duration
	Paused                                        bool
	Held                                          int
}

// RedisPatience is how long the server has to answer a scrape or a collection.
// Prometheus waits for 10 s by default.
const RedisPatience = 5 * time.Second

// Engine returns the name of the engine of a queue, "redis" or "postgres", if q is a *queue.Queue or a *queue.Survey; else "".
func Engine(q any) string {
	of, ok := q.(interface{ Engine() queue.Engine })
	if !ok {
		return ""
	}
	return of.Engine().Traits().Name
}

// RedisUp tells whether the queue's server has answered.
func RedisUp() Table[bool] {
	return Table[bool]{{Name: "queue.up", Unit: "1", Kind: Gauge, Text: "1 if the queue's server has answered, else 0.",
		Value: func(up *bool) float64 { return bit(*up) }}}
}

// RedisWaiting is the part of *queue.Queue that returns queue times.
type RedisWaiting interface {
	QueueTimes(ctx context.Context) (buckets []firq.Bucket, sum time.Duration, err error)
}

// RedisWaits is about how long the tasks of such a queue wait.
func RedisWaits() Table[firq.QueueTime] {
	return Table[firq.QueueTime]{{Name: "queue.queue_time", Unit: "s", Prometheus: "firq_queue_queue_seconds",
		Text:  "How long tasks had been due when they were delivered for the first time.",
		Times: func(q *firq.QueueTime) firq.QueueTime { return *q }}}
}

// Redis is about a queue on Redis or PostgreSQL. What may fall is a Gauge: all processes that export the
// queue say the same.
func Redis() Table[RedisStats] {
	type stats = RedisStats
	return Table[stats]{
		{Name: "queue.pushed", Unit: "{task}", Kind: Counter, Text: "Tasks accepted.",
			Value: func(s *stats) float64 { return float64(s.Enqueued) }},
		{Name: "queue.requeued", Unit: "{task}", Kind: Counter, Text: "Dead letters that were queued again.",
			Value: func(s *stats) float64 { return float64(s.Requeued) }},
		{Name: "queue.acked", Unit: "{task}", Kind: Counter, Text: "Tasks done.",
			Value: func(s *stats) float64 { return float64(s.Acked) }},
		{Name: "queue.cancelled", Unit: "{task}", Kind: Counter, Text: "Tasks cancelled.",
			Value: func(s *stats) float64 { return float64(s.Cancelled) }},
		{Name: "queue.expired", Unit: "{task}", Kind: Counter, Text: "Tasks dropped because their deadline had passed when their turn came.",
			Value: func(s *stats) float64 { return float64(s.Expired) }},
		{Name: "queue.dead", Unit: "{task}", Kind: Counter, Text: "Tasks that became dead letters.",
			Value: func(s *stats) float64 { return float64(s.Dead) }},
		{Name: "queue.purged", Unit: "{task}", Kind: Counter, Text: "Dead letters that were deleted, by Purge or by retention.",
			Value: func(s *stats) float64 { return float64(s.Purged) }},

		{Name: "queue.delivered", Unit: "{delivery}", Kind: Counter, Text: "Deliveries; a task that is tried again has several.",
			Value: func(s *stats) float64 { return float64(s.Delivered) }},
		{Name: "queue.retried", Unit: "{delivery}", Kind: Counter, Text: "Deliveries that ended by Nack, the last one of a task that is dead then included.",
			Value: func(s *stats) float64 { return float64(s.Nacked) }},
		{Name: "queue.released", Unit: "{delivery}", Kind: Counter, Text: "Deliveries that were given back without counting as an attempt.",
			Value: func(s *stats) float64 { return float64(s.Released) }},
		{Name: "queue.reaped", Unit: "{delivery}", Kind: Counter, Text: "Deliveries whose lease ran out.",
			Value: func(s *stats) float64 { return float64(s.LeaseExpired) }},

		{Name: "queue.lease_lost", Unit: "{call}", Kind: Counter, Text: "What workers said of deliveries that were not theirs any more, and that was refused.",
			Value: func(s *stats) float64 { return float64(s.LeaseLost) }},
		{Name: "queue.duplicates", Unit: "{task}", Kind: Counter, Text: "Tasks refused because another one had their unique key.",
			Value: func(s *stats) float64 { return float64(s.Duplicates) }},
		{Name: "queue.rejected", Unit: "{task}", Kind: Counter, Text: "Tasks refused at a limit, of their tenant or of the queue.",
			Value: func(s *stats) float64 { return float64(s.Rejected) }},

		{Name: "queue.queued", Unit: "{task}", Kind: Gauge, Text: "Tasks that can be delivered, or could if their tenant were not paused or at its limit.",
			Value: func(s *stats) float64 { return float64(s.Queued) }},
		{Name: "queue.delayed", Unit: "{task}", Kind: Gauge, Text: "Tasks that are not due yet, retries included.",
			Value: func(s *stats) float64 { return float64(s.Delayed) }},
		{Name: "queue.in_flight", Unit: "{task}", Kind: Gauge, Text: "Tasks that are leased.",
			Value: func(s *stats) float64 { return float64(s.InFlight) }},
		{Name: "queue.dead_letters", Unit: "{task}", Kind: Gauge, Text: "Dead letters that are kept.",
			Value: func(s *stats) float64 { return float64(s.DeadLetters) }},
		{Name: "queue.tenants", Unit: "{tenant}", Kind: Gauge, Text: "Tenants with tasks queued, delayed or in flight.",
			Value: func(s *stats) float64 { return float64(s.Tenants) }},
		{Name: "queue.oldest", Unit: "s", Kind: Gauge, Text: "How long the oldest queued task has been due.",
			Value: func(s *stats) float64 { return s.Oldest.Seconds() }},
		{Name: "queue.paused", Unit: "1", Kind: Gauge, Text: "1 while the queue is paused, else 0.",
			Value: func(s *stats) float64 { return bit(s.Paused) }},
		{Name: "queue.held", Unit: "{tenant}", Kind: Gauge, Text: "Tenants whose rate holds their next task back.",
			Value: func(s *stats) float64 { return float64(s.Held) }},
	}
}
