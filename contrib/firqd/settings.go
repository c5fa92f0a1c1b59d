package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

func (p *program) settingsCommand() *cli.Command {
	return &cli.Command{
		Name:  "settings",
		Usage: "show and change the settings that live with the queue",
		Commands: []*cli.Command{
			{
				Name: "show", Usage: "show the settings in force",
				Description: "They are those that programs have set last in Config, or \"settings set\". With --json: the fields of\n" +
					"queue.Settings.\n\nExample:\n   firqd settings show",
				Action: p.with(showSettings),
			},
			{
				Name: "set", Usage: "change settings for all clients",
				Description: "What is not given stays as it is. Clients follow within 10 s. A program that starts later with another value in\n" +
					"its Config sets that, and logs a warning.\n\n" +
					"Example:\n   firqd settings set --max-queued 1000000 --priority-aging 1m",
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "max-queued", Usage: "queue `N` tasks at most; 0: any number"},
					&cli.IntFlag{Name: "max-queued-per-tenant", Usage: "queue `N` tasks of each tenant at most; 0: any number"},
					&cli.IntFlag{Name: "max-in-flight", Usage: "have `N` tasks in flight at most; 0: any number"},
					&cli.IntFlag{Name: "max-in-flight-per-tenant", Usage: "have `N` tasks of each tenant in flight at most; 0: any number"},
					&cli.FloatFlag{Name: "rate-per-tenant", Usage: "deliver tasks of cost `R` per second of each tenant at most; 0: any"},
					&cli.Int64Flag{Name: "burst-per-tenant", Usage: "with --rate-per-tenant: after cost `N` that a tenant may have saved up; 0: that of a second"},
					&cli.DurationFlag{Name: "priority-aging", Usage: "a task counts as one priority higher for each such time that it has waited; 0: never"},
					&cli.IntFlag{Name: "dead-letters-per-tenant", Usage: "keep `N` dead letters of each tenant; 0: 10,000, below 0: any number"},
					&cli.DurationFlag{Name: "dead-letters-for", Usage: "keep dead letters for so long; 0: 30 days, below 0: for ever"},
				},
				Action: p.with(setSettings),
			},
		},
	}
}

func showSettings(ctx context.Context, s *session) error {
	if err := between(s.cmd, 0, 0, ""); err != nil {
		return err
	}
	if err := s.openKnown(ctx); err != nil {
		return err
	}
	return s.showSettings()
}

func (s *session) showSettings() error {
	q := s.q.Settings()
	return s.show(s.cmd, q, func(w io.Writer) {
		number := func(n int, none string) string {
			if n <= 0 {
				return none
			}
			return strconv.Itoa(n)
		}
		lasts := func(d time.Duration, none string) string {
			if d <= 0 {
				return none
			}
			return d.String()
		}
		table(w, [][]string{
			{"max queued", number(q.MaxQueued, "none")}, {"max queued per tenant", number(q.MaxQueuedPerTenant, "none")},
			{"max in flight", number(q.MaxInFlight, "none")}, {"max in flight per tenant", number(q.MaxInFlightPerTenant, "none")},
			{"rate per tenant", rateText(q.RatePerTenant, "none")},
			{"priority aging", lasts(q.PriorityAging, "none: priorities are strict")},
			{"dead letters per tenant", number(q.DeadLetters.PerTenant, "any number")}, {"dead letters for", lasts(q.DeadLetters.For, "ever")},
		})
	})
}

// rateText returns a rate as text.
func rateText(l rate.Limit, none string) string {
	switch {
	case l.PerSecond < 0:
		return "none"
	case l.PerSecond == 0:
		return none
	}
	return fmt.Sprintf("%s/s, burst %d", strconv.FormatFloat(l.PerSecond, 'g', 6, 64), l.Burst)
}

// rateFlags returns the rate that two flags say; nil: neither is there.
func rateFlags(cmd *cli.Command, perSecond, burst string) (*rate.Limit, error) {
	if !cmd.IsSet(perSecond) {
		if cmd.IsSet(burst) {
			return nil, misuse(cmd, fmt.Errorf("--%s: needs --%s", burst, perSecond))
		}
		return nil, nil
	}
	return &rate.Limit{PerSecond: cmd.Float(perSecond), Burst: cmd.Int64(burst)}, nil
}

func setSettings(ctx context.Context, s *session) error {
	if err := between(s.cmd, 0, 0, ""); err != nil {
		return err
	}
	given := false
	number := func(name string) *int {
		n := s.cmd.Int(name)
		if !s.cmd.IsSet(name) {
			return nil
		}
		given = true
		return &n
	}
	lasts := func(name string) *time.Duration {
		d := s.cmd.Duration(name)
		if !s.cmd.IsSet(name) {
			return nil
		}
		given = true
		return &d
	}
	c := queue.SettingsChange{
		MaxQueued: number("max-queued"), MaxQueuedPerTenant: number("max-queued-per-tenant"), MaxInFlight: number("max-in-flight"),
		MaxInFlightPerTenant: number("max-in-flight-per-tenant"), PriorityAging: lasts("priority-aging"),
		DeadLettersPerTenant: number("dead-letters-per-tenant"), DeadLettersFor: lasts("dead-letters-for"),
	}
	var err error
	if c.RatePerTenant, err = rateFlags(s.cmd, "rate-per-tenant", "burst-per-tenant"); err != nil {
		return err
	}
	if !given && c.RatePerTenant == nil {
		return misuse(s.cmd, errors.New("set needs at least one setting"))
	}
	if err := s.openKnown(ctx); err != nil {
		return err
	}
	if err := s.q.ChangeSettings(ctx, c); err != nil {
		return fmt.Errorf("%s: %w", s.cmd.Name, err)
	}
	return s.showSettings()
}
