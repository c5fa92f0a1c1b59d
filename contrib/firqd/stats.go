package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/queue"
)

func (p *program) statsCommand() *cli.Command {
	return &cli.Command{
		Name:  "stats",
		Usage: "show the counters and the state of the queue",
		Description: "With --json: the fields of queue.Stats; durations are in nanoseconds.\n\n" +
			"Examples:\n" +
			"   firqd stats --watch --every 2s\n" +
			"   firqd stats --json | jq .Queued",
		Flags: watchFlags(),
		Action: p.with(func(ctx context.Context, s *session) error {
			if err := between(s.cmd, 0, 0, ""); err != nil {
				return err
			}
			if err := s.openKnown(ctx); err != nil {
				return err
			}
			return s.watched(ctx, func() error {
				st, err := s.look().Stats(ctx)
				if err != nil {
					return err
				}
				return s.show(s.cmd, st, func(w io.Writer) { printStats(w, s.conf.Queue.Name, &st) })
			})
		}),
	}
}

// look returns the source of the figures; with --watch a survey, which does not look at all tenants each time.
func (s *session) look() interface {
	Stats(ctx context.Context) (queue.Stats, error)
	TopTenants(ctx context.Context, n int, by queue.By) ([]queue.TenantStats, error)
} {
	if s.cmd.Bool("watch") {
		return s.q.Survey()
	}
	return s.q
}

func printStats(w io.Writer, name string, s *queue.Stats) {
	printf(w, "queue %s%s\n\n", clean(name), yes(s.Paused, " (paused)"))
	n := func(v uint64) string { return strconv.FormatUint(v, 10) }
	i := strconv.Itoa
	table(w, [][]string{
		{"NOW", "", "TASKS", "", "DELIVERIES", "", "REFUSED"},
		{"queued", i(s.Queued), "enqueued", n(s.Enqueued), "delivered", n(s.Delivered), "lease lost", n(s.LeaseLost)},
		{"delayed", i(s.Delayed), "requeued", n(s.Requeued), "nacked", n(s.Nacked), "duplicates", n(s.Duplicates)},
		{"in flight", i(s.InFlight), "acked", n(s.Acked), "released", n(s.Released), "rejected", n(s.Rejected)},
		{"dead letters", i(s.DeadLetters), "cancelled", n(s.Cancelled), "lease expired", n(s.LeaseExpired)},
		{"tenants", i(s.Tenants), "expired", n(s.Expired)},
		{"held by rate", i(s.Held), "dead", n(s.Dead)},
		{"oldest", short(s.Oldest), "purged", n(s.Purged)},
	})
}

// orders are the values of --by.
var orders = map[string]queue.By{"queued": queue.ByQueued, "in-flight": queue.ByInFlight, "oldest": queue.ByOldest}

func (p *program) topCommand() *cli.Command {
	return &cli.Command{
		Name:  "top",
		Usage: "show the tenants with the most tasks, or with the oldest task",
		Description: "With --json: a list of queue.TenantStats.\n\n" +
			"Examples:\n" +
			"   firqd top\n" +
			"   firqd top -n 3 --by oldest --watch",
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "n", Category: output, Value: 10, Usage: "show `N` tenants"},
			&cli.StringFlag{Name: "by", Category: output, Value: "queued", Usage: "`ORDER` is queued, in-flight or oldest"},
		}, watchFlags()...),
		Action: p.with(func(ctx context.Context, s *session) error {
			by, ok := orders[s.cmd.String("by")]
			n := s.cmd.Int("n")
			switch err := between(s.cmd, 0, 0, ""); {
			case err != nil:
				return err
			case !ok:
				return misuse(s.cmd, fmt.Errorf("--by: %q, must be queued, in-flight or oldest", s.cmd.String("by")))
			case n < 1:
				return misuse(s.cmd, fmt.Errorf("-n: %d, must be at least 1", n))
			}
			if err := s.openKnown(ctx); err != nil {
				return err
			}
			return s.watched(ctx, func() error {
				all, err := s.look().TopTenants(ctx, n, by)
				if err != nil {
					return err
				}
				return s.showTenants(all)
			})
		}),
	}
}

// showTenants shows a list of tenants.
func (s *session) showTenants(all []queue.TenantStats) error {
	if all == nil {
		all = []queue.TenantStats{}
	}
	return s.show(s.cmd, all, func(w io.Writer) {
		if len(all) == 0 {
			printf(w, "no tenant has tasks\n")
			return
		}
		rows := [][]string{{"TENANT", "QUEUED", "DELAYED", "IN FLIGHT", "DEAD", "OLDEST", "WEIGHT", "MAX QUEUED", "MAX IN FLIGHT", "RATE", ""}}
		for i := range all {
			t := &all[i]
			rows = append(rows, []string{
				t.Tenant, strconv.Itoa(t.Queued), strconv.Itoa(t.Delayed), strconv.Itoa(t.InFlight), strconv.Itoa(t.DeadLetters), short(t.Oldest),
				strconv.FormatFloat(t.Weight, 'g', 6, 64), limit(t.Settings.MaxQueued), limit(t.Settings.MaxInFlight),
				rateText(t.Settings.Rate, "the queue's"), yes(t.Paused, "paused") + yes(t.Held > 0, "held by its rate for "+short(t.Held)),
			})
		}
		table(w, rows)
	})
}

// limit returns a tenant's own limit as text.
func limit(n int) string {
	switch {
	case n == 0:
		return "the queue's"
	case n < 0:
		return "none"
	}
	return strconv.Itoa(n)
}
