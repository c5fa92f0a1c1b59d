package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/queue"
)

type schedule = queue.Schedule[payload]

func (p *program) scheduleCommand() *cli.Command {
	const when = "When"
	cron := []cli.Flag{
		&cli.StringFlag{Name: "cron", Category: when, Usage: "`SPEC` has five fields, or six with seconds first, or is @hourly, @daily, @weekly, @monthly or @yearly"},
		&cli.StringFlag{Name: "zone", Category: when, Usage: "`ZONE` such as Europe/Berlin", DefaultText: "UTC"},
	}
	return &cli.Command{
		Name:  "schedule",
		Usage: "list, put and remove schedules, and say when they are due",
		Description: "\"firqd serve\", or any program that calls Schedules().Run, queues their tasks: each due time once,\n" +
			"however many of them run.",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list schedules",
				Description: "With --json: a list of queue.ScheduleInfo.\n\nExample:\n   firqd schedule list", Action: p.with(listSchedules),
			},
			{
				Name: "put", Usage: "add a schedule, or replace it", ArgsUsage: "ID PAYLOAD",
				Description: "Queues a task with the PAYLOAD, which is JSON, whenever it is due. A schedule that is replaced keeps its next\n" +
					"due time if --cron and --zone are as they were.\n\n" +
					"Example:\n   firqd schedule put report --cron '30 2 * * *' --zone Europe/Berlin --tenant alice '{\"kind\": \"daily\"}'",
				Flags: slices.Concat(cron, []cli.Flag{
					&cli.IntFlag{Name: "catch-up", Category: when, DefaultText: "1", Usage: "make up for `N` due times that were missed by more than 5 s, the latest ones; -1: none"},
					&cli.DurationFlag{Name: "jitter", Category: when, Usage: "delay each task by up to this time"},
					&cli.BoolFlag{Name: "paused", Category: when, Usage: "let due times pass"},
				}, taskFlags()),
				Action: p.with(putSchedule),
			},
			{
				Name: "rm", Usage: "remove schedules", ArgsUsage: "ID...",
				Description: "Tasks that are queued already stay.\n\nExample:\n   firqd schedule rm report", Action: p.with(removeSchedules),
			},
			{
				Name: "next", Usage: "say when a schedule is due, in its zone and without jitter", ArgsUsage: "[ID]",
				Description: "With --cron instead of an ID it needs no server.\n\n" +
					"Examples:\n   firqd schedule next report\n   firqd schedule next --cron '30 2 * * *' --zone America/New_York --from 2026-03-07T00:00:00Z",
				Flags: slices.Concat(cron, []cli.Flag{
					&cli.IntFlag{Name: "n", Category: output, Value: 10, Usage: "the next `N` times"},
					&cli.StringFlag{Name: "from", Category: when, Usage: "after `TIME` (RFC 3339)", DefaultText: "now"},
				}),
				Action: p.with(nextDue),
			},
		},
	}
}

func listSchedules(ctx context.Context, s *session) error {
	if err := between(s.cmd, 0, 0, ""); err != nil {
		return err
	}
	if err := s.openKnown(ctx); err != nil {
		return err
	}
	all, err := s.q.Schedules().List(ctx)
	if err != nil {
		return err
	}
	if all == nil {
		all = []queue.ScheduleInfo[payload]{}
	}
	return s.show(s.cmd, all, func(w io.Writer) {
		if len(all) == 0 {
			printf(w, "no schedules\n")
			return
		}
		rows := [][]string{{"ID", "CRON", "ZONE", "TENANT", "NEXT DUE", "LAST DUE", ""}}
		for i := range all {
			sc := &all[i]
			zone := location(sc.Zone)
			last := "never"
			if !sc.LastDue.IsZero() {
				last = sc.LastDue.In(zone).Format(time.RFC3339)
			}
			rows = append(rows, []string{
				sc.ID, sc.Cron, zone.String(), sc.Task.Tenant, sc.NextDue.In(zone).Format(time.RFC3339), last, yes(sc.Paused, "paused"),
			})
		}
		table(w, rows)
	})
}

// location returns a zone; UTC if this machine does not know it.
func location(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}

func putSchedule(ctx context.Context, s *session) error {
	cmd := s.cmd
	if err := between(cmd, 2, 2, "an ID and a PAYLOAD"); err != nil {
		return misuse(cmd, fmt.Errorf("put needs an ID and a PAYLOAD, there are %d arguments", cmd.NArg()))
	}
	if cmd.String("cron") == "" {
		return misuse(cmd, errors.New("--cron: is missing"))
	}
	text := cmd.Args().Get(1)
	if check([]byte(text)) != nil {
		return misuse(cmd, fmt.Errorf("PAYLOAD: %q is not valid JSON (a string needs quotes: '\"text\"')", text))
	}
	t, err := taskOf(cmd)
	if err != nil {
		return err
	}
	t.Payload = payload(text)
	sc := schedule{
		ID: cmd.Args().First(), Cron: cmd.String("cron"), Zone: cmd.String("zone"), Task: t, CatchUp: cmd.Int("catch-up"),
		Jitter: cmd.Duration("jitter"), Paused: cmd.Bool("paused"),
	}
	if _, err := sc.Next(time.Now(), 1); err != nil {
		return err // as Put would say
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	if err := s.q.Schedules().Put(ctx, sc); err != nil {
		return err
	}
	info, err := s.find(ctx, sc.ID)
	if err != nil {
		return err
	}
	return s.show(cmd, info, func(w io.Writer) {
		printf(w, "put %s, next due %s\n", clean(sc.ID), info.NextDue.In(location(sc.Zone)).Format(time.RFC3339))
	})
}

// find returns the schedule with an ID.
func (s *session) find(ctx context.Context, id string) (sc queue.ScheduleInfo[payload], err error) {
	all, err := s.q.Schedules().List(ctx)
	if err != nil {
		return sc, err
	}
	i := slices.IndexFunc(all, func(x queue.ScheduleInfo[payload]) bool { return x.ID == id })
	if i < 0 {
		return sc, fmt.Errorf("%w: schedule %q", queue.ErrNotFound, id)
	}
	return all[i], nil
}

func removeSchedules(ctx context.Context, s *session) error {
	if err := between(s.cmd, 1, -1, "at least one ID"); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	var errs []error
	n := 0
	for _, id := range s.cmd.Args().Slice() {
		if err := s.q.Schedules().Delete(ctx, id); err != nil {
			errs = append(errs, err)
			continue
		}
		n++
	}
	return errors.Join(append(errs, s.shown("removed", n))...)
}

func nextDue(ctx context.Context, s *session) error {
	cmd := s.cmd
	sc := schedule{ID: "--cron", Cron: cmd.String("cron"), Zone: cmd.String("zone")}
	n := cmd.Int("n")
	from, err := timeFlag(cmd, "from")
	switch {
	case err != nil:
		return err
	case n < 1 || n > 10_000:
		return misuse(cmd, fmt.Errorf("-n: %d, must be 1 to 10000", n))
	case cmd.NArg() > 1 || (cmd.NArg() == 1) == (sc.Cron != ""):
		return misuse(cmd, errors.New("next needs one ID, or else --cron"))
	case from.IsZero():
		from = time.Now()
	}
	if id := cmd.Args().First(); id != "" {
		if err := s.openKnown(ctx); err != nil {
			return err
		}
		info, err := s.find(ctx, id)
		if err != nil {
			return err
		}
		sc = info.Schedule
	}
	times, err := sc.Next(from, n)
	if err != nil {
		return err
	}
	for i := range times {
		times[i] = times[i].In(location(sc.Zone))
	}
	return s.show(cmd, times, func(w io.Writer) {
		for _, t := range times {
			printf(w, "%s\n", t.Format("Mon 2006-01-02 15:04:05 -07:00 MST"))
		}
	})
}
