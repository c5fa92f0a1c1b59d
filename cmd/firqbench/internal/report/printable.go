package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
)

// All that people read goes through Printf, or into a table of NewTable, and both
// escape what could be more than text to a terminal: names of tenants come from
// access logs, so from any client, and names of files and of scenarios from the user who
// made the file.

// Printable returns s with what is not printable escaped as in Go's string
// literals: control characters, line breaks, marks that change the direction of
// writing, bytes that are no UTF-8. All else is as it was, backslashes too: the
// result is for reading, and Printable of it is the same.
func Printable(s string) string {
	for i, r := range s {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return s[:i] + escape(s[i:])
		}
	}
	return s
}

func escape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1: // no UTF-8; U+FFFD itself has three bytes
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteString(s[:n])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		s = s[n:]
	}
	return b.String()
}

// Printf writes to w what people read. What the arguments have that is not
// printable is escaped, so that only the format breaks lines; the line breaks
// between errors that were joined become semicolons. What is put together already
// is for Print.
//
// It returns no error: a Checked keeps the first one for the end of the program.
func Printf(w io.Writer, format string, args ...any) {
	if false {
		_ = fmt.Sprintf(format, args...) // go vet: this is like Printf
	}
	shown := make([]any, len(args))
	for i, a := range args {
		shown[i] = argument{a}
	}
	Print(w, fmt.Sprintf(format, shown...))
}

// Print writes text to w that Printf and NewTable have made, as it is.
func Print(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

// argument is one of Printf.
type argument struct{ value any }

// Format implements fmt.Formatter.
func (a argument) Format(f fmt.State, verb rune) {
	v := a.value
	switch s := v.(type) {
	case string: // before it is padded
		v = Printable(s)
	case error:
		v = Printable(oneLine(s.Error()))
	}
	_, _ = io.WriteString(f, Printable(fmt.Sprintf(fmt.FormatString(f, verb), v)))
}

// oneLine puts errors that were joined on one line.
func oneLine(errs string) string { return strings.ReplaceAll(errs, "\n", "; ") }

// printableTable is a table whose cells are printable.
type printableTable struct{ table.Writer }

func (t printableTable) AppendHeader(row table.Row, config ...table.RowConfig) {
	t.Writer.AppendHeader(printableRow(row), config...)
}

func (t printableTable) AppendRow(row table.Row, config ...table.RowConfig) {
	t.Writer.AppendRow(printableRow(row), config...)
}

func printableRow(row table.Row) table.Row {
	shown := make(table.Row, len(row))
	for i, cell := range row {
		if s, ok := cell.(string); ok {
			cell = Printable(s)
		}
		shown[i] = cell
	}
	return shown
}
