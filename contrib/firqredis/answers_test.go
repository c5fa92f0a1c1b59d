package firqredis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
)

// The tasks of a schedule can be cancelled however long its ID is.
func TestCancelOfLongID(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		id := strings.Repeat("x", MaxName)
		ok(t, q.Schedules().Put(ctx, Schedule[string]{ID: id, Cron: "* * * * * *"}))
		until(t, "it fires", func() bool { must(q.Schedules().RunOnce(ctx)); return must(q.Stats(ctx)).Queued > 0 })
		ids := must(at(q).db.HKeys(ctx, at(q).prefix[0]+":d").Result())
		ok(t, q.Cancel(ctx, ids[0]))
		want(t, q.Cancel(ctx, ids[0]), ErrNotFound)
		want(t, q.Cancel(ctx, id+strings.Repeat("y", 100)), firq.ErrInvalidArgument)
	})
}

// A client that cannot be used is an error of New, not a panic, nor one of a later call.
func TestClients(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}})
	defer func() { _ = ring.Close() }()
	for _, c := range []redis.UniversalClient{(*redis.Client)(nil), (*redis.ClusterClient)(nil), ring} {
		_, err := New(context.Background(), Config[string]{Client: c})
		if !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), "Client: is a ") || !strings.Contains(err.Error(), fmt.Sprintf("%T", c)) {
			t.Errorf("%T: %v", c, err)
		}
	}
}
