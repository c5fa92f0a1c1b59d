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
	"github.com/firq-go/firq/queue"
)

// Stats is of queue.Engine. It asks all partitions, one after the other.
func (e *engine) Stats(ctx context.Context) (s queue.Stats, err error) {
	for p := range e.prefix {
		c, err := await(ctx, func() (*counters, error) { return e.counters(ctx, p) })
		if err != nil {
			return queue.Stats{}, fmt.Errorf("firqredis: Stats: %w", err)
		}
		c.addTo(&s)
	}
	return s, nil
}

// counters are the replies of one partition.
type counters struct {
	counts           *redis.MapStringStringCmd
	d, z, l, x, a, h *redis.IntCmd
	state            *redis.SliceCmd
}

func (e *engine) counters(ctx context.Context, p int) (c *counters, err error) {
	prefix := e.prefix[p]
	ask := func(t redis.Pipeliner) error {
		c = &counters{
			t.HGetAll(ctx, prefix+":s"), t.HLen(ctx, prefix+":d"), t.ZCard(ctx, prefix+":z"), t.ZCard(ctx, prefix+":l"), t.ZCard(ctx, prefix+":x"),
			t.SCard(ctx, prefix+":a"), t.ZCard(ctx, prefix+":h"), t.HMGet(ctx, prefix+":m", "e", "d", "pz"),
		}
		return nil
	}
	_, err = e.db.TxPipelined(ctx, ask)
	if err != nil && strings.Contains(err.Error(), "EXECABORT") { // a server without memory takes no transactions
		_, err = e.db.Pipelined(ctx, ask)
	}
	return c, err
}

func (c *counters) addTo(s *queue.Stats) {
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
	s.Held += int(c.h.Val())
	s.Enqueued += uint64(number(c.state.Val()[0])) // the scripts that are called most keep theirs with the rest of their state
	s.Delivered += uint64(number(c.state.Val()[1]))
	s.Paused = s.Paused || c.state.Val()[2] != nil
}

// waitBuckets is how many buckets the scripts count in: up to 1 ms, 2 ms, 4 ms and so on, and all that is longer.
const waitBuckets = 32

// maxMicroseconds is more than a Duration holds.
const maxMicroseconds = math.MaxInt64/1000 + 1

// QueueTimes is of queue.Engine.
func (e *engine) QueueTimes(ctx context.Context) (buckets []firq.Bucket, sum time.Duration, err error) {
	names := make([]string, waitBuckets)
	buckets = make([]firq.Bucket, waitBuckets)
	for b := range buckets {
		names[b] = "h" + strconv.Itoa(b)
		buckets[b].UpperBound = time.Millisecond << b
	}
	buckets[waitBuckets-1].UpperBound = math.MaxInt64
	var us int64
	for p := range e.prefix {
		lists, err := await(ctx, func() ([2][]any, error) {
			pipe := e.db.Pipeline()
			waited, counts := pipe.HMGet(ctx, e.prefix[p]+":m", "hs"), pipe.HMGet(ctx, e.prefix[p]+":s", names...)
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

// TenantStats is of queue.Engine.
func (e *engine) TenantStats(ctx context.Context, tenants []string) ([]queue.TenantStats, error) {
	each, at := make([][]string, e.partitions), make([][]int, e.partitions)
	for i, name := range tenants {
		p := e.Lane(name)
		each[p], at[p] = append(each[p], name), append(at[p], i)
	}
	all := make([]queue.TenantStats, len(tenants))
	for p := range each {
		for len(each[p]) > 0 {
			n := min(len(each[p]), tenantsAtOnce)
			some, err := e.tenantStats(ctx, p, each[p][:n])
			if err != nil {
				return nil, err
			}
			for k := range some {
				all[at[p][k]] = some[k]
			}
			each[p], at[p] = each[p][n:], at[p][n:]
		}
	}
	return all, nil
}

// tenantsAtOnce is how many tenants one script looks at.
const tenantsAtOnce = 200

func (e *engine) tenantStats(ctx context.Context, p int, names []string) ([]queue.TenantStats, error) {
	args := make([]any, len(names))
	for i, n := range names {
		args[i] = n
	}
	r, err := e.runWithSettings(ctx, oldestScript, p, args...)
	if err != nil {
		return nil, err
	}
	list, _ := r.([]any)
	if len(list) != 1+len(names) {
		return nil, fmt.Errorf("firqredis: oldest: %d replies for %d tenants", len(list), len(names))
	}
	now := number(list[0])
	all := make([]queue.TenantStats, len(names))
	for i, name := range names {
		f, _ := list[i+1].([]any)
		if all[i].Tenant = name; len(f) == 0 { // it is not known
			continue
		}
		if len(f) != 14 {
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
		own, _ := f[12].(string)
		t.Settings.Rate = limitOf(own)
		if until := number(f[13]); until > 0 {
			t.Held = max(0, time.Duration(until-now)*time.Microsecond)
		}
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

// Tenants is of queue.Engine. A cursor is a partition, and one of the server's.
func (e *engine) Tenants(ctx context.Context, cursor string, _ int) (some []queue.TenantStats, next string, err error) {
	p, at := 0, uint64(0)
	if cursor != "" {
		if _, err := fmt.Sscanf(cursor, "%d:%d", &p, &at); err != nil {
			return nil, "", fmt.Errorf("%w: firqredis: cursor %q: %w", firq.ErrInvalidArgument, cursor, err)
		}
	}
	names, at, err := e.activeTenants(ctx, p, at)
	if err != nil {
		return nil, "", err
	}
	for few := range slices.Chunk(names, tenantsAtOnce) {
		all, err := e.tenantStats(ctx, p, few)
		if err != nil {
			return nil, "", err
		}
		some = append(some, all...)
	}
	if at == 0 {
		p++
	}
	if p == e.partitions {
		return some, "", nil
	}
	return some, fmt.Sprintf("%d:%d", p, at), nil
}

// activeTenants returns some tenants of a partition that have tasks, and where the next ones are; 0: that was all.
func (e *engine) activeTenants(ctx context.Context, p int, cursor uint64) ([]string, uint64, error) {
	r, err := await(ctx, func() (*redis.ScanCmd, error) {
		cmd := e.db.SScan(ctx, e.prefix[p]+":a", cursor, "", tenantsAtOnce)
		return cmd, cmd.Err()
	})
	if err != nil {
		return nil, 0, fmt.Errorf("firqredis: %w", err)
	}
	names, next := r.Val()
	return names, next, nil
}

// ReadyTenants returns how many tenants have tasks that can be delivered now.
func (e *engine) ReadyTenants(ctx context.Context) (n int64, err error) {
	for p := range e.prefix {
		m, err := await(ctx, func() (int64, error) { return e.db.ZCard(ctx, e.prefix[p]+":r").Result() })
		if err != nil {
			return 0, fmt.Errorf("firqredis: ReadyTenants: %w", err)
		}
		n += m
	}
	return n, nil
}
