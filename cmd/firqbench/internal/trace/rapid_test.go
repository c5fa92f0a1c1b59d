package trace

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// row is a request with its tenant's name, as it stands in a file.
type row struct {
	tenant string
	Request
}

// rows are the trace's requests as rows.
func rows(tr *Trace) (list []row) {
	for _, r := range tr.Requests {
		name := tr.Tenants[r.Tenant]
		r.Tenant = 0
		list = append(list, row{name, r})
	}
	return list
}

// write is the inverse of Read, in the given order of columns.
func write(list []row, order []int) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	line := func(fields [5]string) {
		var placed []string
		for _, c := range order {
			placed = append(placed, fields[c])
		}
		_ = w.Write(placed) // to memory
	}
	line([5]string(columns))
	for _, r := range list {
		line([5]string{
			decimal(r.At), r.tenant, strconv.FormatInt(r.Cost, 10),
			strconv.Itoa(int(r.Priority)), decimal(r.Life),
		})
	}
	w.Flush()
	return b.String()
}

func decimal(d time.Duration) string { return fmt.Sprintf("%d.%06d", d/ms, d%ms) }

// sameRows compares up to what a float64 of milliseconds, cut to whole ns, can
// hold of a time.
func sameRows(got, want []row) error {
	near := func(a, b time.Duration) bool {
		return math.Abs(float64(a)-float64(b)) <= 2+float64(b)/(1<<50)
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d requests, want %d", len(got), len(want))
	}
	for i, r := range got {
		w := want[i]
		if r.tenant != w.tenant || r.Cost != w.Cost || r.Priority != w.Priority || !near(r.At, w.At) || !near(r.Life, w.Life) {
			return fmt.Errorf("request %d: got %+v, want %+v", i, r, w)
		}
	}
	return nil
}

var someRow = rapid.Custom(func(t *rapid.T) row {
	someTime := rapid.OneOf(
		rapid.Map(rapid.Int64Range(0, 20), func(n int64) time.Duration { return time.Duration(n) * ms }),
		rapid.Map(rapid.Int64Range(0, maxMs*1000), func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }),
	)
	name := rapid.Map(rapid.StringMatching(`[a-z"',;:=<>\\ äöü]{1,6}`), func(s string) string {
		return "<" + strings.TrimSpace(s) + ">" // never empty, no spaces around it
	})
	return row{name.Draw(t, "tenant"), Request{
		At: someTime.Draw(t, "at"), Life: someTime.Draw(t, "life"),
		Cost:     rapid.OneOf(rapid.Int64Range(1, 9), rapid.Int64Range(1, maxCost)).Draw(t, "cost"),
		Priority: rapid.Uint8Range(0, 6).Draw(t, "priority"),
	}}
})

// Whatever is written is read again, sorted and beginning at 0, with the columns
// in any order, blank lines, a mark, any ends of lines, compressed or not.
func TestReadWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(someRow, 1, 20).Draw(t, "rows")
		text := write(want, rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "order"))
		slices.SortStableFunc(want, func(a, b row) int { return int(min(max(a.At-b.At, -1), 1)) })
		for i := len(want) - 1; i >= 0; i-- {
			want[i].At -= want[0].At
		}
		for _, change := range []struct{ what, from, to string }{
			{"CRLF", "\n", "\r\n"}, {"blank lines", "\n", "\n \t\n"}, {"spaces", "\n", "  \n\t"},
		} {
			if rapid.Bool().Draw(t, change.what) {
				text = strings.ReplaceAll(text, change.from, change.to)
			}
		}
		if rapid.Bool().Draw(t, "mark") {
			text = "\ufeff" + text
		}
		if rapid.Bool().Draw(t, "gzip") {
			text = zipped(text)
		}
		got, err := read(text)
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		if err := sameRows(rows(got), want); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
	})
}

// A line that is wrong in one place is an error that names the line and the
// column, wherever it stands.
func TestReadNamesTheLine(t *testing.T) {
	wrong := map[string][]string{
		"at_ms":       {"-1", "-0.001", "9000000000001", "NaN", "Inf", "x", ""},
		"tenant":      {"", "   "},
		"cost":        {"-1", "1.5", "", "x", strconv.FormatInt(maxCost+1, 10)},
		"priority":    {"7", "-1", "256", "262", "x", "1.0"},
		"deadline_ms": {"-1", "NaN", "-Inf", "9000000000001", "x"},
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(someRow, 0, 5).Draw(t, "rows before")
		lines := strings.SplitAfter(write(list, []int{0, 1, 2, 3, 4}), "\n")
		lines = lines[:len(lines)-1]
		for range rapid.IntRange(0, 3).Draw(t, "blank lines before") {
			lines = append(lines, "\n")
		}
		column := rapid.SampledFrom(columns).Draw(t, "column")
		values := []string{"1", "a", "2", "", "3"}
		values[slices.Index(columns, column)] = rapid.SampledFrom(wrong[column]).Draw(t, "value")
		lines = append(lines, strings.Join(values, ",")+"\n", "5,b,0,0,0\n")
		_, err := read(strings.Join(lines, ""))
		want := fmt.Sprintf("file:%d: %s: ", len(lines)-1, column)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Fatalf("got %v, want %q for %q", err, want, lines[len(lines)-2])
		}
	})
}

// place is how errors begin: file and line, or only the file if it cannot be
// unpacked.
var place = regexp.MustCompile(`^file:(\d+): `)

// errorNamesALine says whether an error names a line that the text has, or the
// one after, or that the text cannot be unpacked.
func errorNamesALine(err error, text []byte) bool {
	packed := bytes.HasPrefix(text, []byte("\x1f\x8b"))
	m := place.FindStringSubmatch(err.Error())
	if m == nil {
		return packed && strings.HasPrefix(err.Error(), "file: ")
	}
	n, convErr := strconv.Atoi(m[1])
	return convErr == nil && (packed || n <= bytes.Count(text, []byte("\n"))+1)
}

// endless is a text without end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// A line without end is given up after maxLine bytes, compressed or not; what
// comes after is neither read nor kept.
func TestReadBoundsTheLine(t *testing.T) {
	packed := zipped(strings.Repeat("0", 8*maxLine))
	for name, r := range map[string]io.Reader{
		"plain":          endless('x'),
		"after a header": io.MultiReader(strings.NewReader(Header+"\n"), endless(',')),
		"quoted":         io.MultiReader(strings.NewReader(Header+"\n0,\""), endless('"')),
		"gzip":           strings.NewReader(packed),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(r, "file")
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "the line is longer than") {
			t.Errorf("%s: %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 4*maxLine {
			t.Errorf("%s: %d bytes allocated for a line of at most %d", name, got, maxLine)
		}
	}
}
