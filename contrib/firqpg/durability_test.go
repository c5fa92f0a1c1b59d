package firqpg

import (
	"fmt"
	"testing"
	"time"

	"github.com/firq-go/firq/contrib/firqpg/internal/pgserver"
)

// thirty enqueues 30 tasks, and acks 10 that were there before.
func thirty(t *testing.T, q *Queue[string], early []*Item[string]) {
	t.Helper()
	for k := range 30 {
		must[string](t)(q.Enqueue(bounded(t), Task[string]{ID: fmt.Sprint("late", k), Tenant: fmt.Sprint(k % 3)}))
	}
	if err := q.Ack(bounded(t), early...); err != nil {
		t.Fatal(err)
	}
}

// ten enqueues 20 tasks, and delivers 10 of them.
func ten(t *testing.T, q *Queue[string]) []*Item[string] {
	t.Helper()
	for k := range 20 {
		must[string](t)(q.Enqueue(bounded(t), Task[string]{ID: fmt.Sprint("early", k), Tenant: fmt.Sprint(k % 3)}))
	}
	return must[[]*Item[string]](t)(q.DequeueBatch(bounded(t), 10))
}

// left works off what a server has, and returns how many tasks there were.
func left(t *testing.T, q *Queue[string]) (n int) {
	t.Helper()
	for {
		s := must[Stats](t)(q.Stats(bounded(t)))
		if exact(t, s); s.Queued+s.InFlight == 0 {
			return n
		}
		its := must[[]*Item[string]](t)(q.DequeueBatch(bounded(t), 100))
		n += len(its)
		if err := q.Ack(bounded(t), its...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCommitOff: with synchronous_commit off, what was acknowledged less than three times wal_writer_delay before the server dies is lost; the
// rest adds up.
func TestCommitOff(t *testing.T) {
	t.Parallel()
	s := server(t, "wal_writer_delay = 2s", "autovacuum = off", "checkpoint_timeout = 1h")
	db := poolOf(t, s.DSN("postgres"))
	if err := Migrate(bounded(t), db, ""); err != nil {
		t.Fatal(err)
	}
	early := ten(t, open(t, Config[string]{DB: db, Lease: time.Second}))
	// A commit that waits takes with it what was committed before.
	if _, err := db.Exec(bounded(t), "create table synced (x int)"); err != nil {
		t.Fatal(err)
	}
	off := poolOf(t, s.DSN("postgres")+"&synchronous_commit=off")
	thirty(t, open(t, Config[string]{DB: off}), early)
	s.Kill()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if n := left(t, open(t, Config[string]{DB: poolOf(t, s.DSN("postgres")), Lease: time.Second})); n < 20 || n > 50 {
		t.Errorf("%d are left", n)
	} else {
		t.Logf("of 20 and 30 tasks, and 10 acks: %d tasks are left", n)
	}
}

// TestReplicaLags: after a failover to a replica that is not synchronous, what that had not received is lost.
func TestReplicaLags(t *testing.T) {
	t.Parallel()
	s := server(t)
	standby := must[*pgserver.Server](t)(s.Standby("lags"))
	t.Cleanup(standby.Stop)
	if err := standby.Start(); err != nil {
		t.Fatal(err)
	}
	db := poolOf(t, s.DSN("postgres"))
	if err := Migrate(bounded(t), db, ""); err != nil {
		t.Fatal(err)
	}
	q := open(t, Config[string]{DB: db, Lease: time.Second})
	early := ten(t, q)
	for same := false; !same; {
		if err := db.QueryRow(bounded(t), "select coalesce(bool_and(replay_lsn >= pg_current_wal_insert_lsn()), false) from pg_stat_replication").Scan(&same); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	standby.Kill()
	thirty(t, q, early)
	s.Kill()
	if err := standby.Start(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	if n := left(t, open(t, Config[string]{DB: poolOf(t, standby.DSN("postgres")), Lease: time.Second})); n != 20 {
		t.Errorf("%d are left, want 20: 30 tasks lost, 10 acks forgotten", n)
	}
}
