package firqpg

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// slots is how many processes sleep so that a notification reaches them. wake has it, too.
const slots = 4

// ears are the two connections of a queue: one listens, and holds the lock of a slot while the process sleeps; one pops, as the first pop
// of a connection has to plan its statements: pops that go by the pool would do so on each of its connections. One source at a time has
// them. A nil *ears hears nothing.
type ears struct {
	e     *engine
	conn  *pgx.Conn // listens
	pops  *pgx.Conn
	slot  int   // below 0: none
	since int64 // the transactions that were not over when the slot was taken are before it; 0: not known yet
	safe  bool  // all of them are over
	woken bool  // a notification has come that no look has used
}

func (r *ears) armed() bool { return r != nil && r.slot >= 0 }
func (r *ears) was() bool   { return r != nil && r.woken }

func (r *ears) heard(yes bool) {
	if r != nil {
		r.woken = yes
	}
}

// connect makes a connection like those of the pool.
func (r *ears) connect(ctx context.Context) (*pgx.Conn, error) {
	c := r.e.db.Config()
	conn := c.ConnConfig.Copy()
	conn.OnNotification = nil
	conn.RuntimeParams["default_transaction_isolation"] = "read committed"
	if c.BeforeConnect != nil {
		if err := c.BeforeConnect(ctx, conn); err != nil {
			return nil, err
		}
	}
	made, err := pgx.ConnectConfig(ctx, conn)
	if err != nil {
		return nil, err
	}
	if c.AfterConnect != nil {
		if err := c.AfterConnect(ctx, made); err != nil {
			_ = made.Close(ctx)
			return nil, err
		}
	}
	return made, nil
}

// popper returns the connection for pops; nil: the pool has to do.
func (r *ears) popper(ctx context.Context) querier {
	if r == nil {
		return nil
	}
	if r.pops == nil || r.pops.IsClosed() {
		ctx, cancel := context.WithTimeout(ctx, longestPop)
		defer cancel()
		r.pops = nil
		conn, err := r.connect(ctx)
		if err != nil {
			return nil
		}
		if r.plan(ctx, conn); conn.IsClosed() { // ctx has ended
			return nil
		}
		r.pops = conn
	}
	return r.pops
}

// plan has a new connection plan the statements of pop, by one for a queue that does not exist: many times as long as a pop, and without the
// lock for which other processes wait. Each session has such a queue for itself.
func (r *ears) plan(ctx context.Context, conn *pgx.Conn) {
	_, _ = conn.Exec(ctx, r.e.sql(popText), -int32(conn.PgConn().PID()&(1<<27-1)), 1, 0, 0, 0, nil, nil) // else the first pop does
}

// arm takes a slot: from now on an Enqueue wakes this process.
func (r *ears) arm(ctx context.Context) bool {
	if r == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, longestPop)
	defer cancel()
	if r.conn == nil || r.conn.IsClosed() {
		conn, err := r.connect(ctx)
		if err != nil {
			return false
		}
		r.conn = conn
	}
	var slot int
	err := r.conn.QueryRow(ctx, `select coalesce((select k from generate_series(0, $3) k where pg_try_advisory_lock($1::int, $2::int * 8 + k) limit 1), -1)`,
		r.e.space, r.e.id, slots-1).Scan(&slot)
	if err == nil && slot >= 0 {
		_, err = r.conn.Exec(ctx, "listen "+quoted(channel(r.e, slot)))
	}
	if err != nil {
		r.deafen()
		return false
	}
	r.slot, r.since, r.safe = slot, 0, false
	return slot >= 0
}

// channel is what wake notifies.
func channel(e *engine, slot int) string { return fmt.Sprintf("firq_%d_%d_%d", e.space, e.id, slot) }

// disarm gives the slot back. notes: notifications that have come already count as heard. pass: another process is woken instead.
func (r *ears) disarm(notes, pass bool) {
	if !r.armed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := r.conn.PgConn().Exec(ctx, fmt.Sprintf("select pg_advisory_unlock(%d, %d); unlisten *", r.e.space, r.e.id*8+int32(r.slot))).ReadAll()
	if err != nil {
		r.deafen()
		return
	}
	r.slot = -1
	for { // what has come before
		c, stop := context.WithTimeout(ctx, 0)
		_, err := r.conn.WaitForNotification(c)
		stop()
		if err != nil {
			break
		}
		pass = pass || notes
	}
	r.woken = false
	if pass {
		if _, err := r.conn.Exec(ctx, r.e.sql("select @.wake($1)"), r.e.id); err != nil {
			r.deafen()
		}
	}
}

// deafen drops a connection that has failed; the server gives its slot to others.
func (r *ears) deafen() {
	if r.conn != nil {
		closeNow(r.conn)
	}
	r.conn, r.slot, r.since, r.safe = nil, -1, 0, false
}

// patience is how long to sleep after a look that has found nothing. A transaction that looked for sleepers before the slot was taken, and
// has not committed, wakes no process: until all of these are over the look is repeated, less and less often.
func (r *ears) patience(h *head, empty int) time.Duration {
	if !r.armed() {
		return deafSleep
	}
	if r.since == 0 {
		r.since = h.xmax
	}
	r.safe = r.safe || h.xmin >= r.since
	if r.safe {
		return longestSleep
	}
	return min(time.Millisecond<<min(empty, 10), deafSleep)
}

// wait sleeps for d, or until a notification comes.
func (r *ears) wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if !r.armed() {
		<-ctx.Done()
		return
	}
	if _, err := r.conn.WaitForNotification(ctx); err == nil {
		r.woken = true
	} else if ctx.Err() == nil || r.conn.IsClosed() {
		r.deafen()
		<-ctx.Done()
	}
}

func (r *ears) close() {
	r.deafen()
	if r.pops != nil {
		closeNow(r.pops)
	}
}

func closeNow(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}
