package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq/contrib/firqd/internal/config"
	"github.com/firq-go/firq/contrib/firqd/internal/status"
	"github.com/firq-go/firq/contrib/firqpg"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// postgresPlace is a database of PostgreSQL.
type postgresPlace struct {
	conf *pgxpool.Config
	db   *pgxpool.Pool // nil: not asked yet
}

func newPostgres(c *config.Config) (*postgresPlace, error) {
	conf, err := pgxpool.ParseConfig(c.Server)
	if err != nil {
		return nil, err
	}
	if conf.ConnConfig.ConnectTimeout == 0 {
		conf.ConnConfig.ConnectTimeout = c.Redis.Timeout
	}
	return &postgresPlace{conf: conf}, nil
}

func (p *postgresPlace) close() {
	if p.db != nil {
		p.db.Close()
	}
}

func (p *postgresPlace) timed(c *status.Calls) { p.conf.ConnConfig.Tracer = c }

// connect makes the pool, which connects when it is asked.
func (p *postgresPlace) connect(ctx context.Context) (err error) {
	if p.db == nil {
		p.db, err = pgxpool.NewWithConfig(ctx, p.conf)
	}
	return err
}

func (p *postgresPlace) open(ctx context.Context, s *session, makes bool) error {
	if err := p.connect(ctx); err != nil {
		return err
	}
	place := func(err error) error {
		if errors.Is(err, queue.ErrVersion) {
			return fmt.Errorf("%w; to mend it: firqd migrate", err)
		}
		return fmt.Errorf("%s: %w", s.conf.Place(), err)
	}
	if !makes {
		there, err := firqpg.Exists(ctx, p.db, s.conf.Postgres.Schema, s.conf.Queue.Name)
		if err != nil {
			return place(err)
		}
		if !there {
			return s.notFound()
		}
	}
	c := config.OnPostgres[payload](&s.conf, p.db, codec{})
	c.MaxQueued, c.MaxQueuedPerTenant, c.MaxInFlight, c.MaxInFlightPerTenant, c.PriorityAging, c.DeadLetters = 0, 0, 0, 0, 0, queue.Retention{}
	c.RatePerTenant = rate.Limit{}
	var err error
	if s.q, err = firqpg.New(ctx, c); err != nil {
		s.q = nil
		return place(err)
	}
	return nil
}

func (p *postgresPlace) remove(ctx context.Context, s *session) error {
	return firqpg.Drop(ctx, p.db, s.conf.Postgres.Schema, s.conf.Queue.Name)
}

// examine: Health has looked at nearly all.
func (p *postgresPlace) examine(_ context.Context, s *session, h queue.Health, r *report) error {
	if told(h, "fsync is off") {
		r.add("persistence", "problem", "%s; to mend it: alter system set fsync = on; select pg_reload_conf()", r.Persistence)
	} else {
		r.add("persistence", "ok", "%s", r.Persistence)
	}
	replicas(0, r)
	if told(h, "of version") {
		r.add("schema", "problem", "%q is of another version; to mend it: firqd migrate", s.conf.Postgres.Schema)
	} else {
		r.add("schema", "ok", "%q is of version %d", s.conf.Postgres.Schema, firqpg.Version)
	}
	return nil
}

// installed returns the version of the schema; 0: there is none.
func (p *postgresPlace) installed(ctx context.Context, schema string) (v int, err error) {
	if err := p.connect(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err = p.db.QueryRow(ctx, "select version from "+quoted(schema)+".version").Scan(&v)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000") { // undefined_table, invalid_schema_name
		return 0, nil
	}
	return v, err
}
