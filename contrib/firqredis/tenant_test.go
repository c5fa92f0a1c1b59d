package firqredis

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A retry, and what was released, keep priority and place.
func TestRetryKeepsItsPlace(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Lease: time.Hour}), bounded(t)
		for k := range 5 {
			put(t, q, job{ID: fmt.Sprint(k), Priority: 2})
		}
		its := now(t, q, 3)
		ok(t, q.Nack(ctx, its[1], Retry{After: time.Millisecond}))
		put(t, q, job{ID: "5", Priority: 2}, job{ID: "6", Priority: 4}, job{ID: "7", Priority: 1})
		ok(t, q.Nack(ctx, its[0], Retry{After: -1}))
		ok(t, q.Release(ctx, its[2]))
		until(t, "the retry is due", func() bool {
			s, err := q.Stats(ctx)
			_, err2 := at(q).runWithSettings(ctx, maintainScript, 0, 10)
			return err == nil && err2 == nil && s.Delayed == 0
		})
		equal(t, "order", idsOf(now(t, q, 9)), strings.Fields("6 0 1 2 3 4 5 7"))
	})
}

func TestInFlightLimits(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{MaxInFlight: 4, MaxInFlightPerTenant: 2}), bounded(t)
		put(t, q, append(many("a", 5), many("b", 5)...)...)
		put(t, q, many("c", 5)...)
		its := now(t, q, 99)
		same(t, "in flight", len(its), 4)
		n := map[string]int{}
		for _, it := range its {
			n[it.Tenant]++
		}
		if n["a"] > 2 || n["b"] > 2 || n["c"] > 2 {
			t.Fatalf("in flight: %v", n)
		}
		none(t, q)
		// Each way to end a delivery makes room, and wakes a consumer.
		for k, end := range []func(it *Item[string]) error{
			func(it *Item[string]) error { return q.Ack(ctx, it) },
			func(it *Item[string]) error { return q.Nack(ctx, it, Retry{After: time.Hour}) },
			func(it *Item[string]) error { return q.Nack(ctx, it, Retry{Dead: true}) },
			func(it *Item[string]) error { return q.Nack(ctx, it, Retry{After: -1}) },
			func(it *Item[string]) error { return q.Release(ctx, it) },
		} {
			got := make(chan *Item[string], 1)
			go func() { it, _ := q.Dequeue(ctx); got <- it }()
			until(t, "it waits", func() bool { return at(q).fetch.wanted() == 1 })
			ok(t, end(its[0]))
			select {
			case it := <-got:
				its = append(its[1:], it)
			case <-time.After(longestSleep - 500*time.Millisecond):
				t.Fatalf("way %d wakes no consumer", k)
			}
			same(t, "InFlight", books(t, q).InFlight, 4)
		}
		ok(t, q.SetTenant(ctx, "z", TenantSettings{MaxInFlight: -1}))
		ok(t, q.Ack(ctx, its...))
		put(t, q, many("z", 4)...)
		same(t, "z's", len(now(t, q, 99)), 4)
	})
}

func TestPause(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 2}), bounded(t)
		put(t, q, append(many("a", 2), many("b", 2)...)...)
		var a *Item[string]
		for a == nil {
			it := take(t, q)
			if it.Tenant == "a" {
				a = it
			} else {
				ok(t, q.Release(ctx, it))
			}
		}
		ok(t, q.Pause(ctx, "a"))
		equal(t, "without a", tenantsOf(now(t, q, 9)), []string{"b", "b"})
		put(t, q, job{Tenant: "a"})
		none(t, q)
		ok(t, q.Extend(ctx, 0, a)) // what is in flight goes on
		ok(t, q.Nack(ctx, a, Retry{After: -1}))
		none(t, q)
		st, err := q.TenantStats(ctx, "a")
		ok(t, err)
		if !st.Paused || st.Queued != 3 {
			t.Fatalf("%+v", st)
		}
		ok(t, q.Pause(ctx, ""))
		ok(t, q.Resume(ctx, "a"))
		none(t, q)
		same(t, "Paused", books(t, q).Paused, true)
		put(t, q, job{Tenant: "c"})
		got := make(chan *Item[string], 1)
		go func() { it, _ := q.Dequeue(ctx); got <- it }()
		until(t, "it waits", func() bool { return at(q).fetch.wanted() == 1 })
		ok(t, q.Resume(ctx, ""))
		select {
		case it := <-got:
			ok(t, q.Release(ctx, it))
		case <-time.After(longestSleep - 500*time.Millisecond):
			t.Fatal("Resume wakes no consumer")
		}
		same(t, "all", len(now(t, q, 9)), 4)
		same(t, "Paused", books(t, q).Paused, false)
		// One that is not known yet.
		ok(t, q.Pause(ctx, "new"))
		put(t, q, job{Tenant: "new"})
		none(t, q)
		ok(t, q.Resume(ctx, "new"))
		equal(t, "resumed", tenantsOf(now(t, q, 9)), []string{"new"})
	})
}

// Settings outlive a tenant without tasks, whatever it asks for.
func TestSettingsStay(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{TenantIdle: 20 * time.Millisecond, WeightFor: func(string) float64 { return 2 }}), bounded(t)
		ok(t, q.SetTenant(ctx, "a", TenantSettings{MaxQueued: 7}))
		put(t, q, job{Tenant: "a", UniqueKey: "k", UniqueFor: time.Hour}, job{Tenant: "b"}, job{Tenant: "a", Deadline: time.Now().Add(-time.Hour)})
		ok(t, q.Ack(ctx, now(t, q, 9)...))
		w := open(t, s, Config[string]{Name: at(q).o.Name, Client: at(q).db, TenantIdle: 20 * time.Millisecond, WeightFor: func(string) float64 { return 3 }})
		_, err := w.Enqueue(ctx, job{Tenant: "a", UniqueKey: "k"})
		want(t, err, ErrDuplicate)
		until(t, "b is forgotten", func() bool {
			n, err := at(q).db.Exists(ctx, at(q).prefix[0]+":t:b").Result()
			return err == nil && n == 0
		})
		time.Sleep(30 * time.Millisecond) // longer than a would be remembered without settings
		st, err := q.TenantStats(ctx, "a")
		ok(t, err)
		same(t, "Settings", st.Settings, TenantSettings{MaxQueued: 7})
	})
}

// A wait ends when something comes, by whichever call.
func TestWakeUps(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		other := open(t, s, Config[string]{Name: at(q).o.Name})
		bury(t, q, "x", job{ID: "dead"})
		put(t, q, job{ID: "paused", Tenant: "p"})
		its := now(t, q, 1)
		ok(t, q.Pause(ctx, "p"))
		ok(t, q.Release(ctx, its...))
		for name, bring := range map[string]func() error{
			"Enqueue":  func() error { _, err := other.Enqueue(ctx, job{}); return err },
			"a delay":  func() error { _, err := other.Enqueue(ctx, job{Delay: 20 * time.Millisecond}); return err },
			"Requeue":  func() error { return other.Requeue(ctx, "dead") },
			"Resume":   func() error { return other.Resume(ctx, "p") },
			"schedule": func() error { return fireNow(ctx, other) },
		} {
			got := make(chan error, 1)
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
				return at(q).fetch.running && at(q).fetch.want() == 1 && at(q).fetch.sleeping[0]
			})
			ok(t, bring())
			select {
			case err := <-got:
				ok(t, err)
			case <-time.After(longestSleep - 500*time.Millisecond):
				t.Fatalf("%s wakes no consumer", name)
			}
		}
	})
}

// fireNow puts a schedule that is due, and fires it.
func fireNow(ctx context.Context, q *Queue[string]) error {
	sc := q.Schedules()
	if err := sc.Put(ctx, Schedule[string]{ID: "s", Cron: "* * * * * *"}); err != nil {
		return err
	}
	if err := at(q).db.ZAdd(ctx, at(q).prefix[at(q).Lane("default")]+":sz", z("s", time.Now().Add(-time.Second))).Err(); err != nil {
		return err
	}
	_, err := sc.RunOnce(ctx)
	if err == nil {
		err = sc.Delete(ctx, "s")
	}
	return err
}

// A client without WeightFor, as firqd is, leaves the weights that others give; 1 is one of them.
func TestWeightStays(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		weight := 5.0
		q, ctx := open(t, s, Config[string]{WeightFor: func(string) float64 { return weight }}), bounded(t)
		plain := open(t, s, Config[string]{Name: at(q).o.Name})
		is := func(what string, w float64) {
			t.Helper()
			same(t, what, must(q.TenantStats(ctx, "a")).Weight, w)
		}
		put(t, plain, job{Tenant: "a"})
		is("no client says", 1)
		put(t, q, job{Tenant: "a"})
		is("WeightFor", 5)
		put(t, plain, job{Tenant: "a"})
		is("Enqueue of another client", 5)
		sc := plain.Schedules()
		ok(t, sc.Put(ctx, Schedule[string]{ID: "s", Cron: "* * * * * *", Task: job{Tenant: "a"}}))
		ok(t, setDue(ctx, q, "s", "a", thisSecond()))
		_, err := sc.RunOnce(ctx)
		ok(t, err)
		same(t, "Queued", books(t, q).Queued, 4)
		is("a schedule of another client", 5)
		weight = 1
		put(t, q, job{Tenant: "a"})
		is("WeightFor again", 1)
	})
}
