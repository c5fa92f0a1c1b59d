package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqd/internal/status"
)

func (p *program) serveCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "queue the tasks of schedules, and serve metrics, health and a status page",
		Description: "Runs until Ctrl-C. /metrics is for Prometheus, /healthz says whether the server can be reached (200 or 503), and\n" +
			"/ is a page for people. It listens on this machine only, and answers to localhost and loopback addresses (and the\n" +
			"names of serve.hosts) only, unless --listen says otherwise. Once a second it brings in what is due, as consumers do:\n" +
			"delayed tasks, tasks whose leases have run out, and the end of dead letters, by the queue's own settings (\"firqd settings\").\n\n" +
			"A visitor who has the token, which is printed at the start or set as FIRQ_SERVE_TOKEN, may pause, requeue and purge on\n" +
			"the page. If others can reach it, the page wants the token to be seen at all; /metrics and /healthz do not.\n\n" +
			"Any number of them may run: each due time of a schedule fires once.\n\n" +
			"Examples:\n   firqd serve\n   FIRQ_SERVE_TOKEN=$(cat token) firqd serve --listen 0.0.0.0:8379",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "`HOST:PORT`; without a host: this machine only (FIRQ_SERVE_LISTEN)", DefaultText: "localhost:8379"},
			&cli.BoolFlag{Name: "no-schedules", Usage: "leave schedules to others"},
		},
		Action: p.with(serve),
	}
}

// served holds the lines that serve prints at its start.
type served struct {
	URL    string
	SignIn string // the address that has the token, if it was made here
}

func serve(ctx context.Context, s *session) (err error) {
	if err := between(s.cmd, 0, 0, ""); err != nil {
		return err
	}
	calls := &status.Calls{}
	s.place.timed(calls)
	if err := s.open(ctx); err != nil {
		return err
	}
	token := s.conf.Serve.Token
	if token == "" {
		token = rand.Text()
	}
	pages, err := status.Start(s.conf.Serve.Listen, status.Options{
		Queue: s.q, Name: s.conf.Queue.Name, Token: token, Hosts: s.conf.Serve.HostNames(), Top: s.conf.Serve.Top,
		Calls: calls,
	})
	if err != nil {
		return fmt.Errorf("serve.listen: %w", err)
	}
	defer func() { err = errors.Join(err, pages.Close()) }()
	if err := s.announce(pages, token); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	maintained := make(chan struct{})
	go func() { defer close(maintained); s.maintain(ctx) }()
	defer func() { stop(); <-maintained }()
	fired := make(chan error, 1)
	if s.conf.Serve.Schedules && !s.cmd.Bool("no-schedules") {
		go func() { fired <- s.q.Schedules().Run(ctx) }()
	} else {
		go func() { <-ctx.Done(); fired <- nil }()
	}
	select {
	case err := <-fired:
		if err != nil && !errors.Is(err, firq.ErrClosed) {
			return fmt.Errorf("schedules: %w", err)
		}
	case err := <-pages.Ended():
		stop()
		<-fired
		return err
	}
	return nil
}

// maintainEvery is how often what is due is brought in.
const maintainEvery = time.Second

// maintain does the upkeep that consumers do, so that counters are right and dead letters appear if none runs. If the server is
// away /healthz says so.
func (s *session) maintain(ctx context.Context) {
	t := time.NewTicker(maintainEvery)
	defer t.Stop()
	for {
		_ = s.q.Maintain(ctx)
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// announce says where the pages are.
func (s *session) announce(pages *status.Server, token string) error {
	at := served{URL: pages.URL()}
	if s.conf.Serve.Token == "" {
		at.SignIn = pages.URL() + "?token=" + token
	}
	err := s.show(s.cmd, at, func(w io.Writer) {
		printf(w, "queue %s: see %s (metrics at /metrics, health at /healthz)\n", clean(s.conf.Queue.Name), at.URL)
		if at.SignIn != "" {
			printf(w, "to pause, requeue and purge: %s\n", at.SignIn)
		}
	})
	if pages.Exposed() {
		printf(s.err, "not only this machine can reach that, and what is sent is not encrypted: use --listen localhost:PORT, or a proxy with TLS\n")
	}
	return err
}
