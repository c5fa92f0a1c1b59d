package firqredis

import (
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

func TestAckTwiceInOneCall(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, job{}, job{})
		its := now(t, q, 2)
		want(t, q.Ack(ctx, its[0], its[0]), ErrLeaseLost)
		st := books(t, q)
		same(t, "Acked", st.Acked, 1)
		same(t, "LeaseLost", st.LeaseLost, 1)
	})
}

// What a lease that ran out gives back is queued immediately, whatever Backoff says.
func TestExpiryWithoutBackoff(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Lease: time.Millisecond, Backoff: Backoff{First: time.Hour, NoJitter: true}}), bounded(t)
		put(t, q, job{})
		same(t, "delivered", len(now(t, q, 1)), 1)
		until(t, "the lease runs out", func() bool {
			_, err := at(q).runWithSettings(ctx, maintainScript, 0, 10)
			ok(t, err)
			return books(t, q).LeaseExpired == 1
		})
		st := books(t, q)
		same(t, "Queued", st.Queued, 1)
		same(t, "Delayed", st.Delayed, 0)
	})
}

// A due time that was fired is not fired again, also once its task has ended.
func TestFireComparesTheDueTime(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		sc := q.Schedules()
		ok(t, sc.Put(ctx, Schedule[string]{ID: "s", Cron: "0 * * * *"}))
		due := time.Now().Truncate(time.Hour)
		ok(t, setDue(ctx, q, "s", "default", due))
		for range 3 {
			_, err := at(q).Fire(ctx, 0, queue.Firing{ID: "s", Due: due, Next: due.Add(time.Hour), Last: due, Tasks: []queue.Raw{{Task: queue.Task[[]byte]{
				ID: "s@" + due.Format(time.RFC3339), Tenant: "default", Payload: []byte(`""`), Cost: 1, Priority: firq.PriorityNormal, MaxAttempts: 1,
			}}}})
			ok(t, err)
			ok(t, q.Ack(ctx, now(t, q, 9)...))
		}
		same(t, "Enqueued", books(t, q).Enqueued, 1)
	})
}

// A tenant pays for work that fails: Nack sends what Charge says.
func TestNackCharges(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{})
		put(t, q, many("fails", 60)...)
		put(t, q, many("works", 60)...)
		n := map[string]int{}
		for range 60 {
			its := now(t, q, 1)
			same(t, "delivered", len(its), 1)
			n[its[0].Tenant]++
			if its[0].Tenant == "works" {
				ok(t, q.Ack(bounded(t), its[0]))
				continue
			}
			its[0].Charge(4)
			ok(t, q.Nack(bounded(t), its[0], Retry{After: time.Hour}))
		}
		if n["fails"] < 9 || n["fails"] > 11 { // of 60, with costs of 5 and 1
			t.Errorf("delivered: %v", n)
		}
	})
}
