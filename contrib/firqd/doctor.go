package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqd/internal/config"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// finding is one row of doctor's report.
type finding struct {
	Name   string
	Status string // "ok", "note" or "problem"
	Text   string
}

// report is queue.Health with what else was looked at. OK and Problems are of all of it.
type report struct {
	queue.Health
	Checks []finding
}

func (r *report) add(name, status, format string, args ...any) {
	f := finding{name, status, fmt.Sprintf(format, args...)}
	r.Checks = append(r.Checks, f)
	if status == "problem" {
		r.OK = false
		r.Problems = append(r.Problems, f.Name+": "+f.Text)
	}
}

func (p *program) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "look for what is wrong with the server and the queue",
		Description: "Looks at persistence, replicas, settings, the clocks and versions; on Redis at the eviction policy (it has to be noeviction),\n" +
			"partitions, and keys without a hash tag; on PostgreSQL at fsync, autovacuum, and what holds back vacuum. It says which\n" +
			"command mends a problem. It exits with 4 if there is one, also if the server cannot be reached; notes are no problems.\n" +
			"With --json: the fields of queue.Health, and Checks.\n\n" +
			"Example:\n   firqd doctor --json | jq .Problems",
		Action: p.with(doctor),
	}
}

func doctor(ctx context.Context, s *session) error {
	if err := between(s.cmd, 0, 0, ""); err != nil {
		return err
	}
	r := &report{Health: queue.Health{OK: true}}
	if err := s.examine(ctx, r); err != nil {
		return err
	}
	if r.Problems == nil {
		r.Problems = []string{}
	}
	err := s.show(s.cmd, r, func(w io.Writer) {
		rows := [][]string{}
		for _, f := range r.Checks {
			rows = append(rows, []string{f.Status, f.Name, f.Text})
		}
		table(w, rows)
	})
	if err == nil && !r.OK {
		return fmt.Errorf("%w: %d", errProblem, len(r.Problems))
	}
	return err
}

// examine fills the report. What keeps it from looking further is a problem, but for the end of ctx.
func (s *session) examine(ctx context.Context, r *report) error {
	err := s.open(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, queue.ErrVersion):
		r.add("version", "problem", "%v", err)
		return nil
	case errors.Is(err, queue.ErrPartitions):
		r.add("partitions", "problem", "%v", err)
		return nil
	case errors.Is(err, firq.ErrInvalidConfig): // the rest of it was checked before
		r.add("eviction", "problem", "%v", err)
		return nil
	case err != nil:
		r.add("server", "problem", "%v", err)
		return nil
	}
	h, err := s.q.Health(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.add("server", "problem", "%v", err)
		return nil
	}
	r.Health = h
	r.Problems = nil // each of them gets a check
	r.add("server", "ok", "%s, answers after %v", h.Server, short(h.RTT))
	s.settings(r)
	r.add("clock", bad(told(h, "clocks")), "the server's is %v from ours", h.ClockSkew)
	if err := s.place.examine(ctx, s, h, r); err != nil {
		return err
	}
	for _, p := range h.Problems {
		if !r.said(p) {
			r.add("health", "problem", "%s%s", p, mend(p))
		}
	}
	return nil
}

// said reports whether a check is about a problem of Health.
func (r *report) said(problem string) bool {
	for _, of := range []string{"clocks", "maxmemory-policy", "of version", "fsync is off"} {
		if strings.Contains(problem, of) {
			return true
		}
	}
	return false
}

// mends has what mends a problem, by a part of its text.
var mends = []struct{ part, command string }{
	{"autovacuum is off: tables grow", "alter system set autovacuum = on; select pg_reload_conf()"},
	{"autovacuum is off for tables", "alter table ... reset (autovacuum_enabled)"},
	{"prepared transaction has been open", "rollback prepared '...', or commit prepared"},
	{"a transaction has been open", "select pg_terminate_backend(pid) from pg_stat_activity where now() - xact_start > '10 minutes'"},
	{"replication slot", "select pg_drop_replication_slot('...'), if no replica will read it"},
	{"read-only", "select pg_promote() on a standby; else use the address of the primary"},
}

// mend returns the command that mends a problem, as an end of its text.
func mend(problem string) string {
	for _, m := range mends {
		if strings.Contains(problem, m.part) {
			return "; to mend it: " + m.command
		}
	}
	return ""
}

// told reports whether Health has a problem with the text in it.
func told(h queue.Health, text string) bool {
	return strings.Contains(strings.Join(h.Problems, "\n"), text)
}

func bad(is bool) string {
	if is {
		return "problem"
	}
	return "ok"
}

// settings compares what the configuration says with what the queue goes by.
func (s *session) settings(r *report) {
	ours, usual, q := &s.conf.Queue, config.Default().Queue, s.q.Settings()
	limit, _ := rate.Limit(ours.RatePerTenant).Resolve() // it was checked
	differs := false
	for _, f := range []struct {
		name                string
		ours, usual, theirs any
	}{
		{"max_queued", ours.MaxQueued, usual.MaxQueued, q.MaxQueued},
		{"max_queued_per_tenant", ours.MaxQueuedPerTenant, usual.MaxQueuedPerTenant, q.MaxQueuedPerTenant},
		{"max_in_flight", ours.MaxInFlight, usual.MaxInFlight, q.MaxInFlight},
		{"max_in_flight_per_tenant", ours.MaxInFlightPerTenant, usual.MaxInFlightPerTenant, q.MaxInFlightPerTenant},
		{"rate_per_tenant", limit, rate.Limit{}, q.RatePerTenant},
		{"priority_aging", ours.PriorityAging, usual.PriorityAging, q.PriorityAging},
		{"dead_letters.per_tenant", ours.DeadLetters.PerTenant, usual.DeadLetters.PerTenant, q.DeadLetters.PerTenant},
		{"dead_letters.for", ours.DeadLetters.For, usual.DeadLetters.For, q.DeadLetters.For},
	} {
		if f.ours != f.usual && f.ours != f.theirs { // what is not said is the queue's
			r.add("settings", "problem", "queue.%s is %v here and %v in the queue, which holds: see \"firqd settings\"", f.name, f.ours, f.theirs)
			differs = true
		}
	}
	if !differs {
		r.add("settings", "ok", "the configuration says nothing else than the queue")
	}
}
