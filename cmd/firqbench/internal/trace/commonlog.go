package trace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// commonLog returns the parser for lines of the Common Log Format,
//
//	client ident user [02/Jan/2006:15:04:05 -0700] "GET / HTTP/1.1" 200 1234
//
// and of formats that append fields to it. Times are kept since the first line,
// so that a Duration holds them; a line may be earlier than the first.
func (t *Trace) commonLog() func(string) error {
	var first time.Time
	return func(line string) error {
		client, rest, ok := strings.Cut(line, " ")
		if !ok {
			return errors.New("no field after the client")
		}
		_, rest, ok = strings.Cut(rest, "[")
		if !ok {
			return errors.New("no [time]")
		}
		stamp, rest, ok := strings.Cut(rest, "] ")
		if !ok {
			return errors.New("no ] after the time")
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", stamp)
		if err != nil {
			return fmt.Errorf("time: %q is not like 02/Jan/2006:15:04:05 -0700", stamp)
		}
		rest, err = afterQuoted(rest)
		if err != nil {
			return err
		}
		status, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if _, err := strconv.ParseUint(status, 10, 16); err != nil && status != "-" {
			return fmt.Errorf("status: %q is not a number", status)
		}
		size, _, _ := strings.Cut(rest, " ")
		cost, err := kib(size)
		if err != nil {
			return err
		}
		if first.IsZero() {
			first = at
		}
		since := at.Sub(first)
		if since.Abs() > maxMs*time.Millisecond/2 {
			return fmt.Errorf("time: %q is centuries away from the first", stamp)
		}
		return t.add(client, Request{At: since, Cost: cost})
	}
}

// afterQuoted returns what follows the request, which is in quotes and has
// those in it escaped with a backslash.
func afterQuoted(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return "", errors.New(`no "request" after the time`)
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[i+1:], nil
		}
	}
	return "", errors.New(`no " at the end of the request`)
}

// kib returns a response's size in KiB, rounded up, at least 1; "-" is none.
func kib(size string) (int64, error) {
	if size == "-" {
		return 1, nil
	}
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("size: %q, must be a number of bytes or -", size)
	}
	n = n/1024 + min(1, n%1024)
	if n > maxCost {
		return 0, fmt.Errorf("size: %s bytes, must be at most %d KiB", size, int64(maxCost))
	}
	return max(1, n), nil
}
