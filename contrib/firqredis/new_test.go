package firqredis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
)

func TestBadConfig(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		c := s.client(t)
		for field, cfg := range map[string]Config[string]{
			"Name": {Name: "a{b}"}, "Name:": {Name: strings.Repeat("x", 129)}, "Name: ": {Name: "a\n"}, "Partitions": {Partitions: -1},
			"Partitions:": {Partitions: MaxPartitions + 1}, "Lease": {Lease: -1}, "Lease:": {Lease: time.Microsecond}, "MaxAttempts": {MaxAttempts: -1},
			"Backoff.First": {Backoff: Backoff{First: -1}}, "Backoff.Max": {Backoff: Backoff{Max: -1}}, "Backoff.Factor": {Backoff: Backoff{Factor: 0.5}},
			"Backoff.Factor:": {Backoff: Backoff{Factor: math.NaN()}}, "MaxQueued": {MaxQueued: -1}, "MaxQueued:": {MaxQueued: 3, Partitions: 4},
			"MaxQueuedPerTenant": {MaxQueuedPerTenant: -1}, "MaxInFlight": {MaxInFlight: -1}, "MaxInFlight:": {MaxInFlight: 1, Partitions: 2},
			"MaxInFlightPerTenant": {MaxInFlightPerTenant: -1}, "PriorityAging": {PriorityAging: -1}, "MaxPayload": {MaxPayload: -1},
			"WaitReplicas": {WaitReplicas: -1}, "TenantIdle": {TenantIdle: -1}, "Linger": {Linger: -1},
		} {
			cfg.Client = c
			q, err := New(bounded(t), cfg)
			if field = strings.TrimRight(field, ": "); q != nil || !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
		_, err := New(nil, Config[string]{Client: c}) //nolint:staticcheck // on purpose
		want(t, err, firq.ErrInvalidArgument)
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = New(done, Config[string]{Client: c})
		want(t, err, context.Canceled)
	})
}

func TestNewRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 2}), bounded(t)
		for _, n := range []int{0, 1, 3} {
			_, err := New(ctx, Config[string]{Client: at(q).db, Name: at(q).o.Name, Partitions: n})
			want(t, err, ErrPartitions)
		}
		// A newer version: New refuses, and clients that are there do not write any more.
		put(t, q, job{ID: "before"})
		for _, prefix := range at(q).prefix {
			ok(t, at(q).db.HSet(ctx, prefix+":m", "ver", version+1).Err())
		}
		_, err := New(ctx, Config[string]{Client: at(q).db, Name: at(q).o.Name, Partitions: 2})
		want(t, err, ErrVersion)
		_, err = q.Enqueue(ctx, job{})
		want(t, err, ErrVersion)
		_, err = q.Dequeue(ctx)
		want(t, err, ErrVersion)
		h, err := q.Health(ctx)
		ok(t, err)
		if h.OK || len(h.Problems) == 0 {
			t.Errorf("%+v", h)
		}
		same(t, "Queued", books(t, q).Queued, 1)
		// An older one: New refuses as long as there are tasks that only it can read.
		older := func() {
			for _, prefix := range at(q).prefix {
				ok(t, at(q).db.HSet(ctx, prefix+":m", "ver", version-1).Err())
			}
		}
		older()
		_, err = New(ctx, Config[string]{Client: at(q).db, Name: at(q).o.Name, Partitions: 2})
		want(t, err, ErrVersion)
		ok(t, q.Ack(ctx, take(t, q)))
		older()
		q2, err := New(ctx, Config[string]{Client: at(q).db, Name: at(q).o.Name, Partitions: 2})
		ok(t, err)
		ok(t, q2.Close())
		for _, prefix := range at(q).prefix {
			same(t, "version", must(at(q).db.HGet(ctx, prefix+":m", "ver").Int()), version)
		}
	})
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer func() { _ = c.Close() }()
	if _, err := New(bounded(t), Config[string]{Client: c}); err == nil {
		t.Fatal("New without a server")
	}
}

func TestEviction(t *testing.T) {
	t.Parallel()
	s, _ := own(t)
	c, ctx := s.client(t), bounded(t)
	q := open(t, s, Config[string]{Client: c})
	for policy, problem := range map[string]bool{"noeviction": false, "volatile-lru": true, "volatile-ttl": true} {
		ok(t, c.ConfigSet(ctx, "maxmemory-policy", policy).Err())
		h, err := q.Health(ctx)
		ok(t, err)
		same(t, "EvictionPolicy", h.EvictionPolicy, policy)
		if h.OK == problem || strings.Contains(strings.Join(h.Problems, ""), policy) != problem {
			t.Errorf("%s: %+v", policy, h)
		}
		_, err = New(ctx, Config[string]{Client: c})
		ok(t, err)
	}
	for _, policy := range []string{"allkeys-lru", "allkeys-random", "allkeys-lfu"} {
		ok(t, c.ConfigSet(ctx, "maxmemory-policy", policy).Err())
		_, err := New(ctx, Config[string]{Client: c})
		if !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), policy) {
			t.Errorf("%s: %v", policy, err)
		}
		if h, err := q.Health(ctx); err != nil || h.OK || !strings.Contains(strings.Join(h.Problems, ""), policy) { // it was set since New
			t.Errorf("%s: %+v, %v", policy, h, err)
		}
	}
	ok(t, c.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err())
}

func TestHealth(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{})
		h, err := q.Health(bounded(t))
		ok(t, err)
		if h.RTT <= 0 || h.ClockSkew.Abs() > 2*time.Second || h.Replicas != 0 {
			t.Errorf("%+v", h)
		}
		if s.name != "embedded" {
			name, _, _ := strings.Cut(h.Server, " ")
			same(t, "Server", name, map[string]string{"redis": "redis", "valkey": "valkey", "cluster": "redis"}[s.name])
			same(t, "EvictionPolicy", h.EvictionPolicy, "noeviction")
			same(t, "Persistence", h.Persistence, "none")
			same(t, "OK", h.OK, true)
		}
	})
}

func TestPersistence(t *testing.T) {
	t.Parallel()
	s, p := own(t, "--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0")
	q, ctx := open(t, s, Config[string]{}), bounded(t)
	ok(t, at(q).db.ConfigSet(ctx, "save", "900 1").Err())
	h, err := q.Health(ctx)
	ok(t, err)
	same(t, "Persistence", h.Persistence, "aof always, rdb")
	r, _ := own(t, "--replicaof", "127.0.0.1 "+p.addr()[len("127.0.0.1:"):])
	_ = r
	until(t, "the replica is there", func() bool {
		h, err := q.Health(ctx)
		return err == nil && h.Replicas == 1
	})
	w := open(t, s, Config[string]{Name: at(q).o.Name, WaitReplicas: 1})
	until(t, "it replicates", func() bool {
		_, err := w.Enqueue(ctx, job{ID: "a"})
		return err == nil
	})
	more := open(t, s, Config[string]{Name: at(q).o.Name, WaitReplicas: 2})
	id, err := more.Enqueue(ctx, job{ID: "b"})
	want(t, err, ErrNotReplicated)
	same(t, "id", id, "b")
	same(t, "Queued", books(t, q).Queued, 2) // it is queued
	// If the context ends while the replicas are waited for, that is what is said, too. It may
	// end before: the task is queued as soon as the server has it, its reply comes later.
	for n := 3; ; n++ {
		brief, cancel := context.WithCancel(ctx)
		go func() {
			until(t, "it is queued", func() bool { st, _ := q.Stats(ctx); return st.Queued == n })
			cancel()
		}()
		name := fmt.Sprint("c", n)
		id, err = more.Enqueue(brief, job{ID: name})
		<-brief.Done()
		if errors.Is(err, context.Canceled) && !errors.Is(err, ErrNotReplicated) && n < 50 {
			continue
		}
		want(t, err, ErrNotReplicated)
		same(t, "id", id, name)
		break
	}
	_, err = more.Enqueue(ctx, job{Cost: -1})
	want(t, err, firq.ErrInvalidTask)
}
