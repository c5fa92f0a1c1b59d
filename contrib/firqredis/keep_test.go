package firqredis

import (
	"fmt"
	"testing"
	"time"
)

// What is kept costs only those who ask for it; it ends without an upkeep, and the set that lists it does not grow.
func TestKept(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		c := s.client(t)
		acks := count(c, ackScript.sha, keepScript.sha)
		q, ctx := open(t, s, Config[string]{Client: c}), bounded(t)
		set := at(q).prefix[0] + ":k"
		there := func(keys ...string) int64 { return must(c.Exists(ctx, keys...).Result()) }
		put(t, q, many("a", 3)...)
		for _, it := range now(t, q, 3) {
			ok(t, it.SetResult([]byte("not wanted")))
			ok(t, q.Ack(ctx, it))
		}
		same(t, "scripts that keep", acks.n[keepScript.sha].Load(), 0)
		same(t, "plain ones", acks.n[ackScript.sha].Load() > 0, true)
		same(t, "keys", there(set), 0)
		brief := func() {
			for k := range 10 {
				put(t, q, job{ID: fmt.Sprint(k), KeepResult: time.Millisecond})
			}
			ok(t, q.Ack(ctx, now(t, q, 10)...))
		}
		brief()
		until(t, "all has ended", func() bool { return there(set, set+":0", set+":9") == 0 })
		put(t, q, job{ID: "long", KeepResult: time.Hour})
		ok(t, q.Ack(ctx, now(t, q, 1)...))
		for range 5 {
			brief()
			until(t, "the last one has ended", func() bool { return there(set+":9") == 0 })
		}
		if n := must(c.ZCard(ctx, set).Result()); n > 21 {
			t.Errorf("the set lists %d, and 1 is kept", n)
		}
		if left := must(c.PTTL(ctx, set).Result()); left < 50*time.Minute {
			t.Errorf("the set ends in %v, before what it lists", left)
		}
		same(t, "one script for 10 tasks", acks.n[keepScript.sha].Load(), 7)
	})
}
