package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/queue"
)

type letter = queue.DeadLetter[payload]

func filterFlags(most int) []cli.Flag {
	const which = "Which"
	text := "all"
	if most > 0 {
		text = ""
	}
	return []cli.Flag{
		&cli.StringFlag{Name: "tenant", Aliases: []string{"t"}, Category: which, Usage: "those of the tenant `NAME`"},
		&cli.StringFlag{Name: "reason", Category: which, Usage: "those whose reason has `TEXT` in it"},
		&cli.StringFlag{Name: "after", Category: which, Usage: "those that died at `TIME` (RFC 3339, or so long ago: 2h) or later"},
		&cli.StringFlag{Name: "before", Category: which, Usage: "those that died before `TIME`"},
		&cli.IntFlag{Name: "limit", Category: which, Value: most, DefaultText: text, Usage: "`N` at most, the oldest; 0: all"},
	}
}

func (p *program) dlqCommand() *cli.Command {
	all := &cli.BoolFlag{Name: "all", Category: "Which", Usage: "all of them"}
	return &cli.Command{
		Name:  "dlq",
		Usage: "look at dead letters, requeue and purge them",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list dead letters, the oldest first",
				Description: "With --json: a list of queue.DeadLetter; Payload is null if it is not JSON, Raw is base64.\n\n" +
					"Example:\n   firqd dlq list --tenant alice --after 2h",
				Flags: filterFlags(100), Action: p.with(listDead),
			},
			{
				Name: "show", Usage: "show dead letters with their payloads", ArgsUsage: "ID...",
				Description: "Example:\n   firqd dlq show order-17", Action: p.with(showDead),
			},
			{
				Name: "requeue", Usage: "queue dead letters as new", ArgsUsage: "[ID...]",
				Description: "Attempts are counted from 1 again, and no limit stops them. Takes ids, or flags that choose, or --all.\n\n" +
					"Examples:\n   firqd dlq requeue order-17\n   firqd dlq requeue --reason timeout --before 1h",
				Flags: append(filterFlags(0), all), Action: p.with(requeue),
			},
			{
				Name: "purge", Usage: "remove dead letters for good", ArgsUsage: "[ID...]",
				Description: "Takes ids, or flags that choose, or --all, which asks if it is typed at a terminal.\n\nExamples:\n   firqd dlq purge order-17\n   firqd dlq purge --before 168h",
				Flags:       append(filterFlags(0), all), Action: p.with(purge),
			},
		},
	}
}

// filter makes a filter of the flags. Its errors are the user's.
func filter(cmd *cli.Command) (f queue.Filter, err error) {
	f = queue.Filter{Tenant: cmd.String("tenant"), Reason: cmd.String("reason"), Limit: cmd.Int("limit")}
	if cmd.NArg() > 0 {
		f.IDs = cmd.Args().Slice()
	}
	for name, to := range map[string]*time.Time{"after": &f.After, "before": &f.Before} {
		text := cmd.String(name)
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			*to = time.Now().Add(-d)
		} else if *to, err = timeFlag(cmd, name); err != nil {
			return f, err
		}
	}
	if f.Limit < 0 {
		return f, misuse(cmd, fmt.Errorf("--limit: %d, must not be negative", f.Limit))
	}
	return f, nil
}

// chosen is filter for what changes something: it wants to be told what.
func chosen(cmd *cli.Command) (f queue.Filter, err error) {
	if f, err = filter(cmd); err != nil {
		return f, err
	}
	flags := false
	for _, name := range []string{"tenant", "reason", "after", "before", "limit"} {
		flags = flags || cmd.IsSet(name)
	}
	ways := 0
	for _, way := range []bool{flags, len(f.IDs) > 0, cmd.Bool("all")} {
		if way {
			ways++
		}
	}
	if ways != 1 {
		return f, misuse(cmd, fmt.Errorf("%s needs at least one ID, or flags that choose, or else --all", cmd.Name))
	}
	return f, nil
}

// letters returns the dead letters that there are.
func (s *session) letters(ctx context.Context, f queue.Filter) ([]letter, error) {
	all := []letter{}
	for d, err := range s.q.DeadLetters(ctx, f) {
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// missing returns ErrNotFound for each id that is not among the letters.
func missing(ids []string, all []letter) error {
	var errs []error
	there := map[string]bool{}
	for i := range all {
		there[all[i].ID] = true
	}
	for _, id := range ids {
		if !there[id] {
			errs = append(errs, fmt.Errorf("%w: dead letter %q", queue.ErrNotFound, id))
		}
	}
	return errors.Join(errs...)
}

func listDead(ctx context.Context, s *session) error {
	f, err := filter(s.cmd)
	if err == nil {
		err = between(s.cmd, 0, 0, "")
	}
	if err == nil {
		err = s.openKnown(ctx)
	}
	if err != nil {
		return err
	}
	all, err := s.letters(ctx, f)
	if err != nil {
		return err
	}
	return s.show(s.cmd, all, func(w io.Writer) {
		if len(all) == 0 {
			printf(w, "no dead letters\n")
			return
		}
		rows := [][]string{{"ID", "TENANT", "ATTEMPTS", "DIED", "REASON"}}
		for i := range all {
			d := &all[i]
			reason, _, _ := strings.Cut(d.Reason, "\n")
			rows = append(rows, []string{d.ID, d.Tenant, strconv.Itoa(d.Attempts), d.DiedAt.Local().Format(time.DateTime), reason})
		}
		table(w, rows)
		if f.Limit > 0 && len(all) == f.Limit {
			printf(w, "(there may be more: see --limit)\n")
		}
	})
}

func showDead(ctx context.Context, s *session) error {
	if err := between(s.cmd, 1, -1, "at least one ID"); err != nil {
		return err
	}
	if err := s.openKnown(ctx); err != nil {
		return err
	}
	ids := s.cmd.Args().Slice()
	all, err := s.letters(ctx, queue.Filter{IDs: ids})
	if err != nil {
		return err
	}
	err = s.show(s.cmd, all, func(w io.Writer) {
		for i := range all {
			d := &all[i]
			table(w, [][]string{
				{"id", d.ID}, {"tenant", d.Tenant}, {"attempts", strconv.Itoa(d.Attempts)}, {"died", d.DiedAt.Local().Format(time.RFC3339)},
				{"priority", d.Priority.String()}, {"cost", strconv.FormatInt(d.Cost, 10)}, {"reason", d.Reason}, {"payload", string(d.Raw)},
			})
			for k, v := range d.Headers {
				printf(w, "header    %s=%s\n", clean(k), clean(v))
			}
			printf(w, "\n")
		}
	})
	return errors.Join(missing(ids, all), err)
}

func requeue(ctx context.Context, s *session) error {
	f, err := chosen(s.cmd)
	if err == nil {
		err = s.openKnown(ctx)
	}
	if err != nil {
		return err
	}
	ids := slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	given := len(ids) > 0
	if !given {
		for d, err := range s.q.DeadLetters(ctx, f) {
			if err != nil {
				return err
			}
			ids = append(ids, d.ID)
		}
	}
	n := 0
	var errs []error
	for some := range slices.Chunk(ids, atOnce) {
		err := s.q.Requeue(ctx, some...)
		gone := countErrors(err)
		if err != nil && gone == 0 {
			errs = append(errs, err)
			break
		}
		n += len(some) - gone
		if given { // else another call was faster
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, s.shown("requeued", n))...)
}

// countErrors returns for how many tasks a call has failed because they are not there.
func countErrors(err error) (n int) {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return 0
	}
	for _, err := range many.Unwrap() {
		if errors.Is(err, queue.ErrNotFound) {
			n++
		}
	}
	return n
}

// shown says for how many something was done.
func (s *session) shown(what string, n int) error {
	return s.show(s.cmd, map[string]int{title(what): n}, func(w io.Writer) { printf(w, "%s %d\n", what, n) })
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func purge(ctx context.Context, s *session) error {
	f, err := chosen(s.cmd)
	if err == nil {
		err = s.openKnown(ctx)
	}
	if err != nil {
		return err
	}
	if s.cmd.Bool("all") {
		if err := s.sure(ctx); err != nil {
			return err
		}
	}
	var gone error
	if len(f.IDs) > 0 {
		all, err := s.letters(ctx, f)
		if err != nil {
			return err
		}
		gone = missing(f.IDs, all)
	}
	n, err := s.q.Purge(ctx, f)
	return errors.Join(gone, err, s.shown("purged", n))
}

// sure asks the user whether all dead letters are to go.
func (s *session) sure(ctx context.Context) error {
	f, ok := s.in.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	st, err := s.q.Stats(ctx)
	if err != nil {
		return err
	}
	return s.answer(ctx, fmt.Sprintf("purge all %d dead letters of the queue %s for good? [y/N] ", st.DeadLetters, clean(s.conf.Queue.Name)))
}

var errNo = errors.New("nothing was done")

// answer asks, and returns errNo if the answer is not yes.
func (s *session) answer(ctx context.Context, question string) error {
	printf(s.err, "%s", question)
	text, err := bufio.NewReader(&untilDone{ctx, s.in}).ReadString('\n')
	if text = strings.ToLower(strings.TrimSpace(text)); text == "y" || text == "yes" {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return errNo
}
