package firqredis

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Health is of queue.Engine.
func (e *engine) Health(ctx context.Context) (h Health, err error) {
	return await(ctx, func() (Health, error) { return e.health(ctx) })
}

func (e *engine) health(ctx context.Context) (h Health, err error) {
	began := time.Now()
	if err := e.db.Ping(ctx).Err(); err != nil {
		return h, fmt.Errorf("firqredis: Health: %w", err)
	}
	h.RTT = time.Since(began)
	info := e.info(ctx)
	if now, err := e.db.Time(ctx).Result(); err == nil {
		h.ClockSkew = now.Sub(time.Now().Add(-h.RTT / 2)).Round(time.Microsecond)
	}
	h.Server = "unknown"
	if v := info["redis_version"]; v != "" {
		h.Server = "redis " + v
	}
	if v := info["valkey_version"]; v != "" {
		h.Server = "valkey " + v
	}
	h.EvictionPolicy = e.eviction(ctx)
	_, _ = fmt.Sscan(info["connected_slaves"], &h.Replicas)
	var keeps []string
	if info["aof_enabled"] == "1" {
		keeps = append(keeps, strings.TrimSpace("aof "+e.setting(ctx, "appendfsync")))
	}
	if e.setting(ctx, "save") != "" {
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
	for p := range e.prefix {
		if ver, err := e.db.HGet(ctx, e.prefix[p]+":m", "ver").Int(); err == nil && ver > version {
			h.Problems = append(h.Problems, fmt.Sprintf("partition %d is of version %d, this is %d", p, ver, version))
		}
	}
	h.OK = len(h.Problems) == 0
	return h, nil
}

// info returns the reply of INFO, empty if the server does not permit it.
func (e *engine) info(ctx context.Context) map[string]string {
	all := map[string]string{}
	node, err := e.primary(ctx, 0)
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
func (e *engine) setting(ctx context.Context, name string) string {
	node, err := e.primary(ctx, 0)
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
func (e *engine) eviction(ctx context.Context) string {
	if policy := e.info(ctx)["maxmemory_policy"]; policy != "" {
		return policy
	}
	return e.setting(ctx, "maxmemory-policy")
}
