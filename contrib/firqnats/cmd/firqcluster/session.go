package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/contrib/firqnats"
)

const defaultTimeout = 10 * time.Second

// session is a command with a connection.
type session struct {
	*program
	cmd     *cli.Command
	servers string
	cluster string
	nc      *nats.Conn
	x       *firqnats.Observer
}

// setting returns a flag, or else a variable of the environment, or else a default.
func (p *program) setting(cmd *cli.Command, flag, variable, usual string) string {
	if cmd.IsSet(flag) {
		return cmd.String(flag)
	}
	if v := p.env(variable); v != "" {
		return v
	}
	return usual
}

// with makes an action of a function that needs the cluster. names are those of its arguments.
func (p *program) with(names []string, do func(ctx context.Context, s *session) error) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		s, err := p.session(cmd, names)
		if err != nil {
			return err
		}
		within, end := context.WithTimeout(ctx, cmd.Duration("timeout"))
		defer end()
		defer s.close()
		if err := s.connect(within); err != nil {
			return err
		}
		if err := s.observe(within); err != nil {
			return err
		}
		if cmd.Name == "drain" {
			within = ctx
		}
		return do(within, s)
	}
}

// session checks the command line.
func (p *program) session(cmd *cli.Command, names []string) (*session, error) {
	if err := arguments(cmd, names); err != nil {
		return nil, err
	}
	if d := cmd.Duration("timeout"); d < time.Millisecond || d > time.Hour {
		return nil, misuse(cmd, fmt.Errorf("--timeout: %v, must be 1ms to 1h", d))
	}
	if (p.setting(cmd, "tls-cert", "NATS_CERT", "") == "") != (p.setting(cmd, "tls-key", "NATS_KEY", "") == "") {
		return nil, misuse(cmd, errors.New("--tls-cert and --tls-key: set both of them"))
	}
	return &session{program: p, cmd: cmd, servers: p.setting(cmd, "server", "NATS_URL", nats.DefaultURL),
		cluster: p.setting(cmd, "cluster", "FIRQ_CLUSTER", "default")}, nil
}

// arguments returns an error of the user if there are others than those with the names.
func arguments(cmd *cli.Command, names []string) error {
	switch n := cmd.NArg(); {
	case n > len(names):
		return misuse(cmd, fmt.Errorf("%s: there is an argument too many: %q", cmd.Name, cmd.Args().Get(len(names))))
	case n < len(names):
		return misuse(cmd, fmt.Errorf("%s needs %s", cmd.Name, names[n]))
	}
	return nil
}

// connect connects to the server.
func (s *session) connect(ctx context.Context) error {
	options := []nats.Option{nats.Name("firqcluster"), nats.NoReconnect()}
	if d, ok := ctx.Deadline(); ok {
		options = append(options, nats.Timeout(time.Until(d)))
	}
	if file := s.setting(s.cmd, "creds", "NATS_CREDS", ""); file != "" {
		options = append(options, nats.UserCredentials(file))
	}
	if file := s.setting(s.cmd, "tls-ca", "NATS_CA", ""); file != "" {
		options = append(options, nats.RootCAs(file))
	}
	if file := s.setting(s.cmd, "tls-cert", "NATS_CERT", ""); file != "" {
		options = append(options, nats.ClientCert(file, s.setting(s.cmd, "tls-key", "NATS_KEY", "")))
	}
	nc, err := nats.Connect(s.servers, options...)
	if err != nil {
		return fmt.Errorf("the server at %s: %w", s.servers, err)
	}
	s.nc = nc
	return nil
}

// observe looks at the cluster.
func (s *session) observe(ctx context.Context) (err error) {
	s.x, err = firqnats.Observe(ctx, s.nc, s.cluster)
	return err
}

func (s *session) close() {
	if s.nc != nil {
		s.nc.Close()
	}
}
