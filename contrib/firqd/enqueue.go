package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

const theTask = "The task"

// taskFlags are the flags of tasks and of schedules.
func taskFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "tenant", Aliases: []string{"t"}, Category: theTask, Usage: "`NAME` of whose it is", DefaultText: queue.DefaultName},
		&cli.StringFlag{Name: "unique-key", Category: theTask, Usage: "refuse it while another task of the tenant with this `KEY` is known"},
		&cli.DurationFlag{Name: "unique-for", Category: theTask, Usage: "for so long from now on", DefaultText: "until the other one has ended"},
		&cli.Int64Flag{Name: "cost", Category: theTask, Usage: "it counts `N` for its tenant", DefaultText: "1"},
		&cli.StringFlag{Name: "priority", Category: theTask, Usage: "`P` is 1 to 6, or very-low, low, normal, high, very-high, critical", DefaultText: "normal"},
		&cli.DurationFlag{Name: "delay", Category: theTask, Usage: "it is due after this time"},
		&cli.StringFlag{Name: "deadline", Category: theTask, Usage: "drop it if it has not been delivered by `TIME` (RFC 3339)"},
		&cli.DurationFlag{Name: "ttl", Category: theTask, Usage: "the same, after this time; of a schedule's task, after it has fired"},
		&cli.DurationFlag{Name: "keep-result", Category: theTask, Usage: "keep it, with its result, for this time after it is done"},
		&cli.IntFlag{Name: "max-attempts", Category: theTask, Usage: "deliver it `N` times at most", DefaultText: "the queue's"},
		&cli.StringSliceFlag{Name: "header", Category: theTask, Usage: "`KEY=VALUE`; may be given several times"},
	}
}

func (p *program) enqueueCommand() *cli.Command {
	return &cli.Command{
		Name:      "enqueue",
		Usage:     "queue tasks",
		ArgsUsage: "PAYLOAD... | -",
		Description: "Queues a task for each PAYLOAD, which is JSON; \"-\" reads them from the input, one JSON value after\n" +
			"the other. Prints the ids, one per line; with --json an object with ID and Err for each.\n\n" +
			"Examples:\n" +
			"   firqd enqueue --tenant alice '{\"mail\": 17}'\n" +
			"   firqd enqueue --id order-17 --priority high '\"pack\"'\n" +
			"   jq -c '.[]' work.json | firqd enqueue --tenant batch -",
		Flags: append(taskFlags(),
			&cli.StringFlag{Name: "id", Category: theTask, Usage: "`ID` of the task; the same again is the same task", DefaultText: "made"},
			&cli.StringFlag{Name: "at", Category: theTask, Usage: "it is due at `TIME` (RFC 3339)"}),
		Action: p.with(enqueue),
	}
}

// taskOf makes a task of the flags. Its errors are the user's.
func taskOf(cmd *cli.Command) (t queue.Task[payload], err error) {
	t = queue.Task[payload]{
		Tenant: cmd.String("tenant"), UniqueKey: cmd.String("unique-key"), UniqueFor: cmd.Duration("unique-for"),
		Cost: cmd.Int64("cost"), Delay: cmd.Duration("delay"), MaxAttempts: cmd.Int("max-attempts"),
		TTL: cmd.Duration("ttl"), KeepResult: cmd.Duration("keep-result"),
	}
	if t.Priority, err = priority(cmd.String("priority")); err != nil {
		return t, misuse(cmd, err)
	}
	if t.Deadline, err = timeFlag(cmd, "deadline"); err != nil {
		return t, err
	}
	for _, h := range cmd.StringSlice("header") {
		k, v, ok := strings.Cut(h, "=")
		if !ok || k == "" {
			return t, misuse(cmd, fmt.Errorf("--header: %q, must be KEY=VALUE", h))
		}
		if t.Headers == nil {
			t.Headers = map[string]string{}
		}
		t.Headers[k] = v
	}
	return t, nil
}

func priority(text string) (firq.Priority, error) {
	if text == "" {
		return 0, nil
	}
	for p := firq.PriorityVeryLow; p <= firq.PriorityCritical; p++ {
		if text == p.String() || text == strconv.Itoa(int(p)) {
			return p, nil
		}
	}
	return 0, fmt.Errorf("--priority: %q, must be 1 to 6, or very-low, low, normal, high, very-high, critical", text)
}

// timeFlag reads a point in time; zero if it is not given.
func timeFlag(cmd *cli.Command, name string) (time.Time, error) {
	text := cmd.String(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, misuse(cmd, fmt.Errorf("--%s: %q, must be a time such as 2026-01-31T15:04:05Z", name, text))
	}
	return t, nil
}

// atOnce is how many tasks are read before they are queued.
const atOnce = 500

func enqueue(ctx context.Context, s *session) error {
	t, err := taskOf(s.cmd)
	if err != nil {
		return err
	}
	t.ID = s.cmd.String("id")
	if t.At, err = timeFlag(s.cmd, "at"); err != nil {
		return err
	}
	args := s.cmd.Args().Slice()
	stdin := slices.Equal(args, []string{"-"})
	switch {
	case len(args) == 0:
		return misuse(s.cmd, errors.New("enqueue needs a PAYLOAD, or - to read them from the input"))
	case t.ID != "" && (stdin || len(args) > 1):
		return misuse(s.cmd, errors.New("--id: is for one PAYLOAD"))
	case stdin:
		if err := s.open(ctx); err != nil {
			return err
		}
		return s.enqueueAll(ctx, t)
	}
	ts := make([]queue.Task[payload], len(args))
	for i, a := range args {
		if check([]byte(a)) != nil {
			return misuse(s.cmd, fmt.Errorf("PAYLOAD %d: %q is not valid JSON (a string needs quotes: '\"text\"')", i+1, a))
		}
		ts[i] = t
		ts[i].Payload = payload(a)
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.enqueueSome(ctx, ts)
}

// enqueueAll queues the tasks that it reads from the input.
func (s *session) enqueueAll(ctx context.Context, t queue.Task[payload]) error {
	dec := json.NewDecoder(&untilDone{ctx, s.in})
	for n := 1; ; {
		var ts []queue.Task[payload]
		var err error
		for ; len(ts) < atOnce && err == nil; n++ {
			t.Payload = nil
			if err = dec.Decode(&t.Payload); err == nil {
				ts = append(ts, t)
			}
		}
		if len(ts) > 0 { // those before what cannot be read
			if err := s.enqueueSome(ctx, ts); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			return misuse(s.cmd, fmt.Errorf("PAYLOAD %d of the input: %w", n-1, err))
		}
	}
}

// untilDone is a reader that ends with a context, whatever the input does.
type untilDone struct {
	ctx context.Context
	in  io.Reader
}

func (u *untilDone) Read(b []byte) (int, error) {
	type read struct {
		data []byte
		err  error
	}
	got := make(chan read, 1)
	go func() { // left behind if the context ends first: a terminal cannot be interrupted
		data := make([]byte, len(b))
		n, err := u.in.Read(data)
		got <- read{data[:n], err}
	}()
	select {
	case r := <-got:
		return copy(b, r.data), r.err
	case <-u.ctx.Done():
		return 0, u.ctx.Err()
	}
}

// outcome is queue.Result as JSON.
type outcome struct {
	ID  string
	Err string
}

func (s *session) enqueueSome(ctx context.Context, ts []queue.Task[payload]) error {
	rs, err := s.q.EnqueueBatch(ctx, ts)
	for _, r := range rs {
		o := outcome{ID: r.ID}
		if r.Err != nil {
			o.Err = r.Err.Error()
		}
		if s.cmd.Bool("json") {
			if err := s.show(s.cmd, o, nil); err != nil {
				return err
			}
		} else if r.Err == nil {
			printf(s.out, "%s\n", clean(r.ID))
		}
	}
	return err
}

func (p *program) cancelCommand() *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "take tasks back",
		ArgsUsage: "ID...",
		Description: "Removes tasks that are queued or delayed. Those in flight are marked: their workers' contexts are\n" +
			"cancelled with the next heartbeat. Dead letters are not found: see \"firqd dlq purge\".\n\n" +
			"Example:\n" +
			"   firqd cancel order-17",
		Action: p.with(func(ctx context.Context, s *session) error {
			if err := between(s.cmd, 1, -1, "at least one ID"); err != nil {
				return err
			}
			if err := s.open(ctx); err != nil {
				return err
			}
			var errs []error
			done := []string{}
			for _, id := range s.cmd.Args().Slice() {
				if err := s.q.Cancel(ctx, id); err != nil {
					errs = append(errs, err)
					continue
				}
				done = append(done, id)
			}
			err := s.show(s.cmd, map[string][]string{"Cancelled": done}, func(w io.Writer) {
				for _, id := range done {
					printf(w, "cancelled %s\n", clean(id))
				}
			})
			return errors.Join(append(errs, err)...)
		}),
	}
}
