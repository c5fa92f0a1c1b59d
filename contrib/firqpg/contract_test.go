package firqpg

import (
	"testing"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/queue/queuetest"
)

// The contract of all engines holds. Every test is another pair of queues in one database.
func TestContract(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	t.Run("contract", func(t *testing.T) {
		queuetest.Run(t, func(tb testing.TB, c queue.Config[string]) *queue.Queue[string] {
			q := open(tb, Config[string]{
				DB: db, Name: c.Name, Codec: c.Codec, Lease: c.Lease, MaxAttempts: c.MaxAttempts, Backoff: c.Backoff,
				MaxQueued: c.MaxQueued, MaxQueuedPerTenant: c.MaxQueuedPerTenant, MaxInFlight: c.MaxInFlight,
				MaxInFlightPerTenant: c.MaxInFlightPerTenant, WeightFor: c.WeightFor, PriorityAging: c.PriorityAging, MaxPayload: c.MaxPayload,
				DeadLetters: c.DeadLetters, TenantIdle: c.TenantIdle, Linger: c.Linger, RatePerTenant: c.RatePerTenant,
			})
			tb.Cleanup(func() { consistent(tb, q) })
			return q
		}, queuetest.Options{})
	})
}

// consistent checks that what is counted is what is there, for each tenant, that no queued task lies before its tenant's mark, and that no tenant is
// in the order that must not be.
func consistent(t testing.TB, q *Queue[string]) {
	t.Helper()
	select {
	case <-q.Done():
		return
	default:
	}
	s, err := q.Stats(bounded(t))
	if err != nil {
		t.Error(err)
		return
	}
	exact(t, s)
	e := q.Engine().(*engine)
	var wrong string
	if err := e.db.QueryRow(bounded(t), e.sql(`select coalesce(string_agg(wrong::text, '; '), '') from (
		select * from (select tenant, n, z, i, x, mark, ready and (held is not null or n <= 0 or paused) astray from @.tenant where queue = $1) a full join (
			select tenant, count(*) filter (where state = 0) n, count(*) filter (where state = 2) z, count(*) filter (where state = 1) i,
				count(*) filter (where state = 3) x, min(score) filter (where state = 0) least from @.task where queue = $1 group by tenant) b using (tenant)
		where (coalesce(a.n, 0), coalesce(a.z, 0), coalesce(a.i, 0), coalesce(a.x, 0)) <> (coalesce(b.n, 0), coalesce(b.z, 0), coalesce(b.i, 0), coalesce(b.x, 0))
			or a.mark > b.least or a.astray) wrong`), e.id).Scan(&wrong); err != nil || wrong != "" {
		t.Error("counts and tasks differ:", wrong, err)
	}
}
