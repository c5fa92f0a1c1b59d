package firqotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
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

// redisPatience is how long the server has to answer a collection.
const redisPatience = 5 * time.Second

// RegisterRedis exports a firqredis.Queue. Its numbers are of the queue, not of the process: all processes that
// export it say the same, so take the maximum over them, not the sum. If the server does not answer within 5 s,
// firq.redis.up is 0 and all others are missing from the collection.
func RegisterRedis[K comparable, S RedisStats](q RedisSource[S], opts Options[K]) (*Registration, error) {
	return register(q, opts, func(s *setup) (func(metric.Observer), *times) {
		up, all := upInstruments(s), redisInstruments(s)
		return func(o metric.Observer) {
			ctx, cancel := context.WithTimeout(context.Background(), redisPatience)
			defer cancel()
			st, err := q.Stats(ctx)
			answered := err == nil
			up.from(o, &answered)
			if answered {
				st := redisStats(st)
				all.from(o, &st)
			}
		}, nil
	})
}

func upInstruments(s *setup) *instruments[bool] {
	in := &instruments[bool]{setup: s}
	in.gauge("firq.redis.up", "1", "1 if the queue's server has answered, else 0.", func(up *bool) float64 { return bit(*up) })
	return in
}

// redisInstruments are about a queue on Redis.
func redisInstruments(s *setup) *instruments[redisStats] {
	type stats = redisStats
	in := &instruments[stats]{setup: s}
	for _, c := range []struct {
		name, unit, text string
		value            func(*stats) uint64
	}{
		{"firq.redis.pushed", "{task}", "Tasks accepted.", func(s *stats) uint64 { return s.Enqueued }},
		{"firq.redis.requeued", "{task}", "Dead letters that were queued again.", func(s *stats) uint64 { return s.Requeued }},
		{"firq.redis.acked", "{task}", "Tasks done.", func(s *stats) uint64 { return s.Acked }},
		{"firq.redis.cancelled", "{task}", "Tasks cancelled.", func(s *stats) uint64 { return s.Cancelled }},
		{"firq.redis.expired", "{task}", "Tasks dropped because their deadline had passed when their turn came.", func(s *stats) uint64 { return s.Expired }},
		{"firq.redis.dead", "{task}", "Tasks that became dead letters.", func(s *stats) uint64 { return s.Dead }},
		{"firq.redis.purged", "{task}", "Dead letters that were deleted, by Purge or by retention.", func(s *stats) uint64 { return s.Purged }},
		{"firq.redis.delivered", "{delivery}", "Deliveries; a task that is tried again has several.", func(s *stats) uint64 { return s.Delivered }},
		{"firq.redis.retried", "{delivery}", "Deliveries that ended by Nack, the last one of a task that is dead then included.", func(s *stats) uint64 { return s.Nacked }},
		{"firq.redis.released", "{delivery}", "Deliveries that were given back without counting as an attempt.", func(s *stats) uint64 { return s.Released }},
		{"firq.redis.reaped", "{delivery}", "Deliveries whose lease ran out.", func(s *stats) uint64 { return s.LeaseExpired }},
		{"firq.redis.lease_lost", "{call}", "What workers said of deliveries that were not theirs any more, and that was refused.", func(s *stats) uint64 { return s.LeaseLost }},
		{"firq.redis.duplicates", "{task}", "Tasks refused because another one had their unique key.", func(s *stats) uint64 { return s.Duplicates }},
		{"firq.redis.rejected", "{task}", "Tasks refused at a limit, of their tenant or of the queue.", func(s *stats) uint64 { return s.Rejected }},
	} {
		in.counter(c.name, c.unit, c.text, c.value)
	}
	// Gauges, as adding them up over processes makes no sense.
	for _, g := range []struct {
		name, unit, text string
		value            func(*stats) float64
	}{
		{"firq.redis.queued", "{task}", "Tasks that can be delivered, or could if their tenant were not paused or at its limit.", func(s *stats) float64 { return float64(s.Queued) }},
		{"firq.redis.delayed", "{task}", "Tasks that are not due yet, retries included.", func(s *stats) float64 { return float64(s.Delayed) }},
		{"firq.redis.in_flight", "{task}", "Tasks that are leased.", func(s *stats) float64 { return float64(s.InFlight) }},
		{"firq.redis.dead_letters", "{task}", "Dead letters that are kept.", func(s *stats) float64 { return float64(s.DeadLetters) }},
		{"firq.redis.tenants", "{tenant}", "Tenants with tasks queued, delayed or in flight.", func(s *stats) float64 { return float64(s.Tenants) }},
		{"firq.redis.oldest", "s", "How long the oldest queued task has been due.", func(s *stats) float64 { return s.Oldest.Seconds() }},
		{"firq.redis.paused", "1", "1 while the queue is paused, else 0.", func(s *stats) float64 { return bit(s.Paused) }},
	} {
		in.gauge(g.name, g.unit, g.text, g.value)
	}
	return in
}
