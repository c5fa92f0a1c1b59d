package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/contrib/firqredis/internal/config"
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

// silent keeps the client's log away from the terminal: what matters comes back as an error.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

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
	for name, to := range map[string]*string{"addr": &c.Redis.Addr, "queue": &c.Queue.Name, "listen": &c.Serve.Listen} {
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
	cmd    *cli.Command
	conf   config.Config
	client redis.UniversalClient
	q      *firqredis.Queue[payload]
}

// with makes an action of a function that needs a queue: it checks the arguments, and then calls open.
func (p *program) with(do func(ctx context.Context, s *session) error) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		conf, err := p.settings(cmd)
		if err != nil {
			return err
		}
		s := &session{program: p, cmd: cmd, conf: conf, client: conf.Client()}
		defer func() { _ = s.client.Close() }()
		defer func() {
			if s.q != nil {
				_ = s.q.Close()
			}
		}()
		return do(ctx, s)
	}
}

// open connects to the queue, which is made if it is new. If the configuration leaves the partitions open, the queue says how many.
// It goes by the queue's settings, whatever the configuration says of them: see firqredis.Settings.
func (s *session) open(ctx context.Context) error { return s.connect(ctx, true) }

// openKnown is open for commands that only look: it does not make a missing queue, but returns an error.
func (s *session) openKnown(ctx context.Context) error { return s.connect(ctx, false) }

func (s *session) connect(ctx context.Context, makes bool) (err error) {
	n, err := s.client.HGet(ctx, s.prefix(0)+":cfg", "partitions").Int()
	switch {
	case errors.Is(err, redis.Nil) && !makes:
		return fmt.Errorf("%w: queue %q at %s", firqredis.ErrNotFound, s.conf.Queue.Name, s.conf.Redis.Addr)
	case errors.Is(err, redis.Nil):
		n = 1
	case err != nil:
		return fmt.Errorf("%s: %w", s.conf.Redis.Addr, err)
	}
	s.conf.Queue.Partitions = cmp.Or(s.conf.Queue.Partitions, n)
	c := config.Queued[payload](&s.conf, s.client, codec{})
	c.MaxQueued, c.MaxQueuedPerTenant, c.MaxInFlight, c.MaxInFlightPerTenant, c.PriorityAging, c.DeadLetters = 0, 0, 0, 0, 0, firqredis.Retention{}
	s.q, err = firqredis.New(ctx, c)
	return err
}

// prefix begins the keys of a partition.
func (s *session) prefix(partition int) string {
	return fmt.Sprintf("fq:{%s:%d}", s.conf.Queue.Name, partition)
}

// eachPrimary calls f for each server that has keys, one after the other.
func (s *session) eachPrimary(ctx context.Context, f func(ctx context.Context, db redis.Cmdable) error) error {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return f(ctx, s.client)
	}
	one := make(chan struct{}, 1) // ForEachMaster calls at the same time
	return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		one <- struct{}{}
		defer func() { <-one }()
		return f(ctx, c)
	})
}

// scan calls f for the server's keys that match.
func scan(ctx context.Context, db redis.Cmdable, match string, f func(keys []string) error) error {
	var cursor uint64
	for {
		keys, next, err := db.Scan(ctx, cursor, match, 1000).Result()
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if err := f(keys); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// literal returns a pattern of SCAN that matches the text only.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
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
