package firqredis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"
)

// timesEnv, if it is set, says for how many tenants the times of scripts are measured; there are ten times as many tasks, and as
// many firings to make up for.
const timesEnv = "FIRQREDIS_TIMES"

// TestScriptTimes reports the longest run of each script, as the server's slow log has it, and fails if one is longer than 50 ms. It
// is for a machine with nothing else to do:
//
//	FIRQREDIS_TIMES=100000 go test -run TestScriptTimes -v -timeout 30m ./contrib/firqredis
func TestScriptTimes(t *testing.T) {
	tenants, _ := strconv.Atoi(os.Getenv(timesEnv))
	if tenants == 0 {
		t.Skip(timesEnv + " is not set")
	}
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			if _, err := exec.LookPath(binary); err != nil {
				t.Skip(err)
			}
			p, err := newProcess(binary, t.TempDir())
			ok(t, err)
			ok(t, p.start())
			t.Cleanup(p.kill)
			scriptTimes(t, &server{name: "own", addrs: []string{p.addr()}}, tenants)
		})
	}
}

func scriptTimes(t *testing.T, s *server, tenants int) {
	q := open(t, s, Config[string]{Lease: time.Hour})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	defer func() { ok(t, q.Close()) }() // the books of so many are not checked
	ok(t, q.db.ConfigSet(ctx, "slowlog-log-slower-than", "1000").Err())
	ok(t, q.db.ConfigSet(ctx, "slowlog-max-len", "1000000").Err())
	step := func(what string, f func()) {
		ok(t, q.db.SlowLogReset(ctx).Err())
		began := time.Now()
		f()
		t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
		logs, err := q.db.SlowLogGet(ctx, -1).Result()
		ok(t, err)
		worst := map[string]time.Duration{}
		for _, l := range logs {
			name := l.Args[0]
			for _, x := range []*script{
				pushScript, popScript, ackScript, nackScript, releaseScript, extendScript, maintainScript, oldestScript, fireScript,
			} {
				if len(l.Args) > 1 && l.Args[1] == x.sha {
					name = x.name
				}
			}
			worst[name] = max(worst[name], l.Duration)
		}
		for _, name := range slices.SortedFunc(maps.Keys(worst), func(a, b string) int { return cmp.Compare(worst[b], worst[a]) }) {
			t.Logf("  %-10s %v", name, worst[name])
			if worst[name] > 50*time.Millisecond {
				t.Errorf("%s: %s: %v", what, name, worst[name])
			}
		}
	}
	name := func(k int) string { return fmt.Sprintf("tenant-%06d", k) }
	step("enqueue", func() {
		for range 10 {
			for from := 0; from < tenants; from += 5000 {
				ts := make([]job, min(5000, tenants-from))
				for k := range ts {
					ts[k] = job{Tenant: name(from + k), Payload: "100 bytes, as everywhere: 100 bytes, as everywhere: 100 bytes, as everywhere: 100 bytes, as eve"}
				}
				_, err := q.EnqueueBatch(ctx, ts)
				ok(t, err)
			}
		}
	})
	take := func(from *Consumer[string], n int) (its []*Item[string]) {
		its, err := from.DequeueBatch(ctx, n)
		ok(t, err)
		return its
	}
	all := q.From(nil, nil)
	var its []*Item[string]
	step("take 500", func() { its = take(all, 500) })
	step("extend 500", func() { ok(t, q.Extend(ctx, 0, its...)) })
	step("release 500", func() { ok(t, q.Release(ctx, its...)) })
	step("ack 500", func() { ok(t, q.Ack(ctx, take(all, 500)...)) })
	names := make([]string, tenants)
	for k := range names {
		names[k] = name(tenants - 1 - k)
	}
	for what, from := range map[string]*Consumer[string]{
		"one name": q.From(names[:1], nil), "all names": q.From(names, nil), "a glob for all": q.From(nil, []string{"*"}),
		"a glob for 1 %": q.From(nil, []string{"tenant-*77"}), "a glob for the last one": q.From(nil, []string{name(tenants - 1)}),
		"ten globs, the last of which matches the last one": q.From(nil, append(slices.Repeat([]string{"*x*y*"}, 9), name(tenants-1))),
	} {
		step(what+", 64", func() { ok(t, q.Release(ctx, take(from, 64)...)) })
		step(what+", 500", func() { ok(t, q.Release(ctx, take(from, 500)...)) })
	}
	step("a glob for nobody", func() {
		brief, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := q.From(nil, []string{"nobody-*"}).Dequeue(brief)
		want(t, err, context.DeadlineExceeded)
	})
	step("10,000 leases run out", func() {
		its = nil
		for len(its) < 10_000 {
			its = append(its, take(all, 500)...)
		}
		ok(t, q.Extend(ctx, time.Millisecond, its...))
		for range 100 {
			ok(t, q.Release(ctx, take(all, 500)...))
		}
	})
	step("as many delayed tasks as tenants are due", func() {
		due := time.Now().Add(time.Second)
		for from := 0; from < tenants; from += 5000 {
			ts := make([]job, min(5000, tenants-from))
			for k := range ts {
				ts[k] = job{Tenant: name(from + k), At: due}
			}
			_, err := q.EnqueueBatch(ctx, ts)
			ok(t, err)
		}
		time.Sleep(time.Until(due))
		ok(t, q.Release(ctx, take(all, 500)...))
		ok(t, q.Maintain(ctx))
	})
	step("a schedule makes up for as many", func() {
		sc := q.Schedules()
		ok(t, sc.Put(ctx, Schedule[string]{ID: "s", Cron: "* * * * *", CatchUp: tenants}))
		ok(t, sc.at(ctx, "s", "default", time.Now().Truncate(time.Minute).Add(-time.Duration(tenants)*time.Minute)))
		_, err := sc.look(ctx)
		ok(t, err)
	})
}
