package firqredis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A consumer takes the wake-up, and dies: others find the task all the same.
func TestWakeUpLost(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		got := make(chan error, 1)
		thief := s.client(t)
		stolen := make(chan error, 1)
		go func() { stolen <- thief.BLPop(ctx, 30*time.Second, at(q).prefix[0]+":w").Err() }()
		time.Sleep(20 * time.Millisecond) // it is the first one in the line, or not: either way the task is found
		go func() {
			it, err := q.Dequeue(ctx)
			if err == nil {
				err = q.Ack(ctx, it)
			}
			got <- err
		}()
		until(t, "it sleeps", func() bool {
			at(q).fetch.mu.Lock()
			defer at(q).fetch.mu.Unlock()
			return at(q).fetch.sleeping[0]
		})
		put(t, q, job{})
		select {
		case err := <-got:
			ok(t, err)
		case <-time.After(longestSleep + 5*time.Second):
			t.Fatal("the task is not found")
		}
		put(t, q, job{}) // the thief may be waiting still
		ok(t, <-stolen)
	})
}

// A consumer of some tenants, or one that leaves, does not keep the wake-up from consumers that can use it.
func TestWakeUpOfOthers(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		a, ctx := open(t, s, Config[string]{MaxInFlight: 1}), bounded(t)
		b := open(t, s, Config[string]{Name: at(a).o.Name, MaxInFlight: 1})
		brief, leave := context.WithCancel(ctx)
		left := make(chan struct{})
		go func() { defer close(left); _, _ = b.From([]string{"nobody"}, nil).Dequeue(brief) }()
		put(t, a, many("x", 2)...)
		it := take(t, a)
		got := make(chan error, 1)
		go func() { it, err := b.Dequeue(ctx); _ = it; got <- err }()
		until(t, "it waits", func() bool { return at(b).fetch.wanted() == 1 })
		ok(t, a.Ack(ctx, it))
		select {
		case err := <-got:
			ok(t, err)
		case <-time.After(longestSleep - 300*time.Millisecond):
			t.Fatal("no consumer is woken")
		}
		leave()
		<-left
	})
}

// A process in which no call waits any more gives back the wake-up that it still sleeps for.
func TestWakeUpOfLeavers(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 2}), bounded(t)
		var in [2]string
		for k := 0; in[0] == "" || in[1] == ""; k++ {
			name := fmt.Sprint("t", k)
			in[at(q).Lane(name)] = name
		}
		is := func(f func() bool) func() bool {
			return func() bool { at(q).fetch.mu.Lock(); defer at(q).fetch.mu.Unlock(); return f() }
		}
		got := make(chan error, 1)
		go func() { _, err := q.Dequeue(ctx); got <- err }()
		until(t, "it sleeps", is(func() bool { return at(q).fetch.sleeping[0] && at(q).fetch.sleeping[1] }))
		put(t, q, job{Tenant: in[0]})
		ok(t, <-got)
		until(t, "it has left", is(func() bool { return !at(q).fetch.running }))
		other := open(t, s, Config[string]{Name: at(q).o.Name, Partitions: 2})
		put(t, other, job{Tenant: in[1]})
		until(t, "no call sleeps", is(func() bool { return !at(q).fetch.sleeping[1] }))
		until(t, "the wake-up is there", func() bool { return at(q).db.Exists(ctx, at(q).prefix[1]+":w").Val() == 1 })
	})
}

// 16 processes sleep; single tasks wake one each.
func TestNoHerd(t *testing.T) {
	t.Parallel()
	redisServer.need(t)
	first := open(t, redisServer, Config[string]{})
	ctx, stop := context.WithCancel(bounded(t))
	var wg sync.WaitGroup
	var done atomic.Int64
	var counts []*counter
	for range 16 {
		c := redisServer.client(t)
		counts = append(counts, count(c, popScript.sha, ackScript.sha, tokenScript.sha, maintainScript.sha))
		q := open(t, redisServer, Config[string]{Name: at(first).o.Name, Client: c})
		wg.Go(func() {
			for {
				it, err := q.Dequeue(ctx)
				if err != nil {
					return
				}
				_ = q.Ack(context.Background(), it)
				done.Add(1)
			}
		})
	}
	const n = 60
	for k := range n {
		put(t, first, job{Tenant: fmt.Sprint(k)})
		until(t, "it is handled", func() bool { return done.Load() == int64(k+1) })
	}
	var calls int64
	for _, c := range counts {
		for _, k := range c.n {
			calls += k.Load()
		}
	}
	if calls > 8*n+16*8 { // 4.5 and a few, and those that look once in 2 s
		t.Errorf("%d scripts for %d tasks and 16 sleepers", calls, n)
	}
	stop()
	wg.Wait()
}

// However many wait, one connection per partition sleeps.
func TestConnections(t *testing.T) {
	t.Parallel()
	s, _ := own(t)
	watch, ctx := s.client(t), bounded(t)
	q := open(t, s, Config[string]{Partitions: 3})
	wait, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { _, _ = q.Dequeue(wait) })
	}
	blocked := func() int {
		list, err := watch.ClientList(ctx).Result()
		ok(t, err)
		return strings.Count(list, "cmd=blpop")
	}
	until(t, "they sleep", func() bool { return blocked() == 3 })
	for range 50 {
		if n := blocked(); n > 3 {
			t.Fatalf("%d connections sleep", n)
		}
	}
	cancel()
	wg.Wait()
	ok(t, q.Close())
	until(t, "no consumer sleeps", func() bool { return blocked() == 0 })
}

// What makes a task deliverable leaves a wake-up, though the one before was taken, and no consumer has looked since.
func TestWakeUpIsLeft(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{MaxInFlight: 1}), bounded(t)
		none := open(t, s, Config[string]{Name: at(q).o.Name})
		taken := func() bool {
			n, err := at(q).db.Del(ctx, at(q).prefix[0]+":w").Result()
			ok(t, err)
			return n > 0
		}
		// One partition, full with a's only task; b's wait for room.
		for name, end := range map[string]func(it *Item[string]) error{
			"Ack":                  func(it *Item[string]) error { return q.Ack(ctx, it) },
			"Nack":                 func(it *Item[string]) error { return q.Nack(ctx, it, Retry{After: time.Hour}) },
			"Nack with Dead":       func(it *Item[string]) error { return q.Nack(ctx, it, Retry{Dead: true}) },
			"Release while paused": func(it *Item[string]) error { return errors.Join(q.Pause(ctx, it.Tenant), q.Release(ctx, it)) },
			"Cancel and Nack":      func(it *Item[string]) error { return errors.Join(q.Cancel(ctx, it.ID), q.Nack(ctx, it, Retry{})) },
			"the end of its lease": func(*Item[string]) error {
				endLeases(t, q)
				_, err := at(q).runWithSettings(ctx, maintainScript, 0, 100)
				return err
			},
			"Pause and Resume of all": func(it *Item[string]) error { return errors.Join(none.Pause(ctx, ""), none.Resume(ctx, "")) },
		} {
			put(t, q, job{Tenant: "a " + name})
			it := now(t, q, 1)[0]
			put(t, q, job{Tenant: "b " + name})
			taken()
			ok(t, end(it))
			if !taken() {
				t.Errorf("%s leaves none", name)
			}
			_ = q.Ack(ctx, it)
			ok(t, q.Resume(ctx, it.Tenant))
			for its := now(t, q, 1); len(its) > 0; its = now(t, q, 1) {
				ok(t, q.Ack(ctx, its...))
			}
		}
	})
}

// A call whose context ends while its task is fetched gives it back immediately, wherever it is on its way.
func TestGivenUpOnTheWay(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		c := s.client(t)
		q := open(t, s, Config[string]{Client: c, Lease: time.Hour, MaxAttempts: 1})
		var leave atomic.Pointer[func()]
		c.AddHook(after{script: popScript, f: func() { (*leave.Load())() }})
		back := func(what string) {
			t.Helper()
			until(t, what+": it is back", func() bool { st := must(q.Stats(context.Background())); return st.Queued == 1 && st.InFlight == 0 })
		}
		put(t, q, job{})
		give := func(what string, f func(ctx context.Context) error, gone func() bool) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var once sync.Once
			leaves := func() {
				once.Do(func() {
					cancel()
					for !gone() {
						time.Sleep(time.Millisecond)
					}
				})
			}
			leave.Store(&leaves)
			want(t, f(ctx), context.Canceled)
			back(what)
		}
		give("Dequeue", func(ctx context.Context) error { _, err := q.Dequeue(ctx); return err }, func() bool { return at(q).fetch.wanted() == 0 })
		from := q.From([]string{"default"}, nil)
		give("From", func(ctx context.Context) error { _, err := from.Dequeue(ctx); return err }, func() bool { return source(from).wanted() == 0 })
		idle := func() {}
		leave.Store(&idle)
	})
}

// after calls f after each run of a script.
type after struct {
	noHook
	*script
	f func()
}

func (a after) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); len(args) > 1 && (args[1] == a.sha || args[1] == a.source) && err == nil {
			a.f()
		}
		return err
	}
}
