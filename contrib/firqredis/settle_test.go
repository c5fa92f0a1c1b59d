package firqredis

import (
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

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
