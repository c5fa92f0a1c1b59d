package report

import (
	"io"
	"slices"
	"strings"
)

// Row writes a row of a table in Markdown.
func Row(w io.Writer, cells ...string) { Printf(w, "| %s |\n", strings.Join(cells, " | ")) }

// Heading begins such a table.
func Heading(w io.Writer, cells ...string) {
	Row(w, cells...)
	Row(w, slices.Repeat([]string{"---"}, len(cells))...)
}
