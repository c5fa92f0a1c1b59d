package firqredis

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// A fetch ends at 1 MiB of tasks, and brings at least one.
func TestFetchEndsAtBytes(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{MaxPayload: 4 << 20}), bounded(t)
		huge := strings.Repeat("x", 3<<20)
		put(t, q, job{Tenant: "a", Payload: huge, Priority: 5}, job{Tenant: "a"})
		its, err := q.DequeueBatch(ctx, 10)
		ok(t, err)
		same(t, "with one of 3 MiB", len(its), 1)
		same(t, "its payload", its[0].Payload, huge)
		ok(t, q.Ack(ctx, append(its, take(t, q))...))
		for range 9 {
			put(t, q, job{Tenant: "a", Payload: huge[:300<<10]})
		}
		for _, n := range []int{4, 4, 1} { // the fourth is over 1 MiB
			its, err := q.DequeueBatch(ctx, 10)
			ok(t, err)
			same(t, "of 300 KiB", len(its), n)
			ok(t, q.Ack(ctx, its...))
		}
	})
}

// asks records for how many bytes the scripts are asked, and loses a reply.
type asks struct {
	noHook
	mu   sync.Mutex
	all  []int
	lose bool
}

func (a *asks) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if len(args) < 16 || args[1] != popScript.sha {
			return next(ctx, cmd)
		}
		err := next(ctx, cmd)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.all = append(a.all, args[15].(int)) // ARGV[11]
		if a.lose && err == nil {
			a.lose, err = false, context.DeadlineExceeded
			cmd.SetErr(err)
		}
		return err
	}
}

func (a *asks) last() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[len(a.all)-1]
}

// After a fetch whose reply was lost the next one is smaller, and then they grow again.
func TestLostFetchAsksForLess(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		c := s.client(t)
		a := &asks{}
		c.AddHook(a)
		q, ctx := open(t, s, Config[string]{Client: c}), bounded(t)
		put(t, q, job{})
		ok(t, q.Ack(ctx, take(t, q)))
		same(t, "bytes", a.last(), queue.MaxBytes)
		put(t, q, job{}, job{})
		a.mu.Lock()
		a.lose = true
		a.mu.Unlock()
		_, err := q.Dequeue(ctx)
		want(t, err, context.DeadlineExceeded)
		take(t, q)
		same(t, "then", a.last(), queue.MaxBytes/4)
		until(t, "they grow", func() bool { put(t, q, job{}); take(t, q); return a.last() == queue.MaxBytes })
	})
}

// slowLine limits the bytes per second, to all connections together.
type slowLine struct {
	net.Conn
	rate int
	mu   *sync.Mutex
}

func (c slowLine) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b[:min(len(b), 16<<10)])
	c.mu.Lock()
	defer c.mu.Unlock()
	time.Sleep(time.Duration(n) * time.Second / time.Duration(c.rate))
	return n, err
}

// All workers' tasks together would take longer on this line than the client waits for a reply. In smaller portions each is
// delivered once, and handled.
func TestSlowLine(t *testing.T) {
	t.Parallel()
	redisServer.need(t)
	fast := open(t, redisServer, Config[string]{Lease: time.Hour})
	const n, size, rate = 40, 250 << 10, 2 << 20
	payload := strings.Repeat("x", size)
	for range n {
		put(t, fast, job{Payload: payload})
	}
	var line sync.Mutex
	c := redis.NewClient(&redis.Options{Addr: redisServer.addrs[0], ReadTimeout: 3 * time.Second, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return slowLine{conn, rate, &line}, err
	}})
	t.Cleanup(func() { _ = c.Close() })
	q := open(t, redisServer, Config[string]{Name: at(fast).o.Name, Client: c, Lease: time.Hour})
	var handled atomic.Int64
	stop := runs(t, q, func(_ context.Context, it *Item[string]) error {
		if it.Payload == payload {
			handled.Add(1)
		}
		return nil
	}, RunOptions[string]{Concurrency: n})
	until(t, "all are handled", func() bool { return handled.Load() == n })
	ok(t, stop())
	same(t, "Delivered", books(t, fast).Delivered, n)
}
