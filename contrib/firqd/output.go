package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/urfave/cli/v3"
)

// printf prints. An error of the output cannot be reported: there is no other output.
func printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// show prints a value: as JSON with --json, else as text.
func (p *program) show(cmd *cli.Command, value any, text func(w io.Writer)) error {
	if !cmd.Bool("json") {
		text(p.out)
		return nil
	}
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// table prints rows in columns. The first row is the head.
func table(w io.Writer, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = clean(row[i])
		}
		printf(tw, "%s\n", strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = tw.Flush() // see printf
}

// clean replaces control characters, which could move the cursor or worse: names and reasons come from strangers.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, text)
}

// short returns a duration with three digits or so.
func short(d time.Duration) string {
	switch a := d.Abs(); {
	case a >= 100*time.Second:
		return d.Round(time.Second).String()
	case a >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case a >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// yes returns word if is is true, else "".
func yes(is bool, word string) string {
	if is {
		return word
	}
	return ""
}

func watchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "watch", Category: output, Usage: "show it again and again, until Ctrl-C"},
		&cli.DurationFlag{Name: "every", Category: output, Value: time.Second, Usage: "with --watch: after this time"},
	}
}

// watched runs a function once, or with --watch until Ctrl-C. With --watch a server that is away is tried again.
func (s *session) watched(ctx context.Context, do func() error) error {
	if !s.cmd.Bool("watch") {
		return do()
	}
	every := s.cmd.Duration("every")
	if every < 100*time.Millisecond || every > time.Hour {
		return misuse(s.cmd, fmt.Errorf("--every: %v, must be 100ms to 1h", every))
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		if s.terminal() && !s.cmd.Bool("json") {
			printf(s.out, "\x1b[H\x1b[2J")
		}
		if err := do(); err != nil && ctx.Err() == nil {
			printf(s.err, "firqd: %s; trying again\n", clean(err.Error()))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// terminal reports whether the output is a terminal.
func (p *program) terminal() bool {
	f, ok := p.out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
