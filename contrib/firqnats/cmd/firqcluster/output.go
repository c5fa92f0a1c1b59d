package main

import (
	"encoding/json"
	"fmt"
	"io"
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

// clean replaces control characters, which could move the cursor or worse: keys and names come from strangers.
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

// ago returns how long ago a time was, in whole seconds.
func ago(t time.Time) string { return time.Since(t).Round(time.Second).String() }
