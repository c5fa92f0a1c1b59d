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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// timesEnv, if it is set, says for how many tenants the times of scripts are measured; there are ten times as many tasks, and as
// many firings to make up for.
const timesEnv = "FIRQREDIS_TIMES"

// TestScriptTimes reports the most processor time that the server's main thread has taken for a call of each script, as the kernel
// counts it, so that other work on the machine disturbs it little; reading the call and writing the reply count. It fails if one
// took more than 50 ms:
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
			scriptTimes(t, &server{name: "own", addrs: []string{p.addr()}}, p.cmd.Process.Pid, tenants)
		})
	}
}

// processorTimes measures what calls of scripts take.
type processorTimes struct {
	noHook
	read func() time.Duration // of the server's main thread, until now

	mu    sync.Mutex // one call at a time
	most  map[string]time.Duration
	calls map[string]int
}

func (x *processorTimes) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if args[0] != "evalsha" {
			return next(ctx, cmd)
		}
		name := "?"
		for _, s := range []*script{
			pushScript, popScript, ackScript, nackScript, releaseScript, extendScript, maintainScript, oldestScript, fireScript, tokenScript, scheduleScript,
		} {
			if s.sha == args[1] {
				name = s.name
			}
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		began := x.read()
		err := next(ctx, cmd)
		x.most[name] = max(x.most[name], x.read()-began)
		x.calls[name]++
		return err
	}
}

func scriptTimes(t *testing.T, s *server, pid, tenants int) {
	x := &processorTimes{most: map[string]time.Duration{}, calls: map[string]int{}, read: func() time.Duration {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		ok(t, err)
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		ok(t, err)
		return time.Duration(ns)
	}}
	c := s.client(t)
	c.AddHook(x)
	q := open(t, s, Config[string]{Client: c, Lease: time.Hour})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	defer func() { ok(t, q.Close()) }() // with this many tasks the books are not checked
	step := func(what string, f func()) {
		clear(x.most)
		clear(x.calls)
		began := time.Now()
		f()
		t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
		for _, name := range slices.SortedFunc(maps.Keys(x.most), func(a, b string) int { return cmp.Compare(x.most[b], x.most[a]) }) {
			t.Logf("  %-10s %5d calls, at most %v", name, x.calls[name], x.most[name].Round(10*time.Microsecond))
			if x.most[name] > 50*time.Millisecond {
				t.Errorf("%s: %s: %v", what, name, x.most[name])
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
	step("a glob that matches no tenant", func() {
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
		ok(t, setDue(ctx, q, "s", "default", time.Now().Truncate(time.Minute).Add(-time.Duration(tenants)*time.Minute)))
		_, err := sc.RunOnce(ctx)
		ok(t, err)
	})
}
