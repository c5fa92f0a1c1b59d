package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

func (p *program) tenantsCommand() *cli.Command {
	return &cli.Command{
		Name:  "tenants",
		Usage: "show, set, pause and resume tenants",
		Commands: []*cli.Command{
			{
				Name: "show", Usage: "show tenants", ArgsUsage: "[TENANT...]",
				Description: "Without a TENANT: all that have tasks. With --json: a list of queue.TenantStats. A tenant of which\n" +
					"nothing is known is not found.\n\nExample:\n   firqd tenants show alice",
				Action: p.with(showTenants),
			},
			{
				Name: "set", Usage: "give a tenant its own weight and limits", ArgsUsage: "TENANT",
				Description: "What is not given stays as it is. They hold for what is queued already, too.\n\n" +
					"Examples:\n   firqd tenants set alice --weight 2 --max-in-flight 10\n   firqd tenants set alice --rate 0.5 --burst 30\n   firqd tenants set alice --forget",
				Flags: []cli.Flag{
					&cli.FloatFlag{Name: "weight", Usage: "the tenant's share is `W` times that of weight 1; 0: the default"},
					&cli.IntFlag{Name: "max-queued", Usage: "queue `N` of its tasks at most; 0: the queue's limit, below 0: none"},
					&cli.IntFlag{Name: "max-in-flight", Usage: "have `N` of its tasks in flight at most; 0: the queue's limit, below 0: none"},
					&cli.FloatFlag{Name: "rate", Usage: "deliver tasks of cost `R` per second at most; 0: the queue's rate, below 0: any"},
					&cli.Int64Flag{Name: "burst", Usage: "with --rate: after cost `N` that it may have saved up; 0: that of a second"},
					&cli.BoolFlag{Name: "forget", Usage: "forget what was set"},
				},
				Action: p.with(setTenant),
			},
			{
				Name: "pause", Usage: "stop deliveries of a tenant's tasks", ArgsUsage: "TENANT... | --all",
				Description: "Tasks are accepted as before, and what is in flight goes on.\n\nExamples:\n   firqd tenants pause alice\n   firqd tenants pause --all",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "pause the queue"}},
				Action: p.with(func(ctx context.Context, s *session) error {
					return s.setPaused(ctx, "paused", func(name string) error { return s.q.Pause(ctx, name) })
				}),
			},
			{
				Name: "resume", Usage: "go on with deliveries of a tenant's tasks", ArgsUsage: "TENANT... | --all",
				Description: "--all ends \"pause --all\"; tenants that are paused themselves stay so.\n\nExample:\n   firqd tenants resume alice",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "resume the queue"}},
				Action: p.with(func(ctx context.Context, s *session) error {
					return s.setPaused(ctx, "resumed", func(name string) error { return s.q.Resume(ctx, name) })
				}),
			},
		},
	}
}

func showTenants(ctx context.Context, s *session) error {
	if err := s.openKnown(ctx); err != nil {
		return err
	}
	if s.cmd.NArg() == 0 {
		all, err := s.q.TopTenants(ctx, math.MaxInt, queue.ByQueued)
		if err != nil {
			return err
		}
		return s.showTenants(all)
	}
	var all []queue.TenantStats
	var errs []error
	for _, name := range s.cmd.Args().Slice() {
		t, err := s.q.TenantStats(ctx, name)
		if err == nil && t == (queue.TenantStats{Tenant: name}) {
			err = fmt.Errorf("%w: tenant %q", queue.ErrNotFound, name)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, t)
	}
	if len(all) > 0 || s.cmd.Bool("json") {
		errs = append(errs, s.showTenants(all))
	}
	return errors.Join(errs...)
}

func setTenant(ctx context.Context, s *session) error {
	cmd := s.cmd
	if err := between(cmd, 1, 1, "TENANT"); err != nil {
		return err
	}
	limit, err := rateFlags(cmd, "rate", "burst")
	if err != nil {
		return err
	}
	given := cmd.IsSet("weight") || cmd.IsSet("max-queued") || cmd.IsSet("max-in-flight") || limit != nil
	if given == cmd.Bool("forget") {
		return misuse(cmd, errors.New("set needs --weight, --max-queued, --max-in-flight or --rate, or else --forget"))
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	name := cmd.Args().First()
	c := queue.TenantChange{Rate: limit}
	if cmd.Bool("forget") {
		c.Rate = &rate.Limit{}
	}
	if weight := cmd.Float("weight"); cmd.IsSet("weight") || cmd.Bool("forget") {
		c.Weight = &weight
	}
	if n := cmd.Int("max-queued"); cmd.IsSet("max-queued") || cmd.Bool("forget") {
		c.MaxQueued = &n
	}
	if n := cmd.Int("max-in-flight"); cmd.IsSet("max-in-flight") || cmd.Bool("forget") {
		c.MaxInFlight = &n
	}
	if err := s.q.ChangeTenant(ctx, name, c); err != nil {
		return err
	}
	t, err := s.q.TenantStats(ctx, name)
	if err != nil {
		return err
	}
	return s.showTenants([]queue.TenantStats{t})
}

// pausing is the result of pause and resume. With All the tenant is "".
type pausing struct {
	Tenants     []string
	All, Paused bool
}

// setPaused pauses or resumes tenants, or the queue.
func (s *session) setPaused(ctx context.Context, what string, set func(name string) error) error {
	names := s.cmd.Args().Slice()
	if s.cmd.Bool("all") == (len(names) > 0) {
		return misuse(s.cmd, fmt.Errorf("%s needs at least one TENANT, or else --all", s.cmd.Name))
	}
	for _, name := range names {
		if name == "" { // which would be the queue
			return misuse(s.cmd, errors.New("TENANT: is empty"))
		}
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	if s.cmd.Bool("all") {
		names = []string{""}
	}
	for _, name := range names {
		if err := set(name); err != nil {
			return err
		}
	}
	return s.show(s.cmd, pausing{names, s.cmd.Bool("all"), what == "paused"}, func(w io.Writer) {
		for _, name := range names {
			printf(w, "%s %s\n", what, cmp.Or(clean(name), "the queue"))
		}
	})
}
