package firqredis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
)

// All combinations of what a task may have are stored, read and rewritten by the scripts without a difference; what is usual
// takes no room.
func TestStored(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		stored := func(id string) (stored, string) {
			t.Helper()
			body, err := at(q).db.HGet(ctx, at(q).prefix[0]+":d", id).Result()
			ok(t, err)
			x, err := parse(body)
			ok(t, err)
			return x, body
		}
		for k := range 1 << 6 {
			x := job{ID: fmt.Sprint("id", k), Tenant: "a:1C2", Payload: "P9:\n\nK1"}
			has := func(bit int) bool { return k>>bit&1 == 1 }
			if has(0) {
				x.Cost = 1<<62 + 1
			}
			if has(1) {
				x.Priority = firq.PriorityCritical
			}
			if has(2) {
				x.Deadline = time.Now().Add(time.Hour)
			}
			if has(3) {
				x.MaxAttempts = 7
			}
			if has(4) {
				x.UniqueKey = fmt.Sprint("K1:", k)
				if has(0) {
					x.UniqueFor = time.Hour
				}
			}
			if has(5) {
				x.Headers = map[string]string{"k": "H1\n"}
			}
			put(t, q, x)
			first, body := stored(x.ID)
			if k == 0 {
				at, rest, _ := strings.Cut(body, ":")
				same(t, "digits", len(at), 13)
				same(t, "stored", rest, "a:1C2\n"+`"P9:\n\nK1"`)
			}
			same(t, "cost", first.cost, max(x.Cost, 1))
			same(t, "unique", first.unique, x.UniqueKey)
			same(t, "keep", first.keep, x.UniqueKey != "" && x.UniqueFor == 0)
			same(t, "has meta", first.meta != "", has(2) || has(5) || x.UniqueFor != 0)

			it := take(t, q)
			same(t, "ID", it.ID, x.ID)
			ok(t, q.Nack(ctx, it, Retry{After: -1}))
			again, _ := stored(x.ID)
			same(t, "attempt", again.attempt, 1)
			again.attempt = 0
			same(t, "after Nack", again, first)

			it = take(t, q)
			same(t, "Attempt", it.Attempt, 2)
			ok(t, q.Nack(ctx, it, Retry{Dead: true}))
			ok(t, q.Requeue(ctx, x.ID))
			again, _ = stored(x.ID)
			if again.due <= first.due {
				t.Errorf("requeued at %d, queued at %d", again.due, first.due)
			}
			again.due = first.due
			same(t, "after Requeue", again, first)
			ok(t, q.Ack(ctx, take(t, q)))
		}
	})
}

// What is due later keeps when that is, also when it is tried again.
func TestStoredDue(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		when := time.Now().Add(500 * time.Millisecond)
		id := put(t, q, job{At: when})[0]
		due := func() int64 {
			t.Helper()
			body, err := at(q).db.HGet(ctx, at(q).prefix[0]+":d", id).Result()
			ok(t, err)
			x, err := parse(body)
			ok(t, err)
			return x.due
		}
		same(t, "due", due(), when.UnixMicro())
		ok(t, q.Nack(ctx, take(t, q), Retry{After: -1}))
		same(t, "due, second attempt", due(), when.UnixMicro())
		ok(t, q.Ack(ctx, take(t, q)))
	})
}

func TestStoredBadly(t *testing.T) {
	for _, body := range []string{"", "x", ":a\np", "12P:a\n", "12Px:a\n", "zP1:a\n", "12A99999999999999999999:a\np"} {
		if x, err := parse(body); err == nil {
			t.Errorf("%q: %+v", body, x)
		}
	}
	// Letters of a later version are not this one's business.
	x, err := parse("12Q7P4:a\np")
	ok(t, err)
	same(t, "task", x, stored{priority: 4, cost: 1, most: DefaultMaxAttempts, due: 0x12, tenant: "a", payload: "p"})
}

// The numbers that a task need not have are in the scripts, too.
func TestUsual(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{})
		common, err := files.ReadFile("lua/common.lua")
		ok(t, err)
		r, err := redis.NewScript(string(common)+"\nlocal x = parse('000000012:a\\np')\nreturn {x.attempt, x.p, num(x.cost), x.due, num(x.deadline), x.most}").
			Run(bounded(t), at(q).db, []string{at(q).prefix[0]}, 0, 0, 0, 0, 0, 0).Int64Slice()
		ok(t, err)
		same(t, "the scripts' numbers", fmt.Sprint(r), fmt.Sprint([]int64{0, usualPriority, usualCost, 0x12, 0, usualMost}))
	})
}
