package firqpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// engine keeps a queue's tasks in PostgreSQL.
type engine struct {
	db       *pgxpool.Pool
	own      bool // db was made here, and is closed with the queue
	schema   string
	noListen bool
	opts     queue.Options
	begins   bool // the pool's sessions begin transactions at another level than read committed

	id    int32 // of the queue
	space int32 // of the schema's advisory locks

	pair *ears      // the two connections of the queue
	ears chan *ears // has them while no source does

	known   atomic.Pointer[known] // settings
	reading atomic.Bool           // they are being read again
	life    context.Context       // ends with Close
	end     context.CancelFunc
	late    context.Context // ends closeGrace after the queue has begun to close, or with life
	work    sync.WaitGroup
}

// ackRest is how long Acks rest for more to come, at most.
const ackRest = 2 * time.Millisecond

// closeGrace is how long Close waits for a server that does not answer.
const closeGrace = 5 * time.Second

func (e *engine) Traits() queue.Traits {
	return queue.Traits{Name: "postgres", Lanes: 1, AckRest: ackRest, UTF8: true, MaxScheduleID: queue.MaxName - len("@2006-01-02T15:04:05Z")}
}

func (e *engine) Lane(string) int { return 0 }

func (e *engine) Open(ctx context.Context, o queue.Options) error {
	e.opts, e.ears = o, make(chan *ears, 1)
	e.life, e.end = context.WithCancel(context.Background())
	late, end := context.WithCancel(e.life)
	e.late = late
	e.work.Go(func() {
		defer end()
		select {
		case <-o.Closing:
			sleep(e.life, closeGrace)
		case <-e.life.Done():
		}
	})
	e.pair = &ears{e: e, slot: -1}
	e.ears <- e.pair
	if e.db == nil {
		db, err := pgxpool.New(ctx, "")
		if err != nil {
			return fmt.Errorf("firqpg: New: %w", err)
		}
		e.db, e.own = db, true
	}
	v, err := installed(ctx, e.db, e.schema)
	if err != nil {
		return fmt.Errorf("firqpg: New: %w", err)
	}
	if v != Version {
		return fmt.Errorf("%w: firqpg: schema %q is of version %d, this program needs %d: call firqpg.Migrate", queue.ErrVersion, e.schema, v, Version)
	}
	var level string
	if err := e.db.QueryRow(ctx, "select current_setting('default_transaction_isolation')").Scan(&level); err != nil {
		return fmt.Errorf("firqpg: New: %w", err)
	}
	e.begins = level != "read committed"
	err = e.holding(ctx, "New", func(db querier) error {
		return db.QueryRow(ctx, e.sql("select @.open($1), @.space()"), o.Name).Scan(&e.id, &e.space)
	})
	if err != nil {
		return err
	}
	return e.share(ctx, o.Settings)
}

func (e *engine) Close() error {
	if e.end == nil { // Open was not called
		return nil
	}
	e.end()
	e.work.Wait()
	e.pair.close() // a source that is not called any more may have them
	if e.own {
		e.db.Close()
	}
	return nil
}

// sql returns a statement with the schema filled in.
func (e *engine) sql(text string) string { return strings.ReplaceAll(text, "@.", quoted(e.schema)+".") }

// querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// run makes one statement, in a separate transaction that is read committed: what waits for the lock has to see what its last holder did.
func (e *engine) run(ctx context.Context, call string, f func(db querier) error) error {
	if !e.begins {
		return wrap(call, f(e.db))
	}
	return wrap(call, e.inTx(ctx, func(tx pgx.Tx) error { return f(tx) }))
}

func (e *engine) inTx(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, e.db, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, f)
}

// holding is run for functions that hold the queue's lock and may meet a row that a transaction of a user has locked: they give up, so
// that deliveries go on, and are called again.
func (e *engine) holding(ctx context.Context, call string, f func(db querier) error) error {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		err := e.run(ctx, call, f)
		if !locked(err) {
			return err
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// locked reports whether a statement has given up waiting for a lock.
func locked(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03" // lock_not_available
}

// closing returns a context that ends with ctx, and some seconds after the queue has begun to close: what was accepted is sent, but a server that
// does not answer is not waited for.
func (e *engine) closing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.late, cancel)
	return ctx, func() { stop(); cancel() }
}

// sleep reports whether ctx has not ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// known are settings as they were last read.
type known struct {
	queue.Settings
	read time.Time
}

// settingsEvery bounds the age of the answer of Settings. The functions read what is stored.
const settingsEvery = 10 * time.Second

// numbers are settings as they are stored, in the order of settingNames; 0: not set. Times are microseconds.
type numbers [7]int64

var settingNames = [7]string{"MaxQueued", "MaxQueuedPerTenant", "MaxInFlight", "MaxInFlightPerTenant", "PriorityAging", "DeadLetters.PerTenant", "DeadLetters.For"}

func numbersOf(s queue.Settings) numbers {
	keep := ceil(s.DeadLetters.For)
	if s.DeadLetters.For < 0 {
		keep = -1
	}
	return numbers{
		int64(s.MaxQueued), int64(s.MaxQueuedPerTenant), int64(s.MaxInFlight), int64(s.MaxInFlightPerTenant),
		s.PriorityAging.Microseconds(), int64(max(s.DeadLetters.PerTenant, -1)), keep,
	}
}

// settings fills in defaults.
func (n numbers) settings(l rate.Limit) queue.Settings {
	s := queue.Settings{
		MaxQueued: int(n[0]), MaxQueuedPerTenant: int(n[1]), MaxInFlight: int(n[2]), MaxInFlightPerTenant: int(n[3]),
		PriorityAging: time.Duration(n[4]) * time.Microsecond, DeadLetters: queue.Retention{PerTenant: int(n[5]), For: time.Duration(n[6]) * time.Microsecond},
		RatePerTenant: l,
	}
	set(&s.DeadLetters.PerTenant, queue.DefaultDeadLettersPerTenant)
	set(&s.DeadLetters.For, queue.DefaultDeadLettersFor)
	return s
}

func (e *engine) stored(ctx context.Context) (n numbers, l rate.Limit, err error) {
	err = e.db.QueryRow(ctx, e.sql(`select coalesce(maxqueued, 0), coalesce(maxqueuedpertenant, 0), coalesce(maxinflight, 0), coalesce(maxinflightpertenant, 0),
		coalesce(aging, 0), coalesce(deads, 0), coalesce(deadfor, 0), coalesce(rate, 0), coalesce(burst, 0) from @.queue where id = $1`), e.id).Scan(
		&n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &l.PerSecond, &l.Burst)
	return n, l, wrap("Settings", err)
}

// share stores the settings of Config for all clients.
func (e *engine) share(ctx context.Context, own queue.Settings) error {
	have, limit, err := e.stored(ctx)
	if err != nil {
		return err
	}
	var change [7]*int64
	changed := false
	for i, n := range numbersOf(own) {
		if n == 0 || n == have[i] {
			continue
		}
		if have[i] != 0 {
			slog.Default().Warn("firqpg: another client had set the queue's "+settingNames[i]+" to another value; this client's holds now for all",
				"queue", e.opts.Name, "was", have[i], "is", n)
		}
		change[i], changed = &n, true
	}
	var other *rate.Limit
	if l := own.RatePerTenant; l != limit && l != (rate.Limit{}) {
		if limit != (rate.Limit{}) {
			slog.Default().Warn("firqpg: another client had set the queue's RatePerTenant to another value; this client's holds now for all",
				"queue", e.opts.Name, "was", limit, "is", l)
		}
		other, changed = &l, true
	}
	if !changed {
		e.known.Store(&known{have.settings(limit), time.Now()})
		return nil
	}
	return e.configure(ctx, "New", change, other)
}

func (e *engine) configure(ctx context.Context, call string, change [7]*int64, l *rate.Limit) error {
	sql, args := "select @.configure($1, $2)", []any{e.id, change[:]}
	if l != nil {
		sql, args = sql+", @.throttle($1, '', $3, $4)", append(args, l.PerSecond, l.Burst)
	}
	if err := e.holding(ctx, call, func(db querier) error {
		_, err := db.Exec(ctx, e.sql(sql), args...)
		return err
	}); err != nil {
		return err
	}
	n, limit, err := e.stored(ctx)
	if err != nil {
		return err
	}
	e.known.Store(&known{n.settings(limit), time.Now()})
	return e.upkeep(ctx, call, true) // dead letters may have been kept for long enough now
}

func (e *engine) Settings() queue.Settings {
	s := e.known.Load()
	if time.Since(s.read) > settingsEvery && e.reading.CompareAndSwap(false, true) {
		e.work.Go(func() {
			defer e.reading.Store(false)
			ctx, cancel := context.WithTimeout(e.life, settingsEvery)
			defer cancel()
			if n, limit, err := e.stored(ctx); err == nil {
				e.known.Store(&known{n.settings(limit), time.Now()})
			} else {
				e.known.CompareAndSwap(s, &known{s.Settings, time.Now()}) // again later
			}
		})
	}
	return s.Settings
}

func (e *engine) ChangeSettings(ctx context.Context, c queue.SettingsChange) error {
	var s queue.Settings
	var change [7]*int64
	given := [7]bool{
		give(&s.MaxQueued, c.MaxQueued), give(&s.MaxQueuedPerTenant, c.MaxQueuedPerTenant), give(&s.MaxInFlight, c.MaxInFlight),
		give(&s.MaxInFlightPerTenant, c.MaxInFlightPerTenant), give(&s.PriorityAging, c.PriorityAging),
		give(&s.DeadLetters.PerTenant, c.DeadLettersPerTenant), give(&s.DeadLetters.For, c.DeadLettersFor),
	}
	for i, n := range numbersOf(s) {
		if given[i] {
			change[i] = &n
		}
	}
	return e.configure(ctx, "ChangeSettings", change, c.RatePerTenant)
}

// give sets a field to a given value.
func give[V any](field, value *V) bool {
	if value == nil {
		return false
	}
	*field = *value
	return true
}

// set replaces a zero field by its default.
func set[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}
