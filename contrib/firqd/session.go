package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/contrib/firqd/internal/config"
	"github.com/firq-go/firq/contrib/firqd/internal/status"
	"github.com/firq-go/firq/queue"
)

// payload is JSON, which firqd passes through.
type payload = json.RawMessage

type codec struct{}

var errJSON = errors.New("it is not valid JSON")

func (codec) Encode(v payload) ([]byte, error) { return v, check(v) }

func (codec) Decode(b []byte) (payload, error) { return b, check(b) }

func check(b []byte) error {
	if !json.Valid(b) {
		return errJSON
	}
	return nil
}

// settings returns the configuration in force. All its errors are the user's.
func (p *program) settings(cmd *cli.Command) (c config.Config, err error) {
	path := p.environment[config.Prefix+"CONFIG"]
	if cmd.IsSet("config") {
		path = cmd.String("config")
	}
	for _, name := range config.Unknown(p.environment) {
		printf(p.err, "firqd: %s: there is no such setting; see \"firqd config check\"\n", clean(name))
	}
	if c, err = config.Load(path, p.environment); err != nil {
		return c, misuse(cmd, err)
	}
	if cmd.IsSet("addr") {
		if cmd.IsSet("server") {
			return c, misuse(cmd, errors.New("--addr and --server: set one of them"))
		}
		c.Server = "" // a flag says more than the file and the environment
	}
	for name, to := range map[string]*string{"server": &c.Server, "addr": &c.Redis.Addr, "queue": &c.Queue.Name, "listen": &c.Serve.Listen,
		"schema": &c.Postgres.Schema} {
		if cmd.IsSet(name) {
			*to = cmd.String(name)
		}
	}
	if cmd.IsSet("partitions") {
		c.Queue.Partitions = cmd.Int("partitions")
	}
	return c, misuse(cmd, c.Check())
}

// session is a command with an open queue.
type session struct {
	*program
	cmd   *cli.Command
	conf  config.Config
	place place
	q     *queue.Queue[payload]
}

// place is the server that has the queue. Its methods are called one after the other.
type place interface {
	// open opens s.q. makes: a queue that is not there is made; else it is ErrNotFound. It goes by the queue's settings, whatever the
	// configuration says of them: see queue.Settings.
	open(ctx context.Context, s *session, makes bool) error
	// remove removes the queue with all that is in it.
	remove(ctx context.Context, s *session) error
	// examine adds to a report what Health does not say, or says for this engine only.
	examine(ctx context.Context, s *session, h queue.Health, r *report) error
	// timed has the calls of the server timed. It comes before open.
	timed(c *status.Calls)
	close()
}

// newPlace does not connect.
func newPlace(c *config.Config) (place, error) {
	w, err := c.Where()
	if err != nil {
		return nil, err
	}
	if w.Postgres {
		return newPostgres(c)
	}
	return &redisPlace{w.Redis.Client()}, nil
}

// with makes an action of a function that needs a queue: it checks the arguments, and then calls open.
func (p *program) with(do func(ctx context.Context, s *session) error) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		conf, err := p.settings(cmd)
		if err != nil {
			return err
		}
		s := &session{program: p, cmd: cmd, conf: conf}
		if s.place, err = newPlace(&conf); err != nil {
			return misuse(cmd, err)
		}
		defer s.place.close()
		defer func() {
			if s.q != nil {
				_ = s.q.Close()
			}
		}()
		return do(ctx, s)
	}
}

// open connects to the queue, which is made if it is new.
func (s *session) open(ctx context.Context) error { return s.place.open(ctx, s, true) }

// openKnown is open for commands that only look: it does not make a missing queue, but returns an error.
func (s *session) openKnown(ctx context.Context) error { return s.place.open(ctx, s, false) }

// notFound says that there is no such queue.
func (s *session) notFound() error {
	return fmt.Errorf("%w: queue %q at %s", queue.ErrNotFound, s.conf.Queue.Name, s.conf.Place())
}

// between returns an error of the user if there are not least to most arguments; most below 0: any number.
func between(cmd *cli.Command, least, most int, what string) error {
	n := cmd.NArg()
	switch {
	case n >= least && (most < 0 || n <= most):
		return nil
	case most == 0:
		return misuse(cmd, fmt.Errorf("%s takes no arguments: %q", cmd.Name, cmd.Args().First()))
	case least == most:
		return misuse(cmd, fmt.Errorf("%s needs one %s, there are %d", cmd.Name, what, n))
	}
	return misuse(cmd, fmt.Errorf("%s needs %s, there are %d", cmd.Name, what, n))
}
