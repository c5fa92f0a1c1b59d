package firqredis

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
)

// Stats are the counters of a queue since it was made, and its state. At rest:
//
//	Enqueued + Requeued = Acked + Cancelled + Expired + Dead + Queued + Delayed + InFlight
//	Delivered = Acked + Nacked + Released + LeaseExpired + InFlight
//	DeadLetters = Dead - Requeued - Purged
type Stats struct {
	Enqueued, Requeued, Acked, Cancelled, Expired uint64        // tasks
	Dead                                          uint64        // moved to the dead letters
	Purged                                        uint64        // from there, by Purge or by Retention
	Delivered, Nacked, Released, LeaseExpired     uint64        // deliveries, and how else than by Ack they ended
	LeaseLost, Duplicates, Rejected               uint64        // calls that were refused, by task
	Queued, Delayed, InFlight, DeadLetters        int           // now
	Tenants                                       int           // that have tasks queued, delayed or in flight
	Oldest                                        time.Duration // how long the oldest queued task has been due
	Paused                                        bool
}

// Stats asks all partitions, one after the other. Oldest takes a look at each tenant that has tasks, 200 of them per script: see
// Survey for a program that looks often.
func (q *Queue[T]) Stats(ctx context.Context) (s Stats, err error) {
	if err := q.call(ctx, "Stats"); err != nil {
		return s, err
	}
	if s, err = q.counted(ctx); err != nil {
		return Stats{}, err
	}
	for p := range q.prefix {
		if err := q.eachTenant(ctx, p, func(t *TenantStats) { s.Oldest = max(s.Oldest, t.Oldest) }); err != nil {
			return Stats{}, err
		}
	}
	return s, nil
}

// counted returns Stats without Oldest, at a cost that does not depend on the queue's content.
func (q *Queue[T]) counted(ctx context.Context) (s Stats, err error) {
	for p := range q.prefix {
		c, err := await(ctx, func() (*counters, error) { return q.counters(ctx, p) })
		if err != nil {
			return Stats{}, fmt.Errorf("firqredis: Stats: %w", err)
		}
		c.addTo(&s)
	}
	return s, nil
}

// counters are the replies of one partition.
type counters struct {
	counts        *redis.MapStringStringCmd
	d, z, l, x, a *redis.IntCmd
	state         *redis.SliceCmd
}

func (q *Queue[T]) counters(ctx context.Context, p int) (c *counters, err error) {
	prefix := q.prefix[p]
	ask := func(t redis.Pipeliner) error {
		c = &counters{
			t.HGetAll(ctx, prefix+":s"), t.HLen(ctx, prefix+":d"), t.ZCard(ctx, prefix+":z"), t.ZCard(ctx, prefix+":l"), t.ZCard(ctx, prefix+":x"),
			t.SCard(ctx, prefix+":a"), t.HMGet(ctx, prefix+":m", "e", "d", "pz"),
		}
		return nil
	}
	_, err = q.db.TxPipelined(ctx, ask)
	if err != nil && strings.Contains(err.Error(), "EXECABORT") { // a server without memory takes no transactions
		_, err = q.db.Pipelined(ctx, ask)
	}
	return c, err
}

func (c *counters) addTo(s *Stats) {
	for name, to := range map[string]*uint64{
		"enqueued": &s.Enqueued, "requeued": &s.Requeued, "acked": &s.Acked, "cancelled": &s.Cancelled, "expired": &s.Expired,
		"dead": &s.Dead, "purged": &s.Purged, "delivered": &s.Delivered, "nacked": &s.Nacked, "released": &s.Released,
		"leaseexpired": &s.LeaseExpired, "leaselost": &s.LeaseLost, "duplicates": &s.Duplicates, "rejected": &s.Rejected,
	} {
		n, _ := strconv.ParseUint(c.counts.Val()[name], 10, 64)
		*to += n
	}
	s.Queued += int(c.d.Val() - c.z.Val() - c.l.Val() - c.x.Val())
	s.Delayed += int(c.z.Val())
	s.InFlight += int(c.l.Val())
	s.DeadLetters += int(c.x.Val())
	s.Tenants += int(c.a.Val())
	s.Enqueued += uint64(number(c.state.Val()[0])) // the scripts that are called most keep theirs with the rest of their state
	s.Delivered += uint64(number(c.state.Val()[1]))
	s.Paused = s.Paused || c.state.Val()[2] != nil
}

// waitBuckets is how many buckets the scripts count in: up to 1 ms, 2 ms, 4 ms and so on, and all that is longer.
const waitBuckets = 32

// maxMicroseconds is more than a Duration holds.
const maxMicroseconds = math.MaxInt64/1000 + 1

// QueueTimes returns how long tasks had been due when they were delivered, and the sum of these times (or the largest Duration if it
// is more), since the queue was made. Retries are not counted; what was released counts again.
func (q *Queue[T]) QueueTimes(ctx context.Context) (buckets []firq.Bucket, sum time.Duration, err error) {
	if err := q.call(ctx, "QueueTimes"); err != nil {
		return nil, 0, err
	}
	names := make([]string, waitBuckets)
	buckets = make([]firq.Bucket, waitBuckets)
	for b := range buckets {
		names[b] = "h" + strconv.Itoa(b)
		buckets[b].UpperBound = time.Millisecond << b
	}
	buckets[waitBuckets-1].UpperBound = math.MaxInt64
	var us int64
	for p := range q.prefix {
		lists, err := await(ctx, func() ([2][]any, error) {
			pipe := q.db.Pipeline()
			waited, counts := pipe.HMGet(ctx, q.prefix[p]+":m", "hs"), pipe.HMGet(ctx, q.prefix[p]+":s", names...)
			_, err := pipe.Exec(ctx)
			return [2][]any{waited.Val(), counts.Val()}, err
		})
		if err != nil {
			return nil, 0, fmt.Errorf("firqredis: QueueTimes: %w", err)
		}
		us = min(us+min(number(lists[0][0]), maxMicroseconds), maxMicroseconds)
		for b, n := range lists[1] {
			buckets[b].Count += uint64(number(n))
		}
	}
	if us == maxMicroseconds {
		return buckets, math.MaxInt64, nil
	}
	return buckets, time.Duration(us) * time.Microsecond, nil
}

// TenantStats are the numbers of one tenant.
type TenantStats struct {
	Tenant                                 string
	Queued, Delayed, InFlight, DeadLetters int
	Enqueued, Delivered                    uint64 // while it is remembered: see Config.TenantIdle
	Oldest                                 time.Duration
	Weight                                 float64 // in force
	Paused                                 bool
	Settings                               TenantSettings
}

// TenantStats returns the numbers of a tenant; for an unknown one, its name alone.
func (q *Queue[T]) TenantStats(ctx context.Context, tenant string) (t TenantStats, err error) {
	if err := q.named(ctx, "TenantStats", "tenant", tenant); err != nil {
		return t, err
	}
	p := q.partitionOf(tenant)
	n, err := await(ctx, func() (int64, error) {
		return q.db.Exists(ctx, q.prefix[p]+":t:"+tenant, q.prefix[p]+":x:"+tenant).Result()
	})
	if err != nil {
		return t, fmt.Errorf("firqredis: TenantStats: %w", err)
	}
	if n == 0 {
		return TenantStats{Tenant: tenant}, nil
	}
	all, err := q.tenantStats(ctx, p, []string{tenant})
	if err != nil {
		return t, err
	}
	return all[0], nil
}

// tenantsAtOnce is how many tenants one script looks at.
const tenantsAtOnce = 200

func (q *Queue[T]) tenantStats(ctx context.Context, p int, names []string) ([]TenantStats, error) {
	args := make([]any, len(names))
	for i, n := range names {
		args[i] = n
	}
	r, err := q.runWithSettings(ctx, oldestScript, p, args...)
	if err != nil {
		return nil, err
	}
	list, _ := r.([]any)
	if len(list) != 1+len(names) {
		return nil, fmt.Errorf("firqredis: oldest: %d replies for %d tenants", len(list), len(names))
	}
	now := number(list[0])
	all := make([]TenantStats, len(names))
	for i, name := range names {
		f, _ := list[i+1].([]any)
		if len(f) != 12 {
			return nil, fmt.Errorf("firqredis: oldest: a reply of %d parts", len(f))
		}
		t := TenantStats{
			Tenant: name, Queued: int(number(f[0])), Delayed: int(number(f[1])), InFlight: int(number(f[2])), DeadLetters: int(number(f[3])),
			Enqueued: uint64(number(f[4])), Delivered: uint64(number(f[5])), Weight: 1, Paused: number(f[8]) == 1,
		}
		if due := number(f[6]); due > 0 {
			t.Oldest = max(0, time.Duration(now-due)*time.Microsecond)
		}
		if w, ok := f[7].(string); ok && w != "" {
			t.Weight, _ = strconv.ParseFloat(w, 64)
		}
		if w, ok := f[9].(string); ok && w != "" {
			t.Settings.Weight, _ = strconv.ParseFloat(w, 64)
		}
		t.Settings.MaxQueued, t.Settings.MaxInFlight = setting(f[10]), setting(f[11])
		all[i] = t
	}
	return all, nil
}

// number returns a reply as a number.
func number(r any) int64 {
	switch r := r.(type) {
	case int64:
		return r
	case string:
		n, _ := strconv.ParseInt(r, 10, 64)
		return n
	}
	return 0
}

// setting returns a limit as it was set: "" is Config's, 0 none.
func setting(r any) int {
	switch s, _ := r.(string); s {
	case "":
		return 0
	case "0":
		return -1
	default:
		n, _ := strconv.Atoi(s)
		return n
	}
}

// eachTenant calls f for each tenant of a partition that has tasks.
func (q *Queue[T]) eachTenant(ctx context.Context, p int, f func(*TenantStats)) error {
	var cursor uint64
	for {
		names, next, err := q.activeTenants(ctx, p, cursor)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(names, tenantsAtOnce) {
			all, err := q.tenantStats(ctx, p, some)
			if err != nil {
				return err
			}
			for i := range all {
				f(&all[i])
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// activeTenants returns some tenants of a partition that have tasks, and where the next ones are; 0: that was all.
func (q *Queue[T]) activeTenants(ctx context.Context, p int, cursor uint64) ([]string, uint64, error) {
	r, err := await(ctx, func() (*redis.ScanCmd, error) {
		cmd := q.db.SScan(ctx, q.prefix[p]+":a", cursor, "", tenantsAtOnce)
		return cmd, cmd.Err()
	})
	if err != nil {
		return nil, 0, fmt.Errorf("firqredis: %w", err)
	}
	names, next := r.Val()
	return names, next, nil
}

// By is an order of tenants.
type By uint8

// The orders of TopTenants.
const (
	ByQueued By = iota
	ByInFlight
	ByOldest
)

// TopTenants returns the n tenants with the most tasks, or the oldest one, the greatest first. It looks at
// all tenants that have tasks: see Survey for a program that looks often.
func (q *Queue[T]) TopTenants(ctx context.Context, n int, by By) ([]TenantStats, error) {
	if err := topArgs(n, by); err != nil {
		return nil, err
	}
	if err := q.call(ctx, "TopTenants"); err != nil {
		return nil, err
	}
	all := ranking{} // a scan may return one twice
	for p := range q.prefix {
		if err := q.eachTenant(ctx, p, all.add); err != nil {
			return nil, err
		}
	}
	return all.top(n, by), nil
}
