package main

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq/contrib/firqpg"
)

// system is a queue under measurement, in an empty database.
type system interface {
	enqueue(ctx context.Context, tenant, payload string) error
	batch(ctx context.Context, tenants []string, payload string) error
	// work starts workers, in as many processes (clients with pools of their own), and returns what stops them.
	work(ctx context.Context, processes, workers int, handle func(payload string)) (stop func(), err error)
	left(ctx context.Context) (int, error)
	close()
}

// opens opens systems by name. Files that scripts/peers-postgres adds put theirs here.
var opens = map[string]func(ctx context.Context, dsn string, conns int) (system, error){"firqpg": openFirq}

func known() []string { return slices.Sorted(maps.Keys(opens)) }

// pool returns a pool of at most conns connections.
func pool(ctx context.Context, dsn string, conns int) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	c.MaxConns = int32(conns)
	return pgxpool.NewWithConfig(ctx, c)
}

type firq struct {
	dsn string
	db  *pgxpool.Pool
	q   *firqpg.Queue[string]
}

func openFirq(ctx context.Context, dsn string, conns int) (system, error) {
	db, err := pool(ctx, dsn, conns)
	if err != nil {
		return nil, err
	}
	if err := firqpg.Migrate(ctx, db, ""); err != nil {
		return nil, err
	}
	q, err := firqpg.New(ctx, firqpg.Config[string]{DB: db})
	return &firq{dsn, db, q}, err
}

func (f *firq) enqueue(ctx context.Context, tenant, payload string) error {
	_, err := f.q.Enqueue(ctx, firqpg.Task[string]{Tenant: tenant, Payload: payload})
	return err
}

func (f *firq) batch(ctx context.Context, tenants []string, payload string) error {
	ts := make([]firqpg.Task[string], len(tenants))
	for i, name := range tenants {
		ts[i] = firqpg.Task[string]{Tenant: name, Payload: payload}
	}
	_, err := f.q.EnqueueBatch(ctx, ts)
	return err
}

func (f *firq) work(ctx context.Context, processes, workers int, handle func(payload string)) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var ends []func()
	stop = func() {
		cancel()
		wg.Wait()
		for _, f := range ends {
			f()
		}
	}
	for p := range processes {
		q := f.q
		if p > 0 {
			db, err := pool(ctx, f.dsn, 4)
			if err == nil {
				q, err = firqpg.New(ctx, firqpg.Config[string]{DB: db})
			}
			if err != nil {
				stop()
				return nil, err
			}
			ends = append(ends, func() {
				_ = q.Close()
				db.Close()
			})
		}
		wg.Go(func() {
			_ = firqpg.Run(ctx, q, func(_ context.Context, it *firqpg.Item[string]) error {
				handle(it.Payload)
				return nil
			}, firqpg.RunOptions[string]{Concurrency: workers})
		})
	}
	return stop, nil
}

func (f *firq) left(ctx context.Context) (int, error) {
	s, err := f.q.Stats(ctx)
	return s.Queued + s.Delayed + s.InFlight, err
}

func (f *firq) close() {
	_ = f.q.Close()
	f.db.Close()
}
