package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/contrib/firqd/internal/config"
	"github.com/firq-go/firq/contrib/firqd/internal/status"
	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// silent keeps the client's log away from the terminal: what matters comes back as an error.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

// redisPlace is a server of Redis or Valkey, or several of them.
type redisPlace struct{ client redis.UniversalClient }

func (p *redisPlace) close() { _ = p.client.Close() }

func (p *redisPlace) timed(c *status.Calls) { p.client.AddHook(c) }

// open: if the configuration leaves the partitions open, the queue says how many.
func (p *redisPlace) open(ctx context.Context, s *session, makes bool) error {
	n, err := p.client.HGet(ctx, "fq:{"+s.conf.Queue.Name+":0}:cfg", "partitions").Int()
	switch {
	case errors.Is(err, redis.Nil) && !makes:
		return s.notFound()
	case errors.Is(err, redis.Nil):
		n = 1
	case err != nil:
		return fmt.Errorf("%s: %w", s.conf.Place(), err)
	}
	s.conf.Queue.Partitions = cmp.Or(s.conf.Queue.Partitions, n)
	c := config.OnRedis[payload](&s.conf, p.client, codec{})
	c.MaxQueued, c.MaxQueuedPerTenant, c.MaxInFlight, c.MaxInFlightPerTenant, c.PriorityAging, c.DeadLetters = 0, 0, 0, 0, 0, queue.Retention{}
	c.RatePerTenant = rate.Limit{}
	s.q, err = firqredis.New(ctx, c)
	return err
}

func (p *redisPlace) remove(ctx context.Context, s *session) error {
	return p.eachPrimary(ctx, func(ctx context.Context, db redis.Cmdable) error {
		return scan(ctx, db, "fq:{"+literal(s.conf.Queue.Name)+":*", func(keys []string) error {
			for _, k := range keys { // one by one: in a cluster they may be of several slots
				if err := db.Unlink(ctx, k).Err(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// eachPrimary calls f for each server that has keys, one after the other.
func (p *redisPlace) eachPrimary(ctx context.Context, f func(ctx context.Context, db redis.Cmdable) error) error {
	cluster, ok := p.client.(*redis.ClusterClient)
	if !ok {
		return f(ctx, p.client)
	}
	one := make(chan struct{}, 1) // ForEachMaster calls at the same time
	return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		one <- struct{}{}
		defer func() { <-one }()
		return f(ctx, c)
	})
}

// scan calls f for the server's keys that match.
func scan(ctx context.Context, db redis.Cmdable, match string, f func(keys []string) error) error {
	var cursor uint64
	for {
		keys, next, err := db.Scan(ctx, cursor, match, 1000).Result()
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if err := f(keys); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// literal returns a pattern of SCAN that matches the text only.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
