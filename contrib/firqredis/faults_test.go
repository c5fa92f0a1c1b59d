package firqredis

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/rate"
)

// underLoad runs producers and consumers while f brings faults about, and checks their history.
func underLoad(t *testing.T, producer, consumer *Queue[string], f func(h *history)) Stats {
	t.Helper()
	h := newHistory()
	return h.underLoad(t, producer, consumer, func() { f(h) })
}

// underLoad is underLoad with this history.
func (h *history) underLoad(t *testing.T, producer, consumer *Queue[string], f func()) Stats {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() { h.produce(ctx, t, producer, w) })
		wg.Go(func() { h.consume(ctx, consumer) })
	}
	f()
	stop()
	wg.Wait()
	if t.Failed() {
		return Stats{}
	}
	return h.check(t, consumer)
}

// more waits until n more tasks were accepted.
func (h *history) more(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.accepted)
	}
	was := count()
	until(t, "tasks are accepted", func() bool { return count() >= was+n })
}

// The server is killed and comes back, with both kinds of append-only file.
func TestServerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	s, p := own(t, "--appendonly", "yes", "--appendfsync", "always") // with everysec it may forget: TestKilledEverysec
	q := open(t, s, Config[string]{Lease: time.Second})
	st := underLoad(t, q, q, func(h *history) {
		for range rounds(3) {
			h.more(t, 100)
			p.kill()
			ok(t, p.start())
		}
		h.more(t, 50)
	})
	t.Logf("%d tasks, %d deliveries, %d leases ran out", st.Acked, st.Delivered, st.LeaseExpired)
}

// Connections are cut in the middle of replies: a call whose reply is lost is not sent again by the client, and what is
// repeated by its caller has no effect twice.
func TestCutReplies(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	redisServer.need(t)
	p := startProxy(t, redisServer.addrs[0])
	c := redis.NewClient(&redis.Options{Addr: p.addr(), PoolSize: 16}) // with go-redis's own retries
	t.Cleanup(func() { _ = c.Close() })
	q := open(t, redisServer, Config[string]{Lease: time.Second})
	cutQueue := open(t, redisServer, Config[string]{Client: c, Name: at(q).o.Name, Lease: time.Second})
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(3, 7))
	cuts := 0
	st := underLoad(t, cutQueue, cutQueue, func(h *history) {
		p.cuts(func(reply []byte) int {
			mu.Lock()
			defer mu.Unlock()
			if r.IntN(30) > 0 {
				return -1
			}
			cuts++
			return r.IntN(len(reply))
		})
		h.more(t, 100*rounds(5))
		p.cuts(nil)
		h.more(t, 20)
	})
	mu.Lock()
	defer mu.Unlock()
	if cuts == 0 {
		t.Error("nothing was cut")
	}
	t.Logf("%d tasks, %d deliveries, %d replies cut", st.Acked, st.Delivered, cuts)
}

// Workers in their own processes are killed; each task is settled once all the same.
func TestWorkersKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	redisServer.need(t)
	const lease = 400 * time.Millisecond
	limit := rate.Limit{PerSecond: 50, Burst: 5}
	q := open(t, redisServer, Config[string]{Lease: lease, RatePerTenant: limit})
	h, began := newHistory(), time.Now()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() { h.produce(ctx, t, q, w) })
	}
	var workers []*workerProcess
	for range 3 {
		workers = append(workers, startWorker(t, h, at(q).o.Name, lease))
	}
	for k := range rounds(8) {
		workers[k%3].wait(t, 5)
		workers[k%3].kill()
		workers[k%3] = startWorker(t, h, at(q).o.Name, lease)
	}
	stop()
	wg.Wait()
	until(t, "the queue is empty", func() bool {
		st, err := q.Stats(context.Background())
		return err == nil && st.Queued+st.Delayed+st.InFlight == 0
	})
	for _, w := range workers {
		w.kill()
	}
	st := books(t, q)
	h.mu.Lock()
	defer h.mu.Unlock()
	same(t, "Enqueued", st.Enqueued, uint64(len(h.accepted)))
	same(t, "Acked", st.Acked, uint64(len(h.accepted)))
	for id := range h.accepted {
		if len(h.delivered[id]) == 0 {
			t.Errorf("%s was never handled", id)
		}
	}
	for k := range 5 { // none is forgotten with a worker
		n := must(q.TenantStats(context.Background(), fmt.Sprint("t", k))).Delivered
		if most := float64(limit.Burst) + limit.PerSecond*time.Since(began).Seconds(); float64(n) > most {
			t.Errorf("%d deliveries of tenant %d, at most %v", n, k, most)
		}
	}
	t.Logf("%d tasks, %d deliveries, %d leases ran out", st.Acked, st.Delivered, st.LeaseExpired)
}

// workerProcess is a process that handles tasks, and says which.
type workerProcess struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu sync.Mutex
	n  int
}

func startWorker(t *testing.T, h *history, queue string, lease time.Duration) *workerProcess {
	t.Helper()
	w := &workerProcess{cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	w.cmd.Env = append(slices.Clone(os.Environ()), workerEnv+"="+strings.Join([]string{redisServer.addrs[0], queue, lease.String()}, " "))
	w.cmd.SysProcAttr = dieWithParent()
	out, err := w.cmd.StdoutPipe()
	ok(t, err)
	ok(t, w.cmd.Start())
	go func() {
		defer close(w.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			it := &Item[string]{}
			if _, err := fmt.Sscan(lines.Text(), &it.ID, &it.Attempt, &it.Token); err == nil {
				h.deliver(it)
				w.mu.Lock()
				w.n++
				w.mu.Unlock()
			}
		}
	}()
	t.Cleanup(w.kill)
	return w
}

// wait waits until it has handled n tasks.
func (w *workerProcess) wait(t *testing.T, n int) {
	t.Helper()
	until(t, "a worker handles tasks", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.n >= n
	})
}

func (w *workerProcess) kill() {
	if w.cmd.ProcessState == nil {
		_ = w.cmd.Process.Kill()
		<-w.done
		_ = w.cmd.Wait()
	}
}
