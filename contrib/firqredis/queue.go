package firqredis

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// New connects to a queue, which is made if it is new. It checks the server: that it does not evict
// what is queued (ErrInvalidConfig), that the queue is of this version or empty (ErrVersion), and the
// number of partitions (ErrPartitions).
func New[T any](ctx context.Context, c Config[T]) (*Queue[T], error) {
	if ctx == nil {
		return nil, fmt.Errorf("%w: firqredis: New: nil context", firq.ErrInvalidArgument)
	}
	e, err := c.engine()
	if err != nil {
		return nil, err
	}
	return queue.New(ctx, e, queue.Config[T]{
		Name: c.Name, Codec: c.Codec, Lease: c.Lease, MaxAttempts: c.MaxAttempts, Backoff: c.Backoff, MaxQueued: c.MaxQueued,
		MaxQueuedPerTenant: c.MaxQueuedPerTenant, MaxInFlight: c.MaxInFlight, MaxInFlightPerTenant: c.MaxInFlightPerTenant,
		WeightFor: c.WeightFor, PriorityAging: c.PriorityAging, MaxPayload: c.MaxPayload, DeadLetters: c.DeadLetters,
		TenantIdle: c.TenantIdle, Linger: c.Linger, RatePerTenant: c.RatePerTenant,
	})
}

// engine keeps a queue on a server; it is queue.Engine. A lane is a partition.
type engine struct {
	partitions int
	replicas   int // that have to have a task
	o          queue.Options

	db     redis.UniversalClient
	own    bool                  // db was made here, and is closed with the queue
	sleep  redis.UniversalClient // for those that wait, as a blocked connection serves no other call
	prefix []string              // of each partition's keys
	ears   []*ear                // of each partition
	fetch  *fetcher              // of the calls that take from all tenants: the first of From

	shared  atomic.Pointer[inForce] // settings
	reading atomic.Bool             // they are being read again

	closed <-chan struct{}
	all    sync.WaitGroup // goroutines that listen
}

// Traits says what package queue has to know.
func (e *engine) Traits() queue.Traits { return queue.Traits{Name: "redis", Lanes: e.partitions} }

// Open connects, and checks the server and the queue.
func (e *engine) Open(ctx context.Context, o queue.Options) error {
	e.o, e.closed = o, o.Closing
	if err := e.fits(o.Settings.MaxQueued, o.Settings.MaxInFlight); err != nil {
		return err
	}
	if e.db == nil {
		e.own, e.db = true, redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	}
	if c := primaries(e.db); c != e.db {
		e.own, e.db = true, c
	}
	for p := range e.partitions {
		e.ears = append(e.ears, &ear{e: e, p: p})
		e.prefix = append(e.prefix, fmt.Sprintf("fq:{%s:%d}", o.Name, p))
	}
	e.sleep = sleeper(e.db, e.partitions)
	_, err := await(ctx, func() (any, error) { return nil, e.open(ctx) })
	return err
}

// open checks the server and the queue.
func (e *engine) open(ctx context.Context) error {
	if err := e.db.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("firqredis: %w", err)
	}
	if policy := e.eviction(ctx); strings.HasPrefix(policy, "allkeys-") {
		return invalid("Client: the server's maxmemory-policy is %s, and would evict tasks: set noeviction", policy)
	}
	key := e.prefix[0] + ":cfg"
	n, err := e.db.HGet(ctx, key, "partitions").Int()
	if errors.Is(err, redis.Nil) { // only then: a server without memory refuses to be written to, and shall be drained
		if err := e.db.HSetNX(ctx, key, "partitions", e.partitions).Err(); err != nil {
			return fmt.Errorf("firqredis: %w", err)
		}
		n, err = e.db.HGet(ctx, key, "partitions").Int()
	}
	if err != nil {
		return fmt.Errorf("firqredis: %w", err)
	}
	if n != e.partitions {
		return fmt.Errorf("%w: %d, not %d", ErrPartitions, n, e.partitions)
	}
	if err := e.share(ctx, e.o.Settings); err != nil {
		return err
	}
	for _, prefix := range e.prefix {
		ver, err := e.db.HGet(ctx, prefix+":m", "ver").Int()
		switch {
		case err != nil && !errors.Is(err, redis.Nil):
			return fmt.Errorf("firqredis: %w", err)
		case ver > version:
			return fmt.Errorf("%w: %d, not %d", ErrVersion, ver, version)
		case ver < version:
			known, err := e.db.HLen(ctx, prefix+":d").Result()
			if err != nil {
				return fmt.Errorf("firqredis: %w", err)
			}
			if known > 0 {
				return fmt.Errorf("%w: %d, not %d, with %d tasks and dead letters", ErrVersion, ver, version, known)
			}
			if err := e.db.HSet(ctx, prefix+":m", "ver", version).Err(); err != nil {
				return fmt.Errorf("firqredis: %w", err)
			}
		}
	}
	return e.apply(ctx)
}

// usable returns an error that matches firq.ErrInvalidConfig if the queue cannot use a client.
func usable(c redis.UniversalClient) error {
	if v := reflect.ValueOf(c); v.Kind() == reflect.Pointer && v.IsNil() {
		return invalid("Client: is a nil %T", c)
	}
	if _, ring := c.(*redis.Ring); ring {
		return invalid("Client: is a %T, which spreads the keys of a script over servers: use one server, Sentinel or a cluster", c)
	}
	return nil
}

// primaries returns c, or a client like it if c lets replicas answer reads: they lag behind.
func primaries(c redis.UniversalClient) redis.UniversalClient {
	of, ok := c.(*redis.ClusterClient)
	if !ok || !of.Options().ReadOnly {
		return c
	}
	opt := *of.Options()
	opt.ReadOnly, opt.RouteByLatency, opt.RouteRandomly = false, false, false
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClusterClient(&opt)
}

// sleeper returns a client like c with connections for as many blocked calls.
func sleeper(c redis.UniversalClient, partitions int) redis.UniversalClient {
	switch c := c.(type) {
	case *redis.Client:
		opt := *c.Options()
		opt.PoolSize, opt.MinIdleConns, opt.MaxIdleConns, opt.MaxActiveConns = partitions, 0, 0, 0
		opt.ReadTimeout, opt.MaxRetries = 2*longestSleep, -1
		opt.PushNotificationProcessor, opt.MaintNotificationsConfig = nil, &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClient(&opt)
	case *redis.ClusterClient:
		opt := *c.Options()
		opt.PoolSize, opt.MinIdleConns, opt.MaxIdleConns, opt.MaxActiveConns = partitions, 0, 0, 0
		opt.ReadTimeout, opt.MaxRetries = 2*longestSleep, -1
		opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(&opt)
	}
	return nil // an unknown kind of client: its own connections have to do
}

// Close ends the connections.
func (e *engine) Close() (err error) {
	if e.sleep != nil {
		err = e.sleep.Close() // ends the calls that sleep
	}
	e.all.Wait()
	if e.own {
		err = errors.Join(err, e.db.Close())
	}
	return err
}

// over reports whether the engine is closed.
func (e *engine) over() bool {
	select {
	case <-e.closed:
		return true
	default:
		return false
	}
}

// sleepFor waits for d; false: ctx or the engine has ended before.
func (e *engine) sleepFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-e.closed:
	}
	return false
}

// Lane returns where a tenant lives.
func (e *engine) Lane(tenant string) int {
	if e.partitions == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant))
	return int(h.Sum32() % uint32(e.partitions))
}

// weight returns a weight for the scripts; "" for 0: the weight that other clients have set stays.
func weight(w float64) string {
	if w == 0 {
		return ""
	}
	return strconv.FormatFloat(w, 'g', 17, 64)
}
