package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

func (p *redisPlace) examine(ctx context.Context, s *session, h queue.Health, r *report) error {
	p.eviction(r)
	p.persistence(ctx, r)
	replicas(s.conf.Queue.WaitReplicas, r)
	r.add("scripts", bad(told(h, "of version")), "ours are not older than the queue; partitions: %d", s.conf.Queue.Partitions)
	return p.strays(ctx, s, r)
}

func (p *redisPlace) eviction(r *report) {
	switch r.EvictionPolicy {
	case "noeviction":
		r.add("eviction", "ok", "noeviction")
	case "":
		r.add("eviction", "note", "the server does not say; it has to be noeviction")
	default:
		r.add("eviction", "problem", "maxmemory-policy is %s, and has to be noeviction: keys of the queue may be evicted; to mend it: redis-cli config set maxmemory-policy noeviction", r.EvictionPolicy)
	}
}

// persistence goes by what the server says itself, as Health cannot tell "none" from "may not be asked".
func (p *redisPlace) persistence(ctx context.Context, r *report) {
	switch {
	case strings.Contains(r.Persistence, "aof"):
		status := "ok"
		if strings.Contains(r.Persistence, "aof no") {
			status = "note"
		}
		r.add("persistence", status, "%s", r.Persistence)
	case r.Persistence == "rdb":
		r.add("persistence", "note", "rdb: what came after the last snapshot is lost if the server stops; to mend it: redis-cli config set appendonly yes")
	case r.Persistence == "none" && p.mayAsk(ctx):
		r.add("persistence", "problem", "none: all is lost if the server stops; to mend it: redis-cli config set appendonly yes")
	default:
		r.add("persistence", "note", "the server does not say (%s)", r.Persistence)
	}
}

// mayAsk reports whether the server says how it is set up.
func (p *redisPlace) mayAsk(ctx context.Context) bool {
	answered := false
	_ = p.eachPrimary(ctx, func(ctx context.Context, db redis.Cmdable) error { // what fails has not answered
		m, err := db.ConfigGet(ctx, "appendonly").Result()
		answered = answered || err == nil && m["appendonly"] != ""
		return nil
	})
	return answered
}

func replicas(want int, r *report) {
	switch {
	case r.Replicas < want:
		r.add("replicas", "problem", "%d, but queue.wait_replicas is %d: no Enqueue can be sure of its task", r.Replicas, want)
	case r.Replicas == 0:
		r.add("replicas", "note", "none: while the server is away nothing is queued or delivered")
	default:
		r.add("replicas", "ok", "%d", r.Replicas)
	}
}

// strays looks for keys that begin as ours and have no hash tag, and for those of partitions that there are not.
func (p *redisPlace) strays(ctx context.Context, s *session, r *report) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var untagged, beyond int
	var example string
	err := p.eachPrimary(ctx, func(ctx context.Context, db redis.Cmdable) error {
		return scan(ctx, db, "fq:*", func(keys []string) error {
			for _, k := range keys {
				queue, partition, ok := tagOf(k)
				switch {
				case !ok:
					untagged++
					example = k
				case queue == s.conf.Queue.Name && partition >= s.conf.Queue.Partitions:
					beyond++
				}
			}
			return nil
		})
	})
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		r.add("keys", "note", "not looked through: %v", err)
		return nil
	case untagged > 0:
		r.add("keys", "problem", "%d keys without a hash tag, such as %q: something else writes keys that begin with fq:", untagged, example)
	default:
		r.add("keys", "ok", "all have a hash tag")
	}
	if beyond > 0 {
		r.add("partitions", "problem", "%d keys are of partitions above %d: tasks there are not delivered", beyond, s.conf.Queue.Partitions-1)
	}
	return nil
}

// tagOf takes a key apart: fq:{queue:partition}...
func tagOf(key string) (queue string, partition int, ok bool) {
	tag, ok := strings.CutPrefix(key, "fq:{")
	if !ok {
		return "", 0, false
	}
	tag, _, ok = strings.Cut(tag, "}")
	i := strings.LastIndexByte(tag, ':')
	if !ok || i < 1 {
		return "", 0, false
	}
	partition, err := strconv.Atoi(tag[i+1:])
	return tag[:i], partition, err == nil && partition >= 0
}
