package firqfleet

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/gate"
)

// zset is a semaphore as people write it on Redis: a sorted set of holders by the end of their leases, tried again each 10 ms.
type zset struct {
	c     *redis.Client
	limit int
}

var zsetAcquire = redis.NewScript(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[3]) then redis.call('ZADD', KEYS[1], ARGV[2], ARGV[4]) return 1 end
return 0`)

type zsetPermit struct {
	z  *zset
	id string
}

func (p zsetPermit) Release()              { p.z.c.ZRem(context.Background(), "z", p.id) }
func (p zsetPermit) Charge(int64)          {}
func (p zsetPermit) Waited() time.Duration { return 0 }

func (z *zset) Acquire(ctx context.Context, _ string, _ gate.Request) (gate.Permit[string], error) {
	for id := rand.Text(); ; {
		now := time.Now().UnixMilli()
		n, err := zsetAcquire.Run(ctx, z.c, []string{"z"}, now, now+5000, z.limit, id).Int()
		if err != nil {
			return gate.Permit[string]{}, err
		}
		if n == 1 {
			return gate.PermitOf[string](zsetPermit{z, id}), nil
		}
		select {
		case <-ctx.Done():
			return gate.Permit[string]{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (z *zset) TryAcquire(string, gate.Request) (gate.Permit[string], bool) {
	return gate.Permit[string]{}, false
}
