package firqredis

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// documentedCommands returns what README.md says that a client's user must be allowed to do, and what it may.
func documentedCommands(t *testing.T) (must, may []string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	ok(t, err)
	for _, m := range regexp.MustCompile(`(?m)^    ACL SETUSER firq .*(?:\n    .*)*`).FindAllString(string(text), -1) {
		for _, f := range strings.Fields(m) {
			if strings.HasPrefix(f, "+") {
				if must = append(must, f); slices.Contains([]string{"+info", "+config|get"}, f) {
					may = append(may, f)
				}
			}
		}
	}
	if len(must) < 20 || len(may) != 2 {
		t.Fatalf("README.md says %q and %q", must, may)
	}
	return must, may
}

// A user who may do what README.md says, and nothing else, can do everything; each of these commands is needed.
func TestACL(t *testing.T) {
	binaries(t, func(t *testing.T, binary string) {
		s, p := ownOf(t, binary, "--repl-diskless-sync-delay", "0")
		root, ctx := s.client(t), bounded(t)
		all, may := documentedCommands(t)
		_, r := ownOf(t, binary, "--replicaof", "127.0.0.1 "+p.addr()[len("127.0.0.1:"):])
		_ = r
		until(t, "the replica is there", func() bool { return strings.Contains(root.Info(ctx, "replication").Val(), "state=online") })
		setUser := func(commands []string) {
			args := []any{"acl", "setuser", "firq", "reset", "on", ">secret", "~fq:{q:*"}
			for _, c := range commands {
				args = append(args, c)
			}
			ok(t, root.Do(ctx, args...).Err())
		}
		denied := func() map[string]bool {
			names := map[string]bool{}
			log, err := root.Do(ctx, "acl", "log").Slice()
			ok(t, err)
			for _, e := range log {
				switch e := e.(type) {
				case map[any]any:
					names[e["object"].(string)] = true
				case []any:
					for i := 0; i+1 < len(e); i += 2 {
						if e[i] == "object" {
							names[e[i+1].(string)] = true
						}
					}
				}
			}
			delete(names, "client|setinfo") // the client asks, and does without
			return names
		}
		setUser(all)
		everything(t, p.addr())
		if d := denied(); len(d) > 0 {
			t.Errorf("also needed: %v", d)
		}
		ok(t, root.FlushAll(ctx).Err())
		setUser(slices.DeleteFunc(slices.Clone(all), func(c string) bool { return slices.Contains(may, c) }))
		everything(t, p.addr())
		used := map[string]bool{}
		for line := range strings.Lines(root.Info(ctx, "commandstats").Val()) {
			if m := regexp.MustCompile(`^cmdstat_([^:]+):calls=`).FindStringSubmatch(line); m != nil {
				used["+"+m[1]] = true
			}
		}
		for _, c := range all {
			if !used[c] {
				t.Errorf("%s is not needed", c)
			}
		}
	})
}

// everything does what a queue can do.
func everything(t *testing.T, addr string) {
	t.Helper()
	ctx := bounded(t)
	c := redis.NewClient(&redis.Options{Addr: addr, Username: "firq", Password: "secret"})
	defer func() { _ = c.Close() }()
	q, err := New(ctx, Config[string]{Client: c, Name: "q", Partitions: 2, WaitReplicas: 1, MaxQueued: 1000, MaxInFlight: 100, Lease: time.Second})
	ok(t, err)
	defer func() { ok(t, q.Close()) }()
	until(t, "it replicates", func() bool { _, err := q.Enqueue(ctx, job{}); return err == nil })
	put(t, q, job{ID: "c"}, job{Tenant: "a", UniqueKey: "k", UniqueFor: time.Hour}, job{Tenant: "b", UniqueKey: "k", Delay: time.Millisecond}, job{Tenant: "late", Deadline: time.Now()})
	_, err = q.Enqueue(ctx, job{Tenant: "a", UniqueKey: "k"})
	want(t, err, ErrDuplicate)
	ok(t, q.Cancel(ctx, "c"))
	put(t, q, job{ID: "kept", KeepResult: time.Hour})
	for _, it := range now(t, q, 100) {
		if it.ID == "kept" {
			ok(t, q.Ack(ctx, it))
		} else {
			ok(t, q.Release(ctx, it))
		}
	}
	same(t, "state", must(q.Get(ctx, "kept")).State, StateCompleted)
	for _, state := range []queue.State{StateQueued, StateCompleted} {
		page, _, err := q.List(ctx, queue.Listing{State: state})
		ok(t, err)
		same(t, "listed", len(page) > 0, true)
	}
	ok(t, q.Forget(ctx, "kept"))
	ok(t, q.SetTenant(ctx, "a", TenantSettings{Weight: 2}))
	ok(t, q.ChangeSettings(ctx, SettingsChange{MaxQueued: ptr(0), MaxQueuedPerTenant: ptr(500)}))
	ok(t, q.Pause(ctx, ""))
	ok(t, q.Resume(ctx, ""))
	it, err := q.From([]string{"a"}, []string{"*"}).Dequeue(ctx)
	ok(t, err)
	ok(t, q.Extend(ctx, 0, it))
	for _, err := range q.InFlight(ctx, "") {
		ok(t, err)
	}
	it.Charge(3)
	ok(t, q.Cancel(ctx, it.ID))
	ok(t, q.Release(ctx, it))
	put(t, q, many("x", 3)...)
	ok(t, q.Nack(ctx, take(t, q), Retry{Dead: true, Reason: "x"}))
	var dead []string
	for d, err := range q.DeadLetters(ctx, Filter{}) {
		ok(t, err)
		dead = append(dead, d.ID)
	}
	ok(t, q.Requeue(ctx, dead...))
	its := now(t, q, 1)
	ok(t, q.Nack(ctx, its[0], Retry{Dead: true}))
	_, err = q.Purge(ctx, Filter{IDs: []string{its[0].ID}})
	ok(t, err)
	ok(t, fireNow(ctx, q))
	must(q.Schedules().List(ctx))
	handled := make(chan struct{}, 100)
	stop := runs(t, q, func(context.Context, *Item[string]) error { handled <- struct{}{}; return nil }, RunOptions[string]{})
	<-handled
	put(t, q, many("y", 3)...) // wakes those that sleep
	until(t, "all is done", func() bool { st, err := q.Stats(ctx); return err == nil && st.Queued+st.InFlight == 0 })
	ok(t, stop())
	must(q.TenantStats(ctx, "a"))
	must(q.TopTenants(ctx, 3, ByOldest))
	must(q.Health(ctx))
	_, _, err = q.QueueTimes(ctx)
	ok(t, err)
	ok(t, q.Maintain(ctx))
	until(t, "no goroutine fetches", func() bool { at(q).fetch.mu.Lock(); defer at(q).fetch.mu.Unlock(); return !at(q).fetch.running })
	at(q).fetch.parts[1].work = false // and a look whether there is work
	at(q).fetch.peek()
}
