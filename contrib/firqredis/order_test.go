package firqredis

import (
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// passed waits until the server's clock is past a time to come.
func passed(t *testing.T, q *Queue[string], d time.Duration) {
	t.Helper()
	from, err := at(q).db.Time(bounded(t)).Result()
	ok(t, err)
	until(t, "time passes", func() bool { return must(at(q).db.Time(bounded(t)).Result()).Sub(from) > d })
}

// What is due when the script runs takes part in its order, though there is enough that was queued all the time: a critical
// task, a retry with its seniority, a delivery whose lease has run out.
func TestDueTakesPart(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Lease: time.Hour}), bounded(t)
		put(t, q, job{ID: "retry", Priority: 5}, job{ID: "lease", Priority: 5})
		its := now(t, q, 2)
		ok(t, q.Nack(ctx, its[0], Retry{After: time.Millisecond}))
		ok(t, q.Extend(ctx, time.Millisecond, its[1]))
		for range 20 {
			put(t, q, many("default", 50)...)
		}
		put(t, q, job{ID: "critical", Priority: firq.PriorityCritical, Delay: time.Millisecond})
		passed(t, q, 2*time.Millisecond)
		equal(t, "order", idsOf(now(t, q, 3)), strings.Fields("critical retry lease"))
	})
}

// So much may be due that one script does not bring it all in: those that have been due for longest come first, and none is lost.
func TestManyDue(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{Lease: time.Hour})
		n := s.much(5 * dueAtOnce)
		tasks := many("a", n)
		for k := range tasks {
			tasks[k].Delay = time.Millisecond
		}
		put(t, q, tasks...)
		passed(t, q, 2*time.Millisecond)
		b, err := at(q).pop(bounded(t), 0, popping{n: 1, bytes: queue.MaxBytes})
		ok(t, err)
		same(t, "delivered", len(b.ds), 1)
		same(t, "more is due", b.next, 0)
		same(t, "brought in", n-books(t, q).Delayed, dueAtOnce)
		same(t, "the rest", len(now(t, q, n)), n-1)
	})
}
