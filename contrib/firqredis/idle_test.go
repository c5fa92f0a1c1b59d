package firqredis

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// sleepers answer calls that block: f returns an error for one, or nil to let it block.
type sleepers struct {
	noHook
	f func(n int64) error
	n atomic.Int64
}

func (s *sleepers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "blpop" {
			if err := s.f(s.n.Add(1)); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		return next(ctx, cmd)
	}
}

// noHook is the rest of a hook.
type noHook struct{}

func (noHook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (noHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// noSweep lets a process look only where it is woken, or where it knows that something is due. It must not fetch yet.
func noSweep(f *fetcher) { f.swept = time.Now().Add(time.Hour) }

// An idle consumer listens all the time: as soon as one blocking call has ended, the next one begins.
// One that fails is a look, and then there is the next one, too.
func TestIdleConsumerListens(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		for _, c := range []struct {
			ends  error
			looks bool
		}{{redis.Nil, false}, {errors.New("the connection is gone"), true}} {
			client := s.client(t)
			pops := count(client, popScript.sha)
			q, ctx := open(t, s, Config[string]{Client: client}), bounded(t)
			noSweep(at(q).fetch)
			h := &sleepers{f: func(n int64) error {
				if n <= 5 {
					return c.ends
				}
				return nil
			}}
			at(q).sleep.AddHook(h)
			got := make(chan error, 1)
			go func() {
				it, err := q.Dequeue(ctx)
				if err == nil {
					err = q.Ack(ctx, it)
				}
				got <- err
			}()
			until(t, "it listens again and again", func() bool { return h.n.Load() > 5 })
			looks := pops.n[popScript.sha].Load()
			if looks > 1 != c.looks {
				t.Errorf("after calls that ended with %q: %d looks", c.ends, looks)
			}
			put(t, q, job{})
			ok(t, <-got)
		}
	})
}

// What is due earlier than what was known wakes a sleeper, though nothing is ready: it does not look by itself here.
func TestEarlierDueWakes(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		other := open(t, s, Config[string]{Lease: time.Hour, Backoff: Backoff{First: time.Millisecond, NoJitter: true}})
		ctx := bounded(t)
		for name, due := range map[string]func(it *Item[string]) error{
			"Nack with After": func(it *Item[string]) error { return other.Nack(ctx, it, Retry{After: 20 * time.Millisecond}) },
			"Nack":            func(it *Item[string]) error { return other.Nack(ctx, it, Retry{}) },
			"Extend":          func(it *Item[string]) error { return other.Extend(ctx, 20*time.Millisecond, it) },
			"a schedule": func(it *Item[string]) error {
				sc := other.Schedules()
				ok(t, sc.Put(ctx, Schedule[string]{ID: "s", Cron: "* * * * * *", Task: job{Delay: time.Millisecond}}))
				ok(t, setDue(ctx, other, "s", "default", thisSecond()))
				_, err := sc.RunOnce(ctx)
				return errors.Join(err, sc.Delete(ctx, "s"), other.Ack(ctx, it))
			},
		} {
			put(t, other, job{})
			it := now(t, other, 1)[0]
			q := open(t, s, Config[string]{Name: at(other).o.Name})
			noSweep(at(q).fetch)
			got := make(chan *Item[string], 1)
			go func() { it, _ := q.Dequeue(ctx); got <- it }()
			asleep(t, at(q).fetch)
			ok(t, at(other).db.Del(ctx, at(other).prefix[0]+":w").Err()) // an old wake-up would do
			ok(t, due(it))
			select {
			case it := <-got:
				ok(t, q.Ack(ctx, it))
			case <-time.After(patience / 4):
				t.Fatalf("%s: the sleeper sleeps on", name)
			}
		}
	})
}

// thisSecond returns the second that has begun, early in it: a schedule that is due then fires once, and
// not for the next second, too.
func thisSecond() time.Time {
	for time.Now().Nanosecond() > int(400*time.Millisecond) {
		time.Sleep(10 * time.Millisecond)
	}
	return time.Now().Truncate(time.Second)
}

// asleep waits until a fetcher has looked, and sleeps.
func asleep(t testing.TB, f *fetcher) {
	t.Helper()
	until(t, "it sleeps", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, p := range f.which {
			if !f.sleeping[p] || f.woken[p] {
				return false
			}
		}
		return f.running
	})
}

// A process that knows when something is due, and will not look then, wakes another one: because its call has left, or got
// another task.
func TestProcessThatKnowsWakesAnother(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		for _, busy := range []bool{false, true} {
			a, ctx := open(t, s, Config[string]{Lease: time.Hour}), bounded(t)
			b := open(t, s, Config[string]{Name: at(a).o.Name, Lease: time.Hour})
			noSweep(at(a).fetch)
			noSweep(at(b).fetch)
			first, leave := context.WithCancel(ctx)
			got := make(chan *Item[string], 2)
			gets := func(ctx context.Context, q *Queue[string]) { it, _ := q.Dequeue(ctx); got <- it }
			go gets(first, a)
			asleep(t, at(a).fetch)
			put(t, a, job{ID: "due", Delay: 1500 * time.Millisecond})
			until(t, "it was told", func() bool { return at(b).db.LLen(ctx, at(b).prefix[0]+":w").Val() == 0 })
			asleep(t, at(a).fetch)
			go gets(ctx, b)
			asleep(t, at(b).fetch)
			if busy {
				put(t, a, job{Tenant: "b"}) // a takes it, or b does: then a is there still
			} else {
				leave()
			}
			<-got
			select {
			case it := <-got:
				same(t, "the other one's", it.ID, "due")
			case <-time.After(patience / 4):
				t.Fatalf("busy %v: no worker looks", busy)
			}
			for it, err := range a.InFlight(ctx, "") {
				ok(t, err)
				ok(t, a.Release(ctx, it))
			}
			leave()
		}
	})
}
