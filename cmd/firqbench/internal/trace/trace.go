// Package trace reads recorded traffic: which tenants asked for how much, and when.
//
// Two formats are known, told apart by the first line; either may be compressed
// with gzip, told by its content, whatever the file is called:
//
//   - CSV with a header, at_ms,tenant,cost[,priority,deadline_ms]. at_ms and
//     deadline_ms are milliseconds and may have decimals; cost is a whole number;
//     priority is 1 to 6; deadline_ms is how long after its arrival the request
//     is of use. Priority and deadline may be empty or 0: none.
//   - Common Log Format, and the combined format that extends it: the tenant is
//     the client, the cost the size of the response in KiB, rounded up.
package trace

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Request is one line of a trace.
type Request struct {
	At       time.Duration // since the first request
	Tenant   int           // index in Trace.Tenants
	Cost     int64         // at least 1
	Priority uint8         // 0: none given
	Life     time.Duration // the deadline, since At; 0: none given
}

// Trace is a whole file, in order of arrival.
type Trace struct {
	Name     string
	Requests []Request
	Tenants  []string // in order of first appearance in the file

	index map[string]int // while reading
}

const (
	// maxRequests bounds the memory that a trace takes.
	maxRequests = 1 << 24
	// maxCost is far above any response, and far below an overflow of sums.
	maxCost = 1 << 38
	// maxLine is the longest line of a log that is read.
	maxLine = 1 << 20
	// maxName is the longest name of a tenant: all of them are kept.
	maxName = 256
	// maxMs is what a time.Duration can hold (292 years), with some room.
	maxMs = 9e12
)

// Header is the first line of the CSV format, in full.
const Header = "at_ms,tenant,cost,priority,deadline_ms"

// ReadFile reads the trace in a file. Its errors name file and line.
func ReadFile(path string) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return Read(f, path)
}

// Read reads a trace; name is what errors call it.
func Read(r io.Reader, name string) (*Trace, error) {
	plain, err := unpack(bufio.NewReader(r))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := &Trace{Name: name, index: make(map[string]int)}
	if err := t.parse(plain); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	t.arrange()
	return t, nil
}

// unpack looks for gzip's magic number.
func unpack(r *bufio.Reader) (*bufio.Reader, error) {
	magic, _ := r.Peek(2) // a shorter file is not compressed
	if string(magic) != "\x1f\x8b" {
		return r, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return bufio.NewReader(z), nil
}

// parse finds the format by the first line that is not blank. Its errors begin
// with the line's number.
func (t *Trace) parse(r *bufio.Reader) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	var parse func(string) error
	n := 0
	for s.Scan() {
		n++
		line := s.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // spreadsheets put a mark there
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var err error
		if parse == nil {
			parse, err = t.format(line)
		} else {
			err = parse(line)
		}
		if err == nil && len(t.Requests) > maxRequests {
			err = fmt.Errorf("more than %d requests", maxRequests)
		}
		if err != nil {
			return fmt.Errorf("%d: %w", n, err)
		}
	}
	if err := s.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("the line is longer than %d bytes", maxLine)
		}
		return fmt.Errorf("%d: %w", n+1, err)
	}
	if len(t.Requests) == 0 {
		return fmt.Errorf("%d: there is no request in the file", n)
	}
	return nil
}

// format returns the parser for the lines after the first one.
func (t *Trace) format(first string) (func(string) error, error) {
	if names, err := fields(first); err == nil && slices.ContainsFunc(names, isTime) {
		return t.csv(first)
	}
	clf := t.commonLog()
	if err := clf(first); err != nil {
		return nil, fmt.Errorf("neither the header of a CSV trace (%s; the last two are optional) nor Common Log Format: %w", Header, err)
	}
	return clf, nil
}

func isTime(column string) bool { return strings.EqualFold(strings.TrimSpace(column), "at_ms") }

// add adds a request of the named tenant.
func (t *Trace) add(tenant string, r Request) error {
	if len(tenant) > maxName {
		return fmt.Errorf("tenant: a name of %d bytes, must be at most %d", len(tenant), maxName)
	}
	i, ok := t.index[tenant]
	if !ok {
		i = len(t.Tenants)
		tenant = strings.Clone(tenant) // not the whole line
		t.Tenants = append(t.Tenants, tenant)
		t.index[tenant] = i
	}
	r.Tenant = i
	t.Requests = append(t.Requests, r)
	return nil
}

// arrange sorts the requests by time (servers log them when they end, so they
// are nearly but not quite in order) and lets the first arrive at 0.
func (t *Trace) arrange() {
	t.index = nil
	slices.SortStableFunc(t.Requests, func(a, b Request) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	first := t.Requests[0].At
	for i := range t.Requests {
		t.Requests[i].At -= first
	}
}

// Span returns when the last request arrives.
func (t *Trace) Span() time.Duration { return t.Requests[len(t.Requests)-1].At }

// Cost returns the cost of all requests together.
func (t *Trace) Cost() (sum int64) {
	for _, r := range t.Requests {
		sum += r.Cost
	}
	return sum
}
