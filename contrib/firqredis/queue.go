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

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/firq-go/firq"
)

// Queue is a client of a queue. Make it with New. Safe for concurrent use.
type Queue[T any] struct {
	cfg    Config[T]
	db     redis.UniversalClient
	own    bool                  // db was made here, and is closed with the queue
	sleep  redis.UniversalClient // for those that wait, as a blocked connection serves no other call
	prefix []string              // of each partition's keys

	pushes []*batcher[push]
	acks   []*batcher[ack]
	ears   []*ear[T]   // of each partition
	fetch  *fetcher[T] // for calls that take from all tenants
	survey *Survey[T]

	shared  atomic.Pointer[inForce] // settings
	reading atomic.Bool             // they are being read again

	unreadable sync.Map // ids of schedules that were logged

	closed    chan struct{}
	closeOnce sync.Once
	all       sync.WaitGroup // goroutines of the queue
	life      sync.RWMutex   // no goroutine starts once Close waits
}

// New connects to a queue, which is made if it is new. It checks the server: that it does not evict
// what is queued (ErrInvalidConfig), that the queue is of this version or empty (ErrVersion), and the
// number of partitions (ErrPartitions).
func New[T any](ctx context.Context, c Config[T]) (*Queue[T], error) {
	if ctx == nil {
		return nil, fmt.Errorf("%w: firqredis: New: nil context", firq.ErrInvalidArgument)
	}
	own := Settings{c.MaxQueued, c.MaxQueuedPerTenant, c.MaxInFlight, c.MaxInFlightPerTenant, c.PriorityAging, c.DeadLetters}
	c, err := c.resolve()
	if err != nil {
		return nil, err
	}
	if err := usable(c.Client); err != nil {
		return nil, err
	}
	q := &Queue[T]{cfg: c, db: c.Client, closed: make(chan struct{})}
	if q.db == nil {
		q.own, q.db = true, redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	}
	if c := primaries(q.db); c != q.db {
		q.own, q.db = true, c
	}
	for p := range c.Partitions {
		q.ears = append(q.ears, &ear[T]{q: q, p: p})
		q.prefix = append(q.prefix, fmt.Sprintf("fq:{%s:%d}", c.Name, p))
		q.pushes = append(q.pushes, &batcher[push]{linger: c.Linger, run: q.pushOn(p), start: q.start, size: func(x *push) int { return x.bytes }})
		q.acks = append(q.acks, &batcher[ack]{run: q.ackOn(p), start: q.start})
	}
	q.sleep = sleeper(q.db, c.Partitions)
	q.fetch, q.survey = newFetcher(q, nil), newSurvey(q)
	if _, err := await(ctx, func() (any, error) { return nil, q.open(ctx, own) }); err != nil {
		_ = q.Close()
		return nil, err
	}
	return q, nil
}

// open checks the server and the queue.
func (q *Queue[T]) open(ctx context.Context, own Settings) error {
	if err := q.db.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("firqredis: %w", err)
	}
	if policy := q.eviction(ctx); strings.HasPrefix(policy, "allkeys-") {
		return invalid("Client: the server's maxmemory-policy is %s, and would evict tasks: set noeviction", policy)
	}
	key := q.prefix[0] + ":cfg"
	n, err := q.db.HGet(ctx, key, "partitions").Int()
	if errors.Is(err, redis.Nil) { // only then: a server without memory refuses to be written to, and shall be drained
		if err := q.db.HSetNX(ctx, key, "partitions", q.cfg.Partitions).Err(); err != nil {
			return fmt.Errorf("firqredis: %w", err)
		}
		n, err = q.db.HGet(ctx, key, "partitions").Int()
	}
	if err != nil {
		return fmt.Errorf("firqredis: %w", err)
	}
	if n != q.cfg.Partitions {
		return fmt.Errorf("%w: %d, not %d", ErrPartitions, n, q.cfg.Partitions)
	}
	if err := q.share(ctx, own); err != nil {
		return err
	}
	for _, prefix := range q.prefix {
		ver, err := q.db.HGet(ctx, prefix+":m", "ver").Int()
		switch {
		case err != nil && !errors.Is(err, redis.Nil):
			return fmt.Errorf("firqredis: %w", err)
		case ver > version:
			return fmt.Errorf("%w: %d, not %d", ErrVersion, ver, version)
		case ver < version:
			known, err := q.db.HLen(ctx, prefix+":d").Result()
			if err != nil {
				return fmt.Errorf("firqredis: %w", err)
			}
			if known > 0 {
				return fmt.Errorf("%w: %d, not %d, with %d tasks and dead letters", ErrVersion, ver, version, known)
			}
			if err := q.db.HSet(ctx, prefix+":m", "ver", version).Err(); err != nil {
				return fmt.Errorf("firqredis: %w", err)
			}
		}
	}
	return q.apply(ctx)
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

// Close ends all calls that wait with firq.ErrClosed. Leases that are out go on: their tasks come back
// when they have run out. Calling it again does nothing.
func (q *Queue[T]) Close() (err error) {
	q.closeOnce.Do(func() {
		q.life.Lock()
		close(q.closed)
		q.life.Unlock()
		if q.sleep != nil {
			err = q.sleep.Close() // ends the calls that sleep
		}
		q.all.Wait()
		if q.own {
			err = errors.Join(err, q.db.Close())
		}
	})
	return err
}

// Done returns a channel that is closed when the queue is closed.
func (q *Queue[T]) Done() <-chan struct{} { return q.closed }

// over reports whether the queue is closed.
func (q *Queue[T]) over() bool {
	select {
	case <-q.closed:
		return true
	default:
		return false
	}
}

// start starts a goroutine that Close waits for; false: the queue is closed.
func (q *Queue[T]) start(f func()) bool {
	q.life.RLock()
	defer q.life.RUnlock()
	if q.over() {
		return false
	}
	q.all.Go(f)
	return true
}

// call makes the checks that all calls have in common.
func (q *Queue[T]) call(ctx context.Context, name string) error {
	if ctx == nil {
		return fmt.Errorf("%w: firqredis: %s: nil context", firq.ErrInvalidArgument, name)
	}
	if q.over() {
		return firq.ErrClosed
	}
	return ctx.Err()
}

// partitionOf returns where a tenant lives.
func (q *Queue[T]) partitionOf(tenant string) int {
	if q.cfg.Partitions == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant))
	return int(h.Sum32() % uint32(q.cfg.Partitions))
}

// weight returns the answer of WeightFor, for the scripts; "" without WeightFor: the weight that other clients have set stays.
func (q *Queue[T]) weight(tenant string) string {
	if q.cfg.WeightFor == nil {
		return ""
	}
	w := q.cfg.WeightFor(tenant)
	if !(w > 0) || w > mostWeight {
		w = 1
	}
	return strconv.FormatFloat(max(w, leastWeight), 'g', 17, 64)
}
