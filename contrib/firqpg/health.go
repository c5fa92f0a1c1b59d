package firqpg

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq/queue"
)

// heldFor is for how long something has to hold back the horizon of vacuum to be a problem.
const heldFor = 10 * time.Minute

// vital asks for what Health says in one statement; what the role may not see is empty.
const vital = `select current_setting('server_version'), current_setting('fsync') = 'on', current_setting('synchronous_commit'), current_setting('autovacuum') = 'on',
	pg_is_in_recovery() or current_setting('transaction_read_only') = 'on',
	(select count(*) from pg_stat_replication), (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')),
	extract(epoch from clock_timestamp())::float8,
	coalesce((select extract(epoch from now() - min(coalesce(xact_start, now()))) from pg_stat_activity
		where (backend_xmin is not null or backend_xid is not null) and backend_type = 'client backend' and datname = current_database()), 0)::float8,
	coalesce((select extract(epoch from now() - min(prepared)) from pg_prepared_xacts), 0)::float8,
	coalesce((select max(age(xmin)) from pg_replication_slots where xmin is not null), 0)::bigint,
	coalesce((select string_agg(relname, ', ') from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relkind = 'r' and 'autovacuum_enabled=false' = any (reloptions)), '')`

// slotAge is how many transactions behind a replication slot has to hold the horizon to be a problem: their times are not known.
const slotAge = 1_000_000

func (e *engine) Health(ctx context.Context) (h queue.Health, err error) {
	var fsync, vacuum, readOnly bool
	var commit, off string
	var standbys int
	var now, snapshot, prepared float64
	var slots int64
	began := time.Now()
	if err := e.db.Ping(ctx); err != nil {
		return h, wrap("Health", err)
	}
	h.RTT = time.Since(began)
	began = time.Now()
	if err := e.db.QueryRow(ctx, vital, e.schema).Scan(&h.Server, &fsync, &commit, &vacuum, &readOnly, &h.Replicas, &standbys, &now, &snapshot, &prepared, &slots, &off); err != nil {
		return h, wrap("Health", err)
	}
	ended := time.Now()
	h.Server = "postgres " + h.Server
	h.ClockSkew = time.UnixMicro(int64(now * 1e6)).Sub(began.Add(ended.Sub(began) / 2)).Round(time.Microsecond)
	h.Persistence = fmt.Sprintf("fsync %s, synchronous_commit %s", onOff(fsync), commit)
	switch {
	case standbys == 1:
		h.Persistence += ", 1 synchronous standby"
	case standbys > 1:
		h.Persistence += fmt.Sprintf(", %d synchronous standbys", standbys)
	}
	problem := func(is bool, format string, args ...any) {
		if is {
			h.Problems = append(h.Problems, fmt.Sprintf(format, args...))
		}
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)).Round(time.Second) }
	problem(readOnly, "the server is read-only: a standby, or default_transaction_read_only")
	problem(!fsync, "fsync is off: a crash of the machine may destroy the database")
	problem(!vacuum, "autovacuum is off: tables grow")
	problem(off != "", "autovacuum is off for tables of schema %q: %s", e.schema, off)
	problem(seconds(snapshot) >= heldFor, "a transaction has been open for %v, and keeps what is dead from being removed: see pg_stat_activity", seconds(snapshot))
	problem(seconds(prepared) >= heldFor, "a prepared transaction has been open for %v, and keeps what is dead from being removed: see pg_prepared_xacts", seconds(prepared))
	problem(slots >= slotAge, "a replication slot is %d transactions behind, and keeps what is dead from being removed: see pg_replication_slots", slots)
	problem(h.ClockSkew.Abs() > 2*time.Second, "the clocks differ by %v: deadlines and schedules go by ours", h.ClockSkew)
	if v, err := installed(ctx, e.db, e.schema); err == nil {
		problem(v != Version, "schema %q is of version %d, this is %d", e.schema, v, Version)
	}
	h.OK = len(h.Problems) == 0
	return h, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
