package firqredis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
)

func TestCloseWakes(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		for range 5 {
			q := open(t, s, Config[string]{Partitions: 2})
			const n = 8
			ended := make(chan error, n)
			for k := range n {
				go func() {
					var err error
					switch k % 3 {
					case 0:
						_, err = q.Dequeue(context.Background())
					case 1:
						_, err = q.DequeueBatch(context.Background(), 3)
					case 2:
						_, err = q.From([]string{"a"}, []string{"b*"}).Dequeue(context.Background())
					}
					ended <- err
				}()
			}
			until(t, "they wait", func() bool { return at(q).fetch.wanted() == 3+3*3 })
			ok(t, q.Close())
			ok(t, q.Close())
			for range n {
				select {
				case err := <-ended:
					want(t, err, firq.ErrClosed)
				case <-time.After(10 * time.Second):
					t.Fatal("a Dequeue waits on, though the queue is closed")
				}
			}
		}
	})
}

func TestClosed(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, job{})
		it := take(t, q)
		ok(t, q.Close())
		for name, f := range map[string]func() error{
			"Enqueue":      func() error { _, err := q.Enqueue(ctx, job{}); return err },
			"EnqueueBatch": func() error { _, err := q.EnqueueBatch(ctx, many("a", 2)); return err },
			"Dequeue":      func() error { _, err := q.Dequeue(ctx); return err },
			"DequeueBatch": func() error { _, err := q.DequeueBatch(ctx, 2); return err },
			"From":         func() error { _, err := q.From([]string{"a"}, nil).Dequeue(ctx); return err },
			"Ack":          func() error { return q.Ack(ctx, it) },
			"Nack":         func() error { return q.Nack(ctx, it, Retry{}) },
			"Release":      func() error { return q.Release(ctx, it) },
			"Extend":       func() error { return q.Extend(ctx, 0, it) },
			"Cancel":       func() error { return q.Cancel(ctx, it.ID) },
			"Pause":        func() error { return q.Pause(ctx, "") },
			"Resume":       func() error { return q.Resume(ctx, "a") },
			"SetTenant":    func() error { return q.SetTenant(ctx, "a", TenantSettings{}) },
			"Stats":        func() error { _, err := q.Stats(ctx); return err },
			"TenantStats":  func() error { _, err := q.TenantStats(ctx, "a"); return err },
			"TopTenants":   func() error { _, err := q.TopTenants(ctx, 1, ByQueued); return err },
			"Health":       func() error { _, err := q.Health(ctx); return err },
			"Requeue":      func() error { return q.Requeue(ctx, "a") },
			"Purge":        func() error { _, err := q.Purge(ctx, Filter{}); return err },
			"Put":          func() error { return q.Schedules().Put(ctx, Schedule[string]{ID: "a", Cron: "@daily"}) },
			"Delete":       func() error { return q.Schedules().Delete(ctx, "a") },
			"List":         func() error { _, err := q.Schedules().List(ctx); return err },
			"Schedules":    func() error { return q.Schedules().Run(ctx) },
		} {
			if err := f(); err != firq.ErrClosed {
				t.Errorf("%s: %v, want %v", name, err, firq.ErrClosed)
			}
		}
		rs, _ := q.EnqueueBatch(ctx, []job{{ID: "x"}, {}})
		if len(rs) != 2 || rs[0].ID != "x" || rs[0].Err != firq.ErrClosed || rs[1].Err != firq.ErrClosed {
			t.Errorf("results: %+v", rs)
		}
		for _, err := range q.DeadLetters(ctx, Filter{}) {
			want(t, err, firq.ErrClosed)
		}
		if err := s.client(t).Ping(ctx).Err(); err != nil {
			t.Error(err)
		}
		ok(t, at(q).db.Ping(ctx).Err()) // the client is the caller's
	})
}

func TestFrom(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 3}), bounded(t)
		for _, name := range []string{"eu-1", "eu-2", "us-1", "größe", "a.b", "axb", "[x]", "%d", "alpha"} {
			put(t, q, many(name, 2)...)
		}
		takes := func(tenants, steal []string) []string {
			f := at(q).From(tenants, steal).(*fetcher)
			f.want = func() int { return 10 }
			seen := map[string]int{}
			for _, p := range f.which {
				for {
					ds, err := f.ask(p, 10)
					ok(t, err)
					if len(ds) == 0 {
						break
					}
					var its []*Item[string]
					for _, d := range ds {
						seen[d.Tenant]++
						its = append(its, &Item[string]{Task: job{ID: d.ID, Tenant: d.Tenant}, Token: d.Token})
					}
					ok(t, q.Release(ctx, its...))
					for _, it := range its {
						ok(t, q.Pause(ctx, it.Tenant)) // the next one
					}
				}
			}
			var names []string
			for name := range seen {
				names = append(names, name)
				ok(t, q.Resume(ctx, name))
			}
			return sorted(names)
		}
		for _, c := range []struct{ tenants, steal, want string }{
			{"eu-1", "", "eu-1"},
			{"eu-1 nobody", "us-?", "eu-1 us-1"},
			{"", "eu-*", "eu-1 eu-2"},
			{"", "?u-1 gr??e", "eu-1 größe"},
			{"", "eu-1*", "eu-1"},
			{"", "a.b", "a.b"},
			{"", "a?b", "a.b axb"},
			{"", "[x] %d", "%d [x]"},
			{"", "*a", "alpha"},
			{"", "*-1", "eu-1 us-1"},
			{"", "a*p*a", "alpha"},
			{"", "??????", ""},
			{"", "nobody*", ""},
		} {
			if got := strings.Join(takes(strings.Fields(c.tenants), strings.Fields(c.steal)), " "); got != c.want {
				t.Errorf("From(%q, %q): %q, want %q", c.tenants, c.steal, got, c.want)
			}
		}
	})
}

// No glob holds the server up, and no list of names is too long.
func TestFromHostile(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, job{Tenant: strings.Repeat("a", 128)}, job{Tenant: "x"})
		began := time.Now()
		wait, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		_, err := q.From(nil, []string{strings.Repeat("*a", 40) + "*b"}).Dequeue(wait)
		want(t, err, context.DeadlineExceeded)
		if d := time.Since(began); d > 10*time.Second {
			t.Fatalf("a glob took %v", d)
		}
		names := make([]string, 20_000)
		for k := range names {
			names[k] = fmt.Sprint("n", k)
		}
		names[len(names)-1] = "x"
		it, err := q.From(names, nil).Dequeue(ctx)
		ok(t, err)
		same(t, "Tenant", it.Tenant, "x")
		ok(t, q.Ack(ctx, it))
	})
}

// counter counts commands that a client sends.
type counter struct {
	noHook
	n map[string]*atomic.Int64
}

func count(c redis.UniversalClient, names ...string) *counter {
	h := &counter{n: map[string]*atomic.Int64{}}
	for _, name := range names {
		h.n[name] = &atomic.Int64{}
	}
	c.AddHook(h)
	return h
}

func (h *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		name := cmd.Name()
		if args := cmd.Args(); name == "evalsha" {
			name, _ = args[1].(string)
		}
		if n := h.n[name]; n != nil {
			n.Add(1)
		}
		return next(ctx, cmd)
	}
}

// Single calls of many goroutines share scripts.
func TestGroupCommit(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		c := s.client(t)
		n := count(c, pushScript.sha, ackScript.sha)
		q, ctx := open(t, s, Config[string]{Client: c}), bounded(t)
		const calls = 400
		var wg sync.WaitGroup
		seen := make([]string, calls)
		for k := range calls {
			wg.Go(func() {
				id, err := q.Enqueue(ctx, job{Tenant: fmt.Sprint(k % 7), ID: fmt.Sprint(k)})
				if err != nil {
					t.Error(err)
				}
				seen[k] = id
			})
		}
		wg.Wait()
		for k, id := range seen {
			same(t, "id", id, fmt.Sprint(k))
		}
		if got := n.n[pushScript.sha].Load(); got > calls/2 {
			t.Errorf("%d scripts for %d concurrent Enqueues", got, calls)
		}
		its := now(t, q, calls)
		same(t, "delivered", len(its), calls)
		for _, it := range its {
			wg.Go(func() {
				if err := q.Ack(ctx, it); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := n.n[ackScript.sha].Load(); got > calls/2 {
			t.Errorf("%d scripts for %d concurrent Acks", got, calls)
		}
		same(t, "Acked", books(t, q).Acked, calls)
	})
}

// With Linger, single calls that come one shortly after the other share a script, too.
func TestLinger(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		c := s.client(t)
		n := count(c, pushScript.sha)
		q, ctx := open(t, s, Config[string]{Client: c, Linger: 200 * time.Millisecond}), bounded(t)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { _, _ = q.Enqueue(ctx, job{}) })
		}
		wg.Wait()
		same(t, "Enqueued", books(t, q).Enqueued, 20)
		if got := n.n[pushScript.sha].Load(); got > 2 {
			t.Errorf("%d scripts", got)
		}
	})
}
