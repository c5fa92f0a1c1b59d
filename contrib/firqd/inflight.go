package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/queue"
)

func (p *program) inFlightCommand() *cli.Command {
	return &cli.Command{
		Name:  "in-flight",
		Usage: "list the tasks that workers have, those whose leases end first first",
		Description: "A lease that has ended long ago means that no consumer runs. With --json: a list of queue.Item; Wait is until now.\n\n" +
			"Example:\n   firqd in-flight --tenant alice",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tenant", Aliases: []string{"t"}, Usage: "those of the tenant `NAME`"},
			&cli.IntFlag{Name: "limit", Value: 100, Usage: "`N` at most; 0: all"},
		},
		Action: p.with(listInFlight),
	}
}

func listInFlight(ctx context.Context, s *session) error {
	limit := s.cmd.Int("limit")
	err := between(s.cmd, 0, 0, "")
	if err == nil && limit < 0 {
		err = misuse(s.cmd, fmt.Errorf("--limit: %d, must not be negative", limit))
	}
	if err == nil {
		err = s.openKnown(ctx)
	}
	if err != nil {
		return err
	}
	all := []*queue.Item[payload]{}
	for it, err := range s.q.InFlight(ctx, s.cmd.String("tenant")) {
		if err != nil {
			return err
		}
		if all = append(all, it); len(all) == limit {
			break
		}
	}
	return s.show(s.cmd, all, func(w io.Writer) {
		if len(all) == 0 {
			printf(w, "nothing is in flight\n")
			return
		}
		rows := [][]string{{"ID", "TENANT", "ATTEMPT", "LEASE ENDS", "TOKEN"}}
		for _, it := range all {
			rows = append(rows, []string{
				it.ID, it.Tenant, strconv.Itoa(it.Attempt), it.LeaseUntil.Local().Format(time.DateTime), strconv.FormatUint(it.Token, 10),
			})
		}
		table(w, rows)
		if len(all) == limit {
			printf(w, "(there may be more: see --limit)\n")
		}
	})
}
