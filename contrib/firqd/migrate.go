package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/contrib/firqpg"
)

// migrated is what migrate prints.
type migrated struct {
	Schema  string
	Version int
	Granted string // the role
	SQL     string // with --print, which changes nothing
}

func (p *program) migrateCommand() *cli.Command {
	return &cli.Command{
		Name:  "migrate",
		Usage: "install the schema in PostgreSQL, or bring it up to this version",
		Description: "Any number of them may run at the same time, and programs that use the queue may go on: if a step does not suit them\n" +
			"they say so. It needs the right to create a schema, or to create in the one that is there.\n\n" +
			"With --print it changes nothing and prints the statements, for a tool of your own: those that are missing in the\n" +
			"server, or all of them if --server names none.\n\n" +
			"Examples:\n" +
			"   firqd migrate --server postgres://app@localhost/shop --grant worker\n" +
			"   firqd migrate --print > firq.sql",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "print", Usage: "print the statements, and change nothing"},
			&cli.StringFlag{Name: "schema", Usage: "`NAME` of the schema (FIRQ_POSTGRES_SCHEMA)", DefaultText: firqpg.DefaultSchema},
			&cli.StringFlag{Name: "grant", Usage: "give the `ROLE` what it needs to use queues, and no more"},
		},
		Action: p.with(migrate),
	}
}

func migrate(ctx context.Context, s *session) error {
	if err := between(s.cmd, 0, 0, ""); err != nil {
		return err
	}
	m := migrated{Schema: s.conf.Postgres.Schema, Version: firqpg.Version, Granted: s.cmd.String("grant")}
	place, ok := s.place.(*postgresPlace)
	if s.cmd.Bool("print") {
		from := 0
		if ok {
			var err error
			if from, err = place.installed(ctx, m.Schema); err != nil {
				return fmt.Errorf("%s: %w", s.conf.Place(), err)
			}
		}
		text, err := firqpg.MigrationSQL(m.Schema, from)
		if err != nil {
			return err
		}
		if m.SQL = text; m.Granted != "" {
			m.SQL += firqpg.Grants(m.Schema, m.Granted)
		}
		return s.show(s.cmd, m, func(w io.Writer) { printf(w, "%s", m.SQL) })
	}
	if !ok {
		return misuse(s.cmd, errors.New("--server: migrate is for postgres://"))
	}
	if err := place.connect(ctx); err != nil {
		return err
	}
	err := firqpg.Migrate(ctx, place.db, m.Schema)
	if err == nil && m.Granted != "" {
		_, err = place.db.Exec(ctx, firqpg.Grants(m.Schema, m.Granted))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.conf.Place(), err)
	}
	return s.show(s.cmd, m, func(w io.Writer) {
		printf(w, "schema %s is of version %d\n", clean(m.Schema), m.Version)
		if m.Granted != "" {
			printf(w, "role %s may use its queues\n", clean(m.Granted))
		}
	})
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
