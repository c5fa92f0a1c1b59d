package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

var columns = strings.Split(Header, ",")

// csv returns the parser for the lines below a header. The columns may come in
// any order; the last two may be missing.
func (t *Trace) csv(header string) (func(string) error, error) {
	names, err := fields(header)
	if err != nil {
		return nil, err
	}
	var place [5]int // column of file -> index in columns, inverted below
	for i := range place {
		place[i] = -1
	}
	for i, name := range names {
		c := slices.Index(columns, strings.ToLower(strings.TrimSpace(name)))
		if c < 0 {
			return nil, fmt.Errorf("unknown column %q; there are %s", name, Header)
		}
		if place[c] >= 0 {
			return nil, fmt.Errorf("column %q is there twice", columns[c])
		}
		place[c] = i
	}
	for c := range 3 {
		if place[c] < 0 {
			return nil, fmt.Errorf("column %q is missing", columns[c])
		}
	}
	return func(line string) error {
		values, err := fields(line)
		if err != nil {
			return err
		}
		if len(values) != len(names) {
			return fmt.Errorf("%d fields, the header has %d", len(values), len(names))
		}
		var row [5]string
		for c, i := range place {
			if i >= 0 {
				row[c] = strings.TrimSpace(values[i])
			}
		}
		return t.addRow(row)
	}, nil
}

// fields splits a line; quotes are needed only where there are quotes.
func fields(line string) ([]string, error) {
	if !strings.Contains(line, `"`) {
		return strings.Split(line, ","), nil
	}
	values, err := csv.NewReader(strings.NewReader(line)).Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return nil, fmt.Errorf("column %d: %w", parse.Column, parse.Err) // its line number is always 1
	}
	return values, err
}

// addRow adds what stands in the columns of Header.
func (t *Trace) addRow(row [5]string) error {
	var r Request
	var err error
	if r.At, err = milliseconds("at_ms", row[0]); err != nil {
		return err
	}
	if row[1] == "" {
		return errors.New("tenant: is empty")
	}
	if r.Cost, err = strconv.ParseInt(row[2], 10, 64); err != nil {
		return fmt.Errorf("cost: %q is not a whole number", row[2])
	}
	if r.Cost < 0 || r.Cost > maxCost {
		return fmt.Errorf("cost: %d, must be 0 to %d", r.Cost, int64(maxCost))
	}
	r.Cost = max(1, r.Cost) // as firq.Task has it
	if row[3] != "" {
		p, err := strconv.ParseUint(row[3], 10, 8)
		if err != nil || p > 6 {
			return fmt.Errorf("priority: %q, must be 1 (very low) to 6 (critical), or empty", row[3])
		}
		r.Priority = uint8(p)
	}
	if row[4] != "" {
		if r.Life, err = milliseconds("deadline_ms", row[4]); err != nil {
			return err
		}
	}
	return t.add(row[1], r)
}

// milliseconds parses a decimal number of them, not negative.
func milliseconds(column, s string) (time.Duration, error) {
	ms, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a number", column, s)
	}
	if !(ms >= 0 && ms <= maxMs) { // NaN neither
		return 0, fmt.Errorf("%s: %s, must be 0 to %.0e", column, s, float64(maxMs))
	}
	return time.Duration(math.Round(ms * float64(time.Millisecond))), nil
}
