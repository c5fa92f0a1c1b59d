package firqredis

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Health is the state of the server. OK: it was reached, and Problems is empty.
type Health struct {
	OK             bool
	Problems       []string
	Server         string // "redis 7.0.15"
	EvictionPolicy string
	Persistence    string // "aof everysec", "rdb", "aof everysec, rdb", "none"
	Replicas       int
	RTT            time.Duration
	ClockSkew      time.Duration // the server's clock less ours
}

// Health asks the server; in a cluster, the server of the first partition.
func (q *Queue[T]) Health(ctx context.Context) (h Health, err error) {
	if err := q.call(ctx, "Health"); err != nil {
		return h, err
	}
	return await(ctx, func() (Health, error) { return q.health(ctx) })
}

func (q *Queue[T]) health(ctx context.Context) (h Health, err error) {
	began := time.Now()
	if err := q.db.Ping(ctx).Err(); err != nil {
		return h, fmt.Errorf("firqredis: Health: %w", err)
	}
	h.RTT = time.Since(began)
	info := q.info(ctx)
	if now, err := q.db.Time(ctx).Result(); err == nil {
		h.ClockSkew = now.Sub(time.Now().Add(-h.RTT / 2)).Round(time.Microsecond)
	}
	h.Server = "unknown"
	if v := info["redis_version"]; v != "" {
		h.Server = "redis " + v
	}
	if v := info["valkey_version"]; v != "" {
		h.Server = "valkey " + v
	}
	h.EvictionPolicy = q.eviction(ctx)
	_, _ = fmt.Sscan(info["connected_slaves"], &h.Replicas)
	var keeps []string
	if info["aof_enabled"] == "1" {
		keeps = append(keeps, strings.TrimSpace("aof "+q.setting(ctx, "appendfsync")))
	}
	if q.setting(ctx, "save") != "" {
		keeps = append(keeps, "rdb")
	}
	if h.Persistence = strings.Join(keeps, ", "); h.Persistence == "" {
		h.Persistence = "none"
	}
	switch {
	case strings.HasPrefix(h.EvictionPolicy, "allkeys-"): // it was set since New
		h.Problems = append(h.Problems, "maxmemory-policy is "+h.EvictionPolicy+": tasks may be evicted; set noeviction")
	case strings.HasPrefix(h.EvictionPolicy, "volatile-"):
		h.Problems = append(h.Problems, "maxmemory-policy is "+h.EvictionPolicy+": idempotency keys may be evicted; set noeviction")
	}
	if skew := h.ClockSkew.Abs(); skew > 2*time.Second {
		h.Problems = append(h.Problems, fmt.Sprintf("the clocks differ by %v: deadlines and schedules go by ours", skew))
	}
	for p := range q.prefix {
		if ver, err := q.db.HGet(ctx, q.prefix[p]+":m", "ver").Int(); err == nil && ver > version {
			h.Problems = append(h.Problems, fmt.Sprintf("partition %d is of version %d, this is %d", p, ver, version))
		}
	}
	h.OK = len(h.Problems) == 0
	return h, nil
}

// info returns the reply of INFO, empty if the server does not permit it.
func (q *Queue[T]) info(ctx context.Context) map[string]string {
	all := map[string]string{}
	node, err := q.primary(ctx, 0)
	if err != nil {
		return all
	}
	for _, section := range []string{"server", "persistence", "replication", "memory"} {
		text, err := node.Info(ctx, section).Result()
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				all[k] = v
			}
		}
	}
	return all
}

// setting returns a parameter of the server, "" if the server does not permit that.
func (q *Queue[T]) setting(ctx context.Context, name string) string {
	node, err := q.primary(ctx, 0)
	if err != nil {
		return ""
	}
	m, err := node.ConfigGet(ctx, name).Result()
	if err != nil {
		return ""
	}
	return m[name]
}

// eviction returns the server's maxmemory-policy, "" if it does not say.
func (q *Queue[T]) eviction(ctx context.Context) string {
	if policy := q.info(ctx)["maxmemory_policy"]; policy != "" {
		return policy
	}
	return q.setting(ctx, "maxmemory-policy")
}
