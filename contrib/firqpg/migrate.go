package firqpg

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Version is the version of the schema.
const Version = 2

// DefaultSchema is the schema where Config and Migrate name none.
const DefaultSchema = "firq"

// migrations has a file for each version, of what leads to its tables, and the functions as they are today, which each migration
// installs anew. A function is edited in its place; once its version is released, with a new version, whose file drops it first if
// its parameters or its result change.
//
//go:embed sql
var migrations embed.FS

// Migrate installs the schema, or brings it up to Version. Schema "": "firq". It may be called at any time, by any number of processes
// at the same time. It needs the right to create a schema, or to create in one that is there.
func Migrate(ctx context.Context, db *pgxpool.Pool, schema string) error {
	set(&schema, DefaultSchema)
	if err := checkSchema(schema); err != nil {
		return err
	}
	if db == nil {
		return invalid("Migrate: db is nil")
	}
	err := pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 4857))", schema); err != nil {
			return err
		}
		have, err := installed(ctx, tx, schema)
		if err != nil {
			return err
		}
		text, err := MigrationSQL(schema, have)
		if err != nil || text == "" {
			return err
		}
		_, err = tx.Exec(ctx, text)
		return err
	})
	if err != nil && !errors.Is(err, ErrVersion) {
		return fmt.Errorf("firqpg: Migrate: %w", err)
	}
	return err
}

// MigrationSQL returns the statements that lead from a version of the schema (0: there is none) to Version, for tools that apply them
// themselves, in a transaction. ErrVersion: from is greater than Version.
func MigrationSQL(schema string, from int) (string, error) {
	set(&schema, DefaultSchema)
	if err := checkSchema(schema); err != nil {
		return "", err
	}
	if from < 0 || from > Version {
		return "", fmt.Errorf("%w: schema %q: %d, this program knows %d", ErrVersion, schema, from, Version)
	}
	var b strings.Builder
	if from == 0 {
		fmt.Fprintf(&b, "create schema if not exists %s;\n", quoted(schema))
	}
	var names []string
	for v := from + 1; v <= Version; v++ {
		names = append(names, fmt.Sprintf("sql/%03d.sql", v))
	}
	if len(names) > 0 {
		functions, err := fs.Glob(migrations, "sql/functions/*.sql") // sorted; a function comes before those in SQL that call it
		if err != nil {
			return "", err
		}
		names = append(names, functions...)
	}
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return "", err
		}
		b.WriteString(expand(string(text), schema))
	}
	return b.String(), nil
}

// The settings of functions. Statements are planned for indexes whatever the tables looked like when they were planned: a plan that sorts reads all dead
// versions. pg_temp comes last, so that no caller's table takes the place of a function's.
const (
	path    = "set search_path = pg_catalog, pg_temp"
	indexed = path + " set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off"
	looped  = indexed + " set enable_mergejoin = off set enable_hashjoin = off"
	held    = indexed + " set lock_timeout = '200ms'"
)

// expand fills in the schema and the settings of functions.
func expand(text, schema string) string {
	return strings.NewReplacer("@.", quoted(schema)+".", "@ns", "'"+quoted(schema)+"'", "@indexed", indexed, "@looped", looped, "@held", held).Replace(text)
}

// Grants returns the statements that give a role what it needs to use the queues of a schema, and no more: it can neither migrate nor drop.
func Grants(schema, role string) string {
	set(&schema, DefaultSchema)
	s, r := quoted(schema), quoted(role)
	return fmt.Sprintf(`grant usage on schema %[1]s to %[2]s;
grant select, insert, update, delete on all tables in schema %[1]s to %[2]s;
revoke insert, update, delete on %[1]s.version from %[2]s;
grant execute on all functions in schema %[1]s to %[2]s;
`, s, r)
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func checkSchema(schema string) error {
	if strings.ContainsAny(schema, "'\"\\\x00\n\r") || len(schema) > 63 || strings.HasPrefix(schema, "pg_") {
		return invalid("Schema: %q: must have at most 63 bytes, no quotes, backslashes or line breaks, and not begin with pg_", schema)
	}
	return nil
}

type rower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// installed returns the version of a schema; 0: there is none. It asks the catalog: after a wait for a lock, to_regclass may answer from
// what the session remembers.
func installed(ctx context.Context, db rower, schema string) (v int, err error) {
	var there bool
	err = db.QueryRow(ctx, `select exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relname = 'version')`, schema).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = db.QueryRow(ctx, "select version from "+quoted(schema)+".version").Scan(&v)
	return v, err
}

// wrap says which call failed. A function that is missing, or a table, is of another version.
func wrap(call string, err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pg) && (pg.Code == "42883" || pg.Code == "42P01" || pg.Code == "3F000"):
		return fmt.Errorf("%w: firqpg: %s: %w; see Migrate", ErrVersion, call, err)
	}
	return fmt.Errorf("firqpg: %s: %w", call, err)
}
