package firqredis

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A server without memory refuses tasks; what is there can be worked off.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			if _, err := exec.LookPath(binary); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			p, err := newProcess(binary, t.TempDir())
			ok(t, err)
			ok(t, p.start())
			t.Cleanup(p.kill)
			s := &server{name: "own", addrs: []string{p.addr()}}
			q, ctx := open(t, s, Config[string]{MaxAttempts: 2, Lease: 500 * time.Millisecond, MaxInFlightPerTenant: 20}), bounded(t)
			put(t, q, append([]job{{Tenant: "a", ID: "kept", KeepResult: time.Hour}}, many("a", 20)...)...)
			result := now(t, q, 1)[0]
			its := now(t, q, 6)
			ok(t, q.Extend(ctx, time.Hour, its...))
			ok(t, at(q).db.ConfigSet(ctx, "maxmemory", "1").Err())
			_, err = q.Enqueue(ctx, job{ID: "no"})
			want(t, err, ErrFull)
			if !strings.Contains(err.Error(), "OOM") {
				t.Errorf("error %v", err)
			}
			ok(t, q.Extend(ctx, time.Hour, append(its, result)...))
			ok(t, q.Ack(ctx, result))
			same(t, "state", must(q.Get(ctx, "kept")).State, StateCompleted)
			ok(t, q.Ack(ctx, its[0]))
			ok(t, q.Nack(ctx, its[1], Retry{}))
			ok(t, q.Nack(ctx, its[2], Retry{Dead: true}))
			ok(t, q.Release(ctx, its[3]))
			ok(t, q.Cancel(ctx, its[4].ID))
			want(t, q.Extend(ctx, time.Hour, its[4]), ErrCancelled)
			ok(t, q.Ack(ctx, its[4:]...))
			want(t, q.Ack(ctx, its[4]), ErrLeaseLost)
			want(t, q.Extend(ctx, 0, its[4]), ErrLeaseLost)
			want(t, q.Nack(ctx, its[4], Retry{}), ErrLeaseLost)
			ok(t, q.Cancel(ctx, take(t, q).ID))
			ok(t, q.Ack(ctx, take(t, q)))
			n, err := q.Purge(ctx, Filter{})
			ok(t, err)
			same(t, "purged", n, 1)
			books(t, q)
		})
	}
}

// A server without memory is drained: what is due comes back, leases end, consumers wait, and new ones come. Only Enqueue is refused.
func TestFullServerDrains(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			if _, err := exec.LookPath(binary); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			p, err := newProcess(binary, t.TempDir())
			ok(t, err)
			ok(t, p.start())
			t.Cleanup(p.kill)
			s := &server{name: "own", addrs: []string{p.addr()}}
			q, ctx := open(t, s, Config[string]{Lease: time.Millisecond}), bounded(t)
			put(t, q, many("lost", 96)...)
			same(t, "in flight", len(now(t, q, 96)), 96)
			put(t, q, job{Tenant: "delayed", Delay: time.Millisecond})
			passed(t, q, 3*time.Millisecond)
			ok(t, at(q).db.ConfigSet(ctx, "maxmemory", "1").Err())
			_, err = q.Enqueue(ctx, job{})
			want(t, err, ErrFull)
			late := open(t, s, Config[string]{Name: at(q).o.Name, Lease: time.Hour}) // its leases last
			for range 97 {
				ok(t, late.Ack(ctx, take(t, late)))
			}
			st := books(t, q)
			same(t, "Acked", st.Acked, 97)
			ok(t, q.Maintain(ctx))
			at(late).pass(0) // a wake-up goes back
			none(t, q)
			for _, dequeue := range []func(ctx context.Context) (*Item[string], error){q.Dequeue, q.From([]string{"a"}, []string{"b*"}).Dequeue} {
				brief, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				_, err = dequeue(brief)
				cancel()
				want(t, err, context.DeadlineExceeded)
			}
		})
	}
}
