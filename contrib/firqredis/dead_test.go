package firqredis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// bury makes dead letters, one after the other.
func bury(t testing.TB, q *Queue[string], reason string, tasks ...job) {
	t.Helper()
	for _, x := range tasks {
		put(t, q, x)
		its := now(t, q, 1)
		same(t, "delivered", len(its), 1)
		ok(t, q.Nack(bounded(t), its[0], Retry{Dead: true, Reason: reason}))
	}
}

func letters(t testing.TB, q *Queue[string], f Filter) (ids []string) {
	t.Helper()
	for d, err := range q.DeadLetters(bounded(t), f) {
		ok(t, err)
		ids = append(ids, d.ID)
	}
	return ids
}

// More than a page, many of which died at the same instant.
func TestManyDeadLetters(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		const n = 3*deadPage + 7
		for k := range n {
			put(t, q, job{ID: fmt.Sprintf("%04d", k), Tenant: fmt.Sprint(k % 3)})
		}
		for its := now(t, q, queue.MaxBatch); len(its) > 0; its = now(t, q, queue.MaxBatch) {
			args := []any{}
			for _, it := range its {
				args = append(args, leaseFor(it), 0, "x", "dead", 0)
			}
			_, err := at(q).runWithSettings(ctx, nackScript, 0, args...)
			ok(t, err)
		}
		seen := map[string]bool{}
		for d, err := range q.DeadLetters(ctx, Filter{}) {
			ok(t, err)
			if seen[d.ID] {
				t.Fatal("twice:", d.ID)
			}
			seen[d.ID] = true
		}
		same(t, "seen", len(seen), n)
		got, err := q.Purge(ctx, Filter{})
		ok(t, err)
		same(t, "purged", got, n)
	})
}

func TestRetentionFor(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{DeadLetters: Retention{PerTenant: -1, For: 50 * time.Millisecond}}), bounded(t)
		bury(t, q, "x", many("a", 5)...)
		wait, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { // a consumer that waits for tasks does the upkeep
			defer close(done)
			_, _ = q.Dequeue(wait)
		}()
		until(t, "they are purged", func() bool { return books(t, q).Purged == 5 })
		cancel()
		<-done
		same(t, "left", len(letters(t, q, Filter{})), 0)
	})
}

// picky cannot read some payloads, and panics at others.
type picky struct{}

func (picky) Encode(v string) ([]byte, error) { return []byte(v), nil }
func (picky) Decode(b []byte) (string, error) {
	switch string(b) {
	case "bad":
		return "", errors.New("unreadable")
	case "panic":
		panic("cannot stand it")
	}
	return string(b), nil
}

func TestUnreadablePayload(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Codec: picky{}}), bounded(t)
		put(t, q, job{ID: "1", Payload: "bad"}, job{ID: "2", Payload: "panic"}, job{ID: "3", Payload: "good"})
		it := take(t, q)
		same(t, "ID", it.ID, "3")
		ok(t, q.Ack(ctx, it))
		var got []string
		for d, err := range q.DeadLetters(ctx, Filter{}) {
			ok(t, err)
			got = append(got, d.ID+": "+d.Reason)
			same(t, "Payload", d.Payload, "")
			same(t, "Raw", string(d.Raw), map[string]string{"1": "bad", "2": "panic"}[d.ID])
		}
		equal(t, "dead letters", got, []string{"1: payload: unreadable", "2: payload: panic: cannot stand it"})
	})
}

// With IDs only these are read, whatever else is dead; the order stays that of their deaths.
func TestDeadLettersByID(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		counts := &commands{}
		c := s.client(t)
		c.AddHook(counts)
		q, ctx := open(t, s, Config[string]{Client: c, Partitions: 2}), bounded(t)
		for k := range 30 {
			bury(t, q, "x", job{ID: fmt.Sprint("d", k), Tenant: fmt.Sprint("t", k%4)})
		}
		counts.take()
		equal(t, "ids", letters(t, q, Filter{IDs: []string{"d20", "d3", "no", "d11", "d3"}}), []string{"d3", "d11", "d20"})
		equal(t, "of a tenant", letters(t, q, Filter{IDs: []string{"d20", "d3"}, Tenant: "t3"}), []string{"d3"})
		if n := counts.take(); n["zrangebyscore"] != 0 || n["zmscore"] != 4 {
			t.Errorf("asked: %v", n)
		}
		n, err := q.Purge(ctx, Filter{IDs: []string{}}) // no ids are none, and not all
		ok(t, err)
		same(t, "purged", n, 0)
		n, err = q.Purge(ctx, Filter{})
		ok(t, err)
		same(t, "purged", n, 30)
	})
}

// commands counts what a client sends.
type commands struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *commands) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = map[string]int{}
	return n
}

func (c *commands) add(cmds ...redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cmd := range cmds {
		if c.n != nil {
			c.n[cmd.Name()]++
		}
	}
}

func (c *commands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.add(cmd); return next(ctx, cmd) }
}

func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.add(cmds...); return next(ctx, cmds) }
}

// Requeue takes time in proportion to the number of ids: with its square this would take minutes.
func TestRequeueOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and with fewer ids the square would be fast, too")
	}
	t.Parallel()
	redisServer.need(t)
	q := open(t, redisServer, Config[string]{})
	bury(t, q, "x", job{ID: "dead"})
	ids := make([]string, 200_000)
	for k := range ids {
		ids[k] = fmt.Sprintf("%0100d", k)
	}
	ids[len(ids)-1] = "dead"
	done := make(chan error, 1)
	go func() { done <- q.Requeue(bounded(t), ids...) }()
	select {
	case err := <-done:
		want(t, err, ErrNotFound)
		same(t, "not found", len(err.(interface{ Unwrap() []error }).Unwrap()), len(ids)-1)
		same(t, "queued", must(q.Stats(bounded(t))).Queued, 1)
	case <-time.After(patience / 2):
		t.Fatal("does not return")
	}
}
