package firqredis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// Three processes run the schedules at the same time: each due time fires once.
func TestSchedulesFireOnce(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 2}), bounded(t)
		for k := range 3 {
			ok(t, q.Schedules().Put(ctx, Schedule[string]{ID: fmt.Sprint("s", k), Cron: "* * * * * *", Task: job{Payload: "p", Tenant: fmt.Sprint(k)}}))
		}
		run, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for range 3 {
			other := open(t, s, Config[string]{Name: at(q).o.Name, Partitions: 2})
			wg.Go(func() {
				if err := other.Schedules().Run(run); err != nil {
					t.Error(err)
				}
			})
		}
		seen := map[string]bool{}
		for range 7 {
			it := take(t, q)
			id, at, _ := strings.Cut(it.ID, "@")
			due, err := time.Parse(time.RFC3339, at)
			if err != nil || id != "s"+it.Tenant || seen[it.ID] || due.After(time.Now()) || it.Payload != "p" {
				t.Errorf("%q of %q, %q: %v", it.ID, it.Tenant, it.Payload, err)
			}
			seen[it.ID] = true
			ok(t, q.Ack(ctx, it))
		}
		cancel()
		wg.Wait()
		list, err := q.Schedules().List(ctx)
		ok(t, err)
		same(t, "schedules", len(list), 3)
		for _, x := range list {
			if x.LastDue.IsZero() || !x.NextDue.After(x.LastDue) {
				t.Errorf("%+v", x)
			}
		}
	})
}

// setDue sets when a schedule is due next.
func setDue(ctx context.Context, q *Queue[string], id, tenant string, due time.Time) error {
	e := at(q)
	return e.db.ZAdd(ctx, e.prefix[e.Lane(tenant)]+":sz", z(id, due)).Err()
}

func TestCatchUp(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		for catchUp, w := range map[int]int{0: 1, 1: 1, 3: 3, 1000: 120, -1: 0} {
			q, ctx := open(t, s, Config[string]{}), bounded(t)
			sc := q.Schedules()
			ok(t, sc.Put(ctx, Schedule[string]{ID: "s", Cron: "0 * * * *", CatchUp: catchUp}))
			until(t, "no hour is about to begin, or has just begun", func() bool {
				d := time.Since(time.Now().Truncate(time.Hour))
				return d > 7*time.Second && d < time.Hour-20*time.Second
			})
			now := time.Now()
			first := now.Truncate(time.Hour).Add(-119 * time.Hour) // 120 were missed
			ok(t, setDue(ctx, q, "s", "default", first))
			_, err := sc.RunOnce(ctx)
			ok(t, err)
			st := books(t, q)
			if st.Queued != w {
				t.Errorf("CatchUp %d: %d tasks, want %d", catchUp, st.Queued, w)
			}
			_, err = sc.RunOnce(ctx)
			ok(t, err)
			same(t, "Queued", books(t, q).Queued, st.Queued)
			info, err := sc.List(ctx)
			ok(t, err)
			if !info[0].NextDue.After(now) {
				t.Errorf("next due %v", info[0].NextDue)
			}
			if w == 3 { // the latest ones
				for k, it := range nowItems(t, q) {
					due := now.Truncate(time.Hour).Add(time.Duration(k-2) * time.Hour)
					same(t, "ID", it, "s@"+due.UTC().Format(time.RFC3339))
				}
			}
		}
	})
}

// What was missed is queued in portions that move the schedule on. If one fails, the next caller goes on from there.
func TestCatchUpInPortions(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		c := s.client(t)
		q, ctx := open(t, s, Config[string]{Client: c}), bounded(t)
		sc := q.Schedules()
		const missed = 2*queue.MaxBatch + 7
		ok(t, sc.Put(ctx, Schedule[string]{ID: "s", Cron: "* * * * *", CatchUp: missed}))
		until(t, "no minute is about to begin, or has just begun", func() bool {
			d := time.Since(time.Now().Truncate(time.Minute))
			return d > 6*time.Second && d < time.Minute-10*time.Second
		})
		first := time.Now().Truncate(time.Minute).Add(-(missed + 2) * time.Minute) // three of them are more than CatchUp
		ok(t, setDue(ctx, q, "s", "default", first))
		stop, cancel := context.WithCancel(ctx)
		var once sync.Once
		c.AddHook(after{script: fireScript, f: func() { once.Do(cancel) }})
		_, err := sc.RunOnce(stop)
		want(t, err, context.Canceled)
		same(t, "Queued after the first portion", books(t, q).Queued, queue.MaxBatch)
		info, err := sc.List(ctx)
		ok(t, err)
		same(t, "next due", info[0].NextDue, first.Add((queue.MaxBatch+3)*time.Minute).UTC())
		n := count(c, fireScript.sha)
		_, err = sc.RunOnce(ctx)
		ok(t, err)
		same(t, "portions", n.n[fireScript.sha].Load(), 2)
		same(t, "Queued", books(t, q).Queued, missed)
		info, err = sc.List(ctx)
		ok(t, err)
		if !info[0].NextDue.After(time.Now()) {
			t.Errorf("next due %v", info[0].NextDue)
		}
	})
}

func nowItems(t *testing.T, q *Queue[string]) []string { return sorted(idsOf(now(t, q, 99))) }

func TestPutAgain(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 3}), bounded(t)
		sc := q.Schedules()
		get := func() ScheduleInfo[string] {
			t.Helper()
			list, err := sc.List(ctx)
			ok(t, err)
			same(t, "schedules", len(list), 1)
			return list[0]
		}
		x := Schedule[string]{ID: "s", Cron: "0 0 1 1 *", Zone: "Europe/Berlin", CatchUp: 2, Jitter: time.Second, Task: job{
			Payload: "p", Tenant: "a", Cost: 2, Priority: 4, MaxAttempts: 3, UniqueKey: "k", UniqueFor: time.Hour, Headers: map[string]string{"a": "b"},
		}}
		ok(t, sc.Put(ctx, x))
		same(t, "what was put", fmt.Sprintf("%+v", get().Schedule), fmt.Sprintf("%+v", x))
		due := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
		ok(t, setDue(ctx, q, "s", "a", due))
		x.Task.Payload = "new"
		ok(t, sc.Put(ctx, x))
		if got := get(); !got.NextDue.Equal(due) || got.Task.Payload != "new" {
			t.Errorf("the same Cron again: %+v", got)
		}
		for _, tenant := range []string{"b", "c", "d", "e"} { // perhaps in another partition
			x.Task.Tenant = tenant
			ok(t, sc.Put(ctx, x))
			if got := get(); !got.NextDue.Equal(due) {
				t.Errorf("the same Cron again, of tenant %s: due %v, want %v", tenant, got.NextDue, due)
			}
		}
		x.Zone = "Asia/Tokyo"
		ok(t, sc.Put(ctx, x))
		if got := get(); got.NextDue.Equal(due) {
			t.Error("another Zone keeps the due time")
		}
		ok(t, sc.Delete(ctx, "s"))
		want(t, sc.Delete(ctx, "s"), ErrNotFound)
		list, err := sc.List(ctx)
		ok(t, err)
		same(t, "left", len(list), 0)
		_, err = sc.RunOnce(ctx)
		ok(t, err)
		none(t, q)
	})
}

func TestPausedSchedule(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		sc := q.Schedules()
		x := Schedule[string]{ID: "s", Cron: "0 * * * *", CatchUp: 5, Paused: true}
		ok(t, sc.Put(ctx, x))
		ok(t, setDue(ctx, q, "s", "default", time.Now().Truncate(time.Hour).Add(-3*time.Hour)))
		_, err := sc.RunOnce(ctx)
		ok(t, err)
		same(t, "Enqueued", books(t, q).Enqueued, 0)
		x.Paused = false
		ok(t, sc.Put(ctx, x)) // what has passed has passed
		_, err = sc.RunOnce(ctx)
		ok(t, err)
		same(t, "Enqueued", books(t, q).Enqueued, 0)
	})
}

// What a schedule queues is a task like any other one.
func TestScheduledTask(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{MaxAttempts: 7, WeightFor: func(string) float64 { return 3 }}), bounded(t)
		sc := q.Schedules()
		fire := func(x Schedule[string]) {
			t.Helper()
			x.Cron = "* * * * * *"
			ok(t, sc.Put(ctx, x))
			ok(t, setDue(ctx, q, x.ID, x.Task.Tenant, thisSecond()))
			_, err := sc.RunOnce(ctx)
			ok(t, err)
			ok(t, sc.Delete(ctx, x.ID))
		}
		fire(Schedule[string]{ID: "plain", Task: job{Tenant: "a", Payload: "p", Priority: 5, Cost: 4, Headers: map[string]string{"h": "v"}}})
		it := take(t, q)
		if it.Payload != "p" || it.Priority != 5 || it.Cost != 4 || it.Headers["h"] != "v" || it.MaxAttempts != 7 {
			t.Errorf("%+v", it)
		}
		st, err := q.TenantStats(ctx, "a")
		ok(t, err)
		same(t, "Weight", st.Weight, 3)
		ok(t, q.Ack(ctx, it))
		fire(Schedule[string]{ID: "unique", Task: job{Tenant: "a", UniqueKey: "k"}})
		it = take(t, q)
		was := books(t, q)
		fire(Schedule[string]{ID: "unique2", Task: job{Tenant: "a", UniqueKey: "k"}})
		is := books(t, q)
		same(t, "Enqueued", is.Enqueued, was.Enqueued)
		if is.Duplicates == was.Duplicates {
			t.Error("no duplicate is counted")
		}
		ok(t, q.Ack(ctx, it))
		fire(Schedule[string]{ID: "delay", Task: job{Tenant: "a", Delay: time.Hour}})
		fire(Schedule[string]{ID: "jitter", Jitter: 100 * time.Hour, Task: job{Tenant: "a"}})
		if st := books(t, q); st.Delayed < 2 {
			t.Errorf("%+v", st)
		}
	})
}

func TestBadSchedules(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		for name, x := range map[string]Schedule[string]{
			"no ID": {Cron: "@daily"}, "braces": {ID: "{}", Cron: "@daily"}, "Task.ID": {ID: "a", Cron: "@daily", Task: job{ID: "x"}},
			"Task.At": {ID: "a", Cron: "@daily", Task: job{At: time.Now()}}, "no cron": {ID: "a"}, "four fields": {ID: "a", Cron: "* * * *"},
			"seven fields": {ID: "a", Cron: "* * * * * * *"}, "30 February": {ID: "a", Cron: "0 0 30 2 *"}, "61 minutes": {ID: "a", Cron: "61 * * * *"},
			"zone": {ID: "a", Cron: "@daily", Zone: "Mars/Olympus"}, "macro": {ID: "a", Cron: "@reboot"}, "cost": {ID: "a", Cron: "@daily", Task: job{Cost: -1}},
			"jitter": {ID: "a", Cron: "@daily", Jitter: -1}, "tenant": {ID: "a", Cron: "@daily", Task: job{Tenant: "\n"}},
		} {
			if err := q.Schedules().Put(ctx, x); !errors.Is(err, firq.ErrInvalidTask) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := q.Schedules().Delete(ctx, "{"); !errors.Is(err, firq.ErrInvalidArgument) {
			t.Errorf("Delete: %v", err)
		}
		_, err := Schedule[string]{Cron: "x"}.Next(time.Now(), 1)
		want(t, err, firq.ErrInvalidTask)
		next, err := Schedule[string]{Cron: "@hourly", Zone: "Asia/Kolkata"}.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 2)
		ok(t, err)
		same(t, "Next", next[1].UTC().Format(time.RFC3339), "2026-01-01T01:30:00Z")
	})
}
