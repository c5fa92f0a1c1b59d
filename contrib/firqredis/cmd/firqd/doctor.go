package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/contrib/firqredis/internal/config"
)

// finding is one row of doctor's report.
type finding struct {
	Name   string
	Status string // "ok", "note" or "problem"
	Text   string
}

// report is firqredis.Health with what else was looked at. OK and Problems are of all of it.
type report struct {
	firqredis.Health
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
		Description: "Looks at persistence, the eviction policy (it has to be noeviction), replicas, settings, the clocks, the version of the\n" +
			"scripts, partitions, and keys without a hash tag. It exits with 4 if there is a problem, also if the server cannot\n" +
			"be reached; notes are no problems. With --json: the fields of firqredis.Health, and Checks.\n\n" +
			"Example:\n   firqd doctor --json | jq .Problems",
		Action: p.with(doctor),
	}
}

func doctor(ctx context.Context, s *session) error {
	if err := between(s.cmd, 0, 0, ""); err != nil {
		return err
	}
	r := &report{Health: firqredis.Health{OK: true}}
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
	case errors.Is(err, firqredis.ErrVersion):
		r.add("scripts", "problem", "%v", err)
		return nil
	case errors.Is(err, firqredis.ErrPartitions):
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
	r.add("server", "ok", "%s, answers after %v", h.Server, short(h.RTT))
	s.eviction(r)
	s.persistence(ctx, r)
	s.replicas(r)
	s.settings(r)
	r.add("clock", bad(told(h, "clocks")), "the server's is %v from ours", h.ClockSkew)
	r.add("scripts", bad(told(h, "of version")), "ours are not older than the queue; partitions: %d", s.conf.Queue.Partitions)
	r.Problems = r.Problems[:0:0] // each of them has a check now
	for _, f := range r.Checks {
		if f.Status == "problem" {
			r.Problems = append(r.Problems, f.Name+": "+f.Text)
		}
	}
	for _, p := range h.Problems {
		if !strings.Contains(p, "clocks") && !strings.Contains(p, "maxmemory-policy") {
			r.add("health", "problem", "%s", p)
		}
	}
	return s.strays(ctx, r)
}

// told reports whether Health has a problem with the text in it.
func told(h firqredis.Health, text string) bool {
	return strings.Contains(strings.Join(h.Problems, "\n"), text)
}

func bad(is bool) string {
	if is {
		return "problem"
	}
	return "ok"
}

func (s *session) eviction(r *report) {
	switch r.EvictionPolicy {
	case "noeviction":
		r.add("eviction", "ok", "noeviction")
	case "":
		r.add("eviction", "note", "the server does not say; it has to be noeviction")
	default:
		r.add("eviction", "problem", "maxmemory-policy is %s, and has to be noeviction: keys of the queue may be evicted", r.EvictionPolicy)
	}
}

// persistence goes by what the server says itself, as Health cannot tell "none" from "may not be asked".
func (s *session) persistence(ctx context.Context, r *report) {
	switch {
	case strings.Contains(r.Persistence, "aof"):
		status := "ok"
		if strings.Contains(r.Persistence, "aof no") {
			status = "note"
		}
		r.add("persistence", status, "%s", r.Persistence)
	case r.Persistence == "rdb":
		r.add("persistence", "note", "rdb: what came after the last snapshot is lost if the server stops; set appendonly yes")
	case r.Persistence == "none" && s.mayAsk(ctx):
		r.add("persistence", "problem", "none: all is lost if the server stops; set appendonly yes")
	default:
		r.add("persistence", "note", "the server does not say (%s)", r.Persistence)
	}
}

// mayAsk reports whether the server says how it is set up.
func (s *session) mayAsk(ctx context.Context) bool {
	answered := false
	_ = s.eachPrimary(ctx, func(ctx context.Context, db redis.Cmdable) error { // what fails has not answered
		m, err := db.ConfigGet(ctx, "appendonly").Result()
		answered = answered || err == nil && m["appendonly"] != ""
		return nil
	})
	return answered
}

func (s *session) replicas(r *report) {
	switch want := s.conf.Queue.WaitReplicas; {
	case r.Replicas < want:
		r.add("replicas", "problem", "%d, but queue.wait_replicas is %d: no Enqueue can be sure of its task", r.Replicas, want)
	case r.Replicas == 0:
		r.add("replicas", "note", "none: while the server is away nothing is queued or delivered")
	default:
		r.add("replicas", "ok", "%d", r.Replicas)
	}
}

// settings compares what the configuration says with what the queue goes by.
func (s *session) settings(r *report) {
	ours, usual, q := &s.conf.Queue, config.Default().Queue, s.q.Settings()
	differs := false
	for _, f := range []struct {
		name                string
		ours, usual, theirs any
	}{
		{"max_queued", ours.MaxQueued, usual.MaxQueued, q.MaxQueued},
		{"max_queued_per_tenant", ours.MaxQueuedPerTenant, usual.MaxQueuedPerTenant, q.MaxQueuedPerTenant},
		{"max_in_flight", ours.MaxInFlight, usual.MaxInFlight, q.MaxInFlight},
		{"max_in_flight_per_tenant", ours.MaxInFlightPerTenant, usual.MaxInFlightPerTenant, q.MaxInFlightPerTenant},
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

// strays looks for keys that begin as ours and have no hash tag, and for those of partitions that there are not.
func (s *session) strays(ctx context.Context, r *report) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var untagged, beyond int
	var example string
	err := s.eachPrimary(ctx, func(ctx context.Context, db redis.Cmdable) error {
		return scan(ctx, db, "fq:*", func(keys []string) error {
			for _, k := range keys {
				queue, partition, ok := tagOf(k)
				switch {
				case !ok:
					untagged++
					example = k
				case queue == s.conf.Queue.Name && partition >= s.conf.Queue.Partitions:
					beyond++
				}
			}
			return nil
		})
	})
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		r.add("keys", "note", "not looked through: %v", err)
		return nil
	case untagged > 0:
		r.add("keys", "problem", "%d keys without a hash tag, such as %q: something else writes keys that begin with fq:", untagged, example)
	default:
		r.add("keys", "ok", "all have a hash tag")
	}
	if beyond > 0 {
		r.add("partitions", "problem", "%d keys are of partitions above %d: tasks there are not delivered", beyond, s.conf.Queue.Partitions-1)
	}
	return nil
}

// tagOf takes a key apart: fq:{queue:partition}...
func tagOf(key string) (queue string, partition int, ok bool) {
	tag, ok := strings.CutPrefix(key, "fq:{")
	if !ok {
		return "", 0, false
	}
	tag, _, ok = strings.Cut(tag, "}")
	i := strings.LastIndexByte(tag, ':')
	if !ok || i < 1 {
		return "", 0, false
	}
	partition, err := strconv.Atoi(tag[i+1:])
	return tag[:i], partition, err == nil && partition >= 0
}
