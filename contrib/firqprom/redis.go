package firqprom

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// RedisStats is what firqredis.Stats is, and any other struct with the same fields: so this package needs
// neither firqredis nor a Redis client.
type RedisStats interface {
	~struct {
		Enqueued, Requeued, Acked, Cancelled, Expired uint64
		Dead                                          uint64
		Purged                                        uint64
		Delivered, Nacked, Released, LeaseExpired     uint64
		LeaseLost, Duplicates, Rejected               uint64
		Queued, Delayed, InFlight, DeadLetters        int
		Tenants                                       int
		Oldest                                        time.Duration
		Paused                                        bool
	}
}

// redisStats is RedisStats by a name.
type redisStats struct {
	Enqueued, Requeued, Acked, Cancelled, Expired uint64
	Dead                                          uint64
	Purged                                        uint64
	Delivered, Nacked, Released, LeaseExpired     uint64
	LeaseLost, Duplicates, Rejected               uint64
	Queued, Delayed, InFlight, DeadLetters        int
	Tenants                                       int
	Oldest                                        time.Duration
	Paused                                        bool
}

// RedisSource is a *firqredis.Queue. What Source says of Stats holds for it too.
type RedisSource[S RedisStats] interface {
	Stats(ctx context.Context) (S, error)
}

// redisPatience is how long the server has to answer a scrape. Prometheus waits for 10 s by default.
const redisPatience = 5 * time.Second

// NewRedis returns a Collector for a firqredis.Queue. Its numbers are of the queue, not of the process: all
// processes that export it say the same, so take the maximum over them, not the sum. If the server does not
// answer within 5 s, firq_redis_up is 0 and all others are missing from the scrape.
func NewRedis[K comparable, S RedisStats](q RedisSource[S], opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(q, opts)
	if err != nil {
		return nil, err
	}
	up, all := add(c, upTable()), add(c, redisTable())
	c.collect = func(ch chan<- prometheus.Metric) {
		ctx, cancel := context.WithTimeout(context.Background(), redisPatience)
		defer cancel()
		s, err := q.Stats(ctx)
		answered := err == nil
		up.send(ch, &answered, opts.NativeHistogram)
		if answered {
			st := redisStats(s)
			all.send(ch, &st, opts.NativeHistogram)
		}
	}
	return c, nil
}

func upTable() table[bool] {
	return table[bool]{
		{name: "firq_redis_up", kind: gauge, help: "1 if the queue's server has answered this scrape, else 0.",
			value: func(up *bool) float64 { return bit(*up) }},
	}
}

// redisTable is about a queue on Redis.
func redisTable() table[redisStats] {
	type stats = redisStats
	return table[stats]{
		{name: "firq_redis_pushed_total", kind: counter, help: "Tasks accepted.",
			value: func(s *stats) float64 { return float64(s.Enqueued) }},
		{name: "firq_redis_requeued_total", kind: counter, help: "Dead letters that were queued again.",
			value: func(s *stats) float64 { return float64(s.Requeued) }},
		{name: "firq_redis_acked_total", kind: counter, help: "Tasks done.",
			value: func(s *stats) float64 { return float64(s.Acked) }},
		{name: "firq_redis_cancelled_total", kind: counter, help: "Tasks cancelled.",
			value: func(s *stats) float64 { return float64(s.Cancelled) }},
		{name: "firq_redis_expired_total", kind: counter, help: "Tasks dropped because their deadline had passed when their turn came.",
			value: func(s *stats) float64 { return float64(s.Expired) }},
		{name: "firq_redis_dead_total", kind: counter, help: "Tasks that became dead letters.",
			value: func(s *stats) float64 { return float64(s.Dead) }},
		{name: "firq_redis_purged_total", kind: counter, help: "Dead letters that were deleted, by Purge or by retention.",
			value: func(s *stats) float64 { return float64(s.Purged) }},

		{name: "firq_redis_delivered_total", kind: counter, help: "Deliveries; a task that is tried again has several.",
			value: func(s *stats) float64 { return float64(s.Delivered) }},
		{name: "firq_redis_retried_total", kind: counter, help: "Deliveries that ended by Nack, the last one of a task that is dead then included.",
			value: func(s *stats) float64 { return float64(s.Nacked) }},
		{name: "firq_redis_released_total", kind: counter, help: "Deliveries that were given back without counting as an attempt.",
			value: func(s *stats) float64 { return float64(s.Released) }},
		{name: "firq_redis_reaped_total", kind: counter, help: "Deliveries whose lease ran out.",
			value: func(s *stats) float64 { return float64(s.LeaseExpired) }},

		{name: "firq_redis_lease_lost_total", kind: counter, help: "What workers said of deliveries that were not theirs any more, and that was refused.",
			value: func(s *stats) float64 { return float64(s.LeaseLost) }},
		{name: "firq_redis_duplicates_total", kind: counter, help: "Tasks refused because another one had their unique key.",
			value: func(s *stats) float64 { return float64(s.Duplicates) }},
		{name: "firq_redis_rejected_total", kind: counter, help: "Tasks refused at a limit, of their tenant or of the queue.",
			value: func(s *stats) float64 { return float64(s.Rejected) }},

		{name: "firq_redis_queued", kind: gauge, help: "Tasks that can be delivered, or could if their tenant were not paused or at its limit.",
			value: func(s *stats) float64 { return float64(s.Queued) }},
		{name: "firq_redis_delayed", kind: gauge, help: "Tasks that are not due yet, retries included.",
			value: func(s *stats) float64 { return float64(s.Delayed) }},
		{name: "firq_redis_in_flight", kind: gauge, help: "Tasks that are leased.",
			value: func(s *stats) float64 { return float64(s.InFlight) }},
		{name: "firq_redis_dead_letters", kind: gauge, help: "Dead letters that are kept.",
			value: func(s *stats) float64 { return float64(s.DeadLetters) }},
		{name: "firq_redis_tenants", kind: gauge, help: "Tenants with tasks queued, delayed or in flight.",
			value: func(s *stats) float64 { return float64(s.Tenants) }},
		{name: "firq_redis_oldest_seconds", kind: gauge, help: "How long the oldest queued task has been due.",
			value: func(s *stats) float64 { return s.Oldest.Seconds() }},
		{name: "firq_redis_paused", kind: gauge, help: "1 while the queue is paused, else 0.",
			value: func(s *stats) float64 { return bit(s.Paused) }},
	}
}
