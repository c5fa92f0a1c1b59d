package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/queue"
)

type info = queue.Info[payload]

// states are the values of --state.
var states = map[string]queue.State{"queued": queue.StateQueued, "delayed": queue.StateDelayed, "in-flight": queue.StateInFlight, "dead": queue.StateDead, "completed": queue.StateCompleted}

// tasksPage is what tasks list prints.
type tasksPage struct {
	Tasks  []info
	Cursor string // of the next page; "": there is none
}

func (p *program) tasksCommand() *cli.Command {
	return &cli.Command{
		Name:  "tasks",
		Usage: "look at tasks in any state, and delete them",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list the tasks in a state, page by page",
				Description: "Queued tasks come by tenant, in the order in which they will be delivered; delayed ones by when they are due, those in\n" +
					"flight by the end of their leases, dead letters by when they died, completed ones, if they are kept, by until when. With\n" +
					"--json: Tasks, a list of queue.Info, and Cursor, for the next page.\n\nExample:\n   firqd tasks list --state delayed --tenant alice",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "state", Value: "queued", Usage: "`STATE` is queued, delayed, in-flight, dead or completed"},
					&cli.StringFlag{Name: "tenant", Aliases: []string{"t"}, Usage: "those of the tenant `NAME`"},
					&cli.IntFlag{Name: "limit", Value: 100, Usage: "a page has `N` tasks at most, 1 to 500"},
					&cli.StringFlag{Name: "cursor", Usage: "go on at `CURSOR`, which the page before has printed"},
				},
				Action: p.with(listTasks),
			},
			{
				Name: "show", Usage: "show tasks with their payloads, in whatever state they are", ArgsUsage: "ID...",
				Description: "With --json: a list of queue.Info.\n\nExample:\n   firqd tasks show order-17", Action: p.with(showTasks),
			},
			{
				Name: "delete", Usage: "cancel tasks, and remove dead letters and what is kept of completed tasks for good", ArgsUsage: "ID...",
				Description: "A task in flight goes on, and its worker learns of it: see \"firqd cancel\".\n\nExample:\n   firqd tasks delete order-17", Action: p.with(deleteTasks),
			},
		},
	}
}

func listTasks(ctx context.Context, s *session) error {
	l := queue.Listing{State: states[s.cmd.String("state")], Tenant: s.cmd.String("tenant"), Limit: s.cmd.Int("limit"), Cursor: s.cmd.String("cursor")}
	switch err := between(s.cmd, 0, 0, ""); {
	case err != nil:
		return err
	case l.State == 0:
		return misuse(s.cmd, fmt.Errorf("--state: %q, must be queued, delayed, in-flight, dead or completed", s.cmd.String("state")))
	case l.Limit < 1 || l.Limit > queue.MaxBatch:
		return misuse(s.cmd, fmt.Errorf("--limit: %d, must be 1 to %d", l.Limit, queue.MaxBatch))
	}
	if err := s.openKnown(ctx); err != nil {
		return err
	}
	page, next, err := s.q.List(ctx, l)
	if err != nil {
		return err
	}
	if page == nil {
		page = []info{}
	}
	return s.show(s.cmd, tasksPage{page, next}, func(w io.Writer) {
		if len(page) == 0 && next == "" {
			printf(w, "no tasks\n")
			return
		}
		rows := [][]string{{"ID", "TENANT", "PRIORITY", "COST", "ATTEMPTS", stateTimes[l.State]}}
		for i := range page {
			t := &page[i]
			rows = append(rows, []string{t.ID, t.Tenant, t.Priority.String(), strconv.FormatInt(t.Cost, 10), strconv.Itoa(t.Attempts), when(t).Local().Format(time.DateTime)})
		}
		table(w, rows)
		if next != "" {
			printf(w, "(there may be more: --cursor %s)\n", next)
		}
	})
}

// stateTimes are the names of the times that belong to states.
var stateTimes = map[queue.State]string{queue.StateQueued: "DUE SINCE", queue.StateDelayed: "DUE", queue.StateInFlight: "LEASE ENDS", queue.StateDead: "DIED", queue.StateCompleted: "KEPT UNTIL"}

// when returns the time that belongs to a task's state.
func when(t *info) time.Time {
	switch t.State {
	case queue.StateInFlight:
		return t.LeaseUntil
	case queue.StateDead:
		return t.DiedAt
	case queue.StateCompleted:
		return t.KeptUntil
	}
	return t.Due
}

func showTasks(ctx context.Context, s *session) error {
	if err := between(s.cmd, 1, -1, "at least one ID"); err != nil {
		return err
	}
	if err := s.openKnown(ctx); err != nil {
		return err
	}
	all := []info{}
	var missing []error
	for _, id := range s.cmd.Args().Slice() {
		t, err := s.q.Get(ctx, id)
		switch {
		case errors.Is(err, queue.ErrNotFound):
			missing = append(missing, err)
		case err != nil:
			return err
		default:
			all = append(all, t)
		}
	}
	err := s.show(s.cmd, all, func(w io.Writer) {
		for i := range all {
			t := &all[i]
			rows := [][]string{
				{"id", t.ID}, {"tenant", t.Tenant}, {"state", t.State.String()}, {strings.ToLower(stateTimes[t.State]), when(t).Local().Format(time.RFC3339)},
				{"attempts", fmt.Sprintf("%d of %d", t.Attempts, t.MaxAttempts)}, {"priority", t.Priority.String()}, {"cost", strconv.FormatInt(t.Cost, 10)},
			}
			if t.Reason != "" {
				rows = append(rows, []string{"reason", t.Reason})
			}
			rows = append(rows, []string{"payload", string(t.Raw)})
			if t.State == queue.StateCompleted {
				rows = append(rows, []string{"completed", t.CompletedAt.Local().Format(time.RFC3339)}, []string{"result", string(t.Result)})
			}
			table(w, rows)
			for k, v := range t.Headers {
				printf(w, "header    %s=%s\n", clean(k), clean(v))
			}
			printf(w, "\n")
		}
	})
	return errors.Join(append(missing, err)...)
}

func deleteTasks(ctx context.Context, s *session) error {
	if err := between(s.cmd, 1, -1, "at least one ID"); err != nil {
		return err
	}
	if err := s.openKnown(ctx); err != nil {
		return err
	}
	n := 0
	var errs []error
	for _, id := range s.cmd.Args().Slice() {
		err := s.q.Cancel(ctx, id)
		if errors.Is(err, queue.ErrNotFound) { // or a dead letter
			if purged, failed := s.q.Purge(ctx, queue.Filter{IDs: []string{id}}); failed != nil || purged > 0 {
				err = failed
			}
		}
		if forgot := s.q.Forget(ctx, id); forgot == nil && errors.Is(err, queue.ErrNotFound) {
			err = nil
		} else if !errors.Is(forgot, queue.ErrNotFound) {
			err = errors.Join(err, forgot)
		}
		if errs = append(errs, err); err == nil {
			n++
		}
	}
	return errors.Join(append(errs, s.shown("deleted", n))...)
}
