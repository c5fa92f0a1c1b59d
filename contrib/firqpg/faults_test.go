package firqpg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq/contrib/firqpg/internal/pgserver"
	"github.com/firq-go/firq/rate"
)

// rounds is how often a fault happens; FIRQPG_FAULTS is how often instead.
func rounds(n int) int {
	if k, err := strconv.Atoi(os.Getenv("FIRQPG_FAULTS")); err == nil {
		return k
	}
	return n
}

// server starts a server that a test may kill.
func server(t testing.TB, settings ...string) *pgserver.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("long")
	}
	if _, err := pgserver.Find(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s, err := pgserver.New(append([]string{"fsync = off"}, settings...)...) // the machine does not crash
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func poolOf(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	db, err := pgxpool.New(bounded(t), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// TestWorkersKilled: of each task there is one row, that of the delivery that settled it.
func TestWorkersKilled(t *testing.T) {
	t.Parallel()
	s := server(t)
	db := poolOf(t, s.DSN("postgres"))
	ctx, cancel := context.WithTimeout(context.Background(), patience+time.Duration(rounds(0))*2*time.Second)
	defer cancel()
	if err := Migrate(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(ctx, "create table done (id text)"); err != nil { // no key: a second row of a task would show
		t.Fatal(err)
	}
	limit, began := rate.Limit{PerSecond: 200, Burst: 10}, time.Now()
	q := open(t, Config[string]{DB: db, RatePerTenant: limit})
	start := func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), workerEnv+"="+s.DSN("postgres"))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	kill := func(c *exec.Cmd) {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	workers := []*exec.Cmd{start(), start(), start()}
	defer func() {
		for _, c := range workers {
			kill(c)
		}
	}()
	done := func() (n int) {
		if err := db.QueryRow(ctx, "select count(*) from done").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := 0
	for range rounds(8) {
		for range 10 {
			ts := make([]Task[string], 15)
			for k := range ts {
				ts[k].Tenant, ts[k].MaxAttempts = fmt.Sprint("t", k%4), 1_000_000
			}
			must[[]Result](t)(q.EnqueueBatch(ctx, ts))
			n += len(ts)
		}
		for was := done(); done() < min(was+60, n); {
			time.Sleep(time.Millisecond)
		}
		k := rand.IntN(len(workers))
		kill(workers[k])
		workers[k] = start()
	}
	for {
		st := must[Stats](t)(q.Stats(ctx))
		if st.Queued+st.Delayed+st.InFlight == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	st := must[Stats](t)(q.Stats(ctx))
	if exact(t, st); st.Acked != uint64(n) || done() != n {
		t.Errorf("%d tasks, %d acked, %d rows: %+v", n, st.Acked, done(), st)
	}
	for k := range 4 { // none is forgotten with a worker
		got := must[TenantStats](t)(q.TenantStats(ctx, fmt.Sprint("t", k))).Delivered
		if most := float64(limit.Burst) + limit.PerSecond*time.Since(began).Seconds(); float64(got) > most {
			t.Errorf("%d deliveries of tenant %d, at most %v", got, k, most)
		}
	}
	t.Logf("%d tasks, %d leases ran out", n, st.LeaseExpired)
}

// load enqueues, takes and acks until stop, and remembers what it was told.
type load struct {
	mu       sync.Mutex
	accepted map[string]bool
	open     map[string]bool // whose Enqueue has failed: they may be there
	acked    map[string]int  // acks that were confirmed
	unsure   map[string]bool // whose ack has failed
}

func (l *load) run(ctx context.Context, wg *sync.WaitGroup, q *Queue[string]) {
	l.accepted, l.open, l.acked, l.unsure = map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]bool{}
	for w := range 4 {
		wg.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				id := fmt.Sprintf("%d-%d", w, k)
				_, err := q.Enqueue(context.WithoutCancel(ctx), Task[string]{ID: id, Tenant: fmt.Sprint("t", k%5), MaxAttempts: 1_000_000})
				l.mu.Lock()
				if err == nil {
					l.accepted[id] = true
				} else {
					l.open[id] = true
				}
				l.mu.Unlock()
				if err != nil {
					sleep(ctx, 5*time.Millisecond)
				}
			}
		})
		wg.Go(func() {
			for ctx.Err() == nil {
				it, err := q.Dequeue(ctx)
				if err != nil {
					sleep(ctx, 5*time.Millisecond)
					continue
				}
				l.ack(q, it)
			}
		})
	}
}

func (l *load) ack(q *Queue[string], it *Item[string]) {
	err := q.Ack(context.Background(), it)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.acked[it.ID]++
	case !errors.Is(err, ErrLeaseLost):
		l.unsure[it.ID] = true
	}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.accepted)
}

// check works off what is left, and compares what was told with what is.
func (l *load) check(t *testing.T, q *Queue[string]) {
	t.Helper()
	ctx := bounded(t)
	var st Stats
	for {
		st = must[Stats](t)(q.Stats(ctx))
		if st.Queued+st.Delayed+st.InFlight == 0 {
			break
		}
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		its, _ := q.DequeueBatch(short, 100)
		cancel()
		for _, it := range its {
			l.ack(q, it)
		}
	}
	exact(t, st)
	for id := range l.accepted {
		if l.acked[id] == 0 && !l.unsure[id] {
			t.Errorf("%s is lost", id)
		}
	}
	for id, n := range l.acked {
		if n > 1 {
			t.Errorf("%s is settled %d times", id, n)
		}
	}
	if least, most := uint64(len(l.accepted)), uint64(len(l.accepted)+len(l.open)); st.Enqueued < least || st.Enqueued > most || st.Acked != st.Enqueued {
		t.Errorf("%d accepted, and %d open: %+v", least, most-least, st)
	}
	t.Logf("%d tasks, %d enqueues and %d acks open, %d leases ran out", st.Acked, len(l.open), len(l.unsure), st.LeaseExpired)
}

// TestServerKilled: all processes of the server are killed under load, and it comes back.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	s := server(t)
	db := poolOf(t, s.DSN("postgres"))
	if err := Migrate(bounded(t), db, ""); err != nil {
		t.Fatal(err)
	}
	q := open(t, Config[string]{DB: db, Lease: time.Second})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var wg sync.WaitGroup
	var l load
	l.run(ctx, &wg, q)
	for range rounds(3) {
		for was := l.count(); l.count() < was+200; {
			time.Sleep(time.Millisecond)
		}
		s.Kill()
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for was := l.count(); l.count() < was+50; {
		time.Sleep(time.Millisecond)
	}
	stop()
	wg.Wait()
	l.check(t, q)
}

// TestFailover: a primary with a synchronous standby is killed under load, and the standby takes its place. Nothing that was acknowledged is
// lost, and tokens grow.
func TestFailover(t *testing.T) {
	t.Parallel()
	for range rounds(1) {
		failover(t)
	}
}

func failover(t *testing.T) {
	s := server(t, "wal_level = replica", "max_wal_senders = 4", "hot_standby = on")
	standby, err := s.Standby("firq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.Stop)
	if err := standby.Start(); err != nil {
		t.Fatal(err)
	}
	db := poolOf(t, s.DSN("postgres"))
	for _, x := range []string{"alter system set synchronous_standby_names = 'firq'", "select pg_reload_conf()"} {
		if _, err := db.Exec(bounded(t), x); err != nil {
			t.Fatal(err)
		}
	}
	if err := Migrate(bounded(t), db, ""); err != nil {
		t.Fatal(err)
	}
	q := open(t, Config[string]{DB: db, Lease: time.Second})
	for h := must[Health](t)(q.Health(bounded(t))); h.Persistence != "fsync off, synchronous_commit on, 1 synchronous standby" || h.Replicas != 1; h = must[Health](t)(q.Health(bounded(t))) {
		time.Sleep(10 * time.Millisecond)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var l load
	l.run(ctx, &wg, q)
	for l.count() < 300 {
		time.Sleep(time.Millisecond)
	}
	before := must[string](t)(q.Enqueue(bounded(t), Task[string]{ID: "before", Tenant: "t0"}))
	s.Kill()
	stop()
	wg.Wait()
	l.accepted[before] = true
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	after := poolOf(t, standby.DSN("postgres"))
	l.check(t, open(t, Config[string]{DB: after, Lease: time.Second}))
}

// TestRestored: after a dump and a restore transaction numbers begin anew, in the middle of what was not brought in yet. Nothing is lost, and Stats add up.
func TestRestored(t *testing.T) {
	t.Parallel()
	from, to := server(t), server(t)
	db := poolOf(t, from.DSN("postgres"))
	ctx := bounded(t)
	for range 200 { // so that the old numbers are greater than the new ones
		if _, err := db.Exec(ctx, "select pg_current_xact_id()"); err != nil {
			t.Fatal(err)
		}
	}
	if err := Migrate(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	q := open(t, Config[string]{DB: db, Lease: 500 * time.Millisecond})
	for k := range 30 {
		must[string](t)(q.Enqueue(ctx, Task[string]{Tenant: fmt.Sprint("t", k%3), ID: fmt.Sprint(k)}))
	}
	its := must[[]*Item[string]](t)(q.DequeueBatch(ctx, 10))
	if err := q.Ack(ctx, its[:4]...); err != nil {
		t.Fatal(err)
	}
	if err := q.Nack(ctx, its[4], Retry{Dead: true}); err != nil {
		t.Fatal(err)
	}
	must[string](t)(q.Enqueue(ctx, Task[string]{Tenant: "late", ID: "30"})) // its delta is not brought in
	token := its[9].Token
	_ = q.Close()
	if err := from.Dump("postgres", to); err != nil {
		t.Fatal(err)
	}
	db = poolOf(t, to.DSN("postgres"))
	q = open(t, Config[string]{DB: db, Lease: 500 * time.Millisecond})
	must[string](t)(q.Enqueue(ctx, Task[string]{Tenant: "new", ID: "31"}))
	s := must[Stats](t)(q.Stats(ctx))
	exact(t, s)
	seen := map[string]bool{}
	for len(seen) < 27 {
		for _, it := range must[[]*Item[string]](t)(q.DequeueBatch(ctx, 10)) {
			if seen[it.ID] || it.Token <= token {
				t.Errorf("got %+v, after token %d", it, token)
			}
			seen[it.ID] = true
			if err := q.Ack(ctx, it); err != nil {
				t.Error(err)
			}
		}
	}
	s = must[Stats](t)(q.Stats(ctx))
	if exact(t, s); s.Enqueued != 32 || s.Acked != 31 || s.Queued+s.InFlight+s.Delayed != 0 || s.DeadLetters != 1 {
		t.Errorf("%+v", s)
	}
}
