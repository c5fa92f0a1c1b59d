// Package cron says when a schedule is due next, in a time zone, as cron(8) of Vixie and Debian does: a job
// of fixed times that falls into the gap of daylight saving runs at the end of the gap, one in the hour that
// comes twice runs once, the first time; jobs with `*` in the minute or the hour tick as real time does.
//
// The expressions themselves are a library's, which engines register. It only ever sees wall clocks, as times in UTC: what zones do
// is done here.
package cron

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// Parser reads an expression of six fields, the seconds first, and returns a function that returns the first wall clock after another one
// that matches.
type Parser func(expr string) (next func(after time.Time) (time.Time, error), err error)

var parser atomic.Pointer[Parser]

// Register sets the parser of expressions.
func Register(p Parser) { parser.Store(&p) }

// Spec is an expression in a zone.
type Spec struct {
	wall  func(after time.Time) (time.Time, error) // the next wall clock that matches
	ticks bool                                     // in real time
	zone  *time.Location
}

var macros = map[string]string{
	"@hourly":  "0 * * * *",
	"@daily":   "0 0 * * *",
	"@weekly":  "0 0 * * 0",
	"@monthly": "0 0 1 * *",
	"@yearly":  "0 0 1 1 *",
}

var year = regexp.MustCompile(`\d{3}`)

// Parse reads an expression of five fields, or of six with the seconds first, or a macro; zone "" is UTC. One
// that never fires is an error.
func Parse(expr, zone string) (*Spec, error) {
	if zone == "" {
		zone = "UTC"
	}
	at, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return nil, fmt.Errorf("zone %q is not known", zone)
	}
	full := strings.TrimSpace(expr)
	if m, ok := macros[full]; ok {
		full = m
	} else if strings.HasPrefix(full, "@") {
		return nil, fmt.Errorf("cron %q: not one of @hourly, @daily, @weekly, @monthly, @yearly", expr)
	}
	fields := strings.Fields(full)
	if len(fields) == 5 {
		fields = append([]string{"0"}, fields...)
	}
	if len(fields) != 6 {
		return nil, fmt.Errorf("cron %q: %d fields, want 5, or 6 with seconds first", expr, len(fields))
	}
	parse := parser.Load()
	if parse == nil {
		return nil, errors.New("no engine of package queue is linked, so nothing reads cron expressions")
	}
	s := &Spec{zone: at, ticks: strings.Contains(fields[1], "*") || strings.Contains(fields[2], "*")}
	if s.wall, err = (*parse)(strings.Join(fields, " ")); err != nil || year.MatchString(full) { // a library may take a seventh field for a year
		return nil, fmt.Errorf("cron %q is not valid", expr)
	}
	if _, err := s.wall(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		return nil, fmt.Errorf("cron %q: never fires", expr)
	}
	return s, nil
}

// errNever: not within a hundred changes of the clocks.
var errNever = errors.New("the schedule is not due any more")

// Next returns the first due time after t.
func (s *Spec) Next(t time.Time) (time.Time, error) {
	if s.ticks {
		return s.tick(t)
	}
	w := clock(t, offset(t, s.zone)).Truncate(time.Second).Add(-time.Second)
	for {
		var err error
		if w, err = s.wall(w); err != nil {
			return time.Time{}, err
		}
		if at := s.instant(w); at.After(t) {
			return at, nil
		}
	}
}

// tick is Next in real time: from one change of the clocks to the next.
func (s *Spec) tick(t time.Time) (time.Time, error) {
	for range 100 {
		off := offset(t, s.zone)
		w, err := s.wall(clock(t, off))
		if err != nil {
			return w, err
		}
		at := w.Add(-off).In(s.zone)
		_, end := t.In(s.zone).ZoneBounds()
		if end.IsZero() || at.Before(end) {
			return at, nil
		}
		// From the change on, the change included.
		off = offset(end, s.zone)
		if w, err = s.wall(clock(end, off).Add(-time.Second)); err != nil {
			return w, err
		}
		at = w.Add(-off).In(s.zone)
		if _, next := end.In(s.zone).ZoneBounds(); next.IsZero() || at.Before(next) {
			return at, nil
		}
		t = at.Add(-time.Second)
		if _, next := end.In(s.zone).ZoneBounds(); t.After(next) {
			t = next.Add(-time.Second)
		}
	}
	return time.Time{}, errNever
}

// offset returns by how much a zone's clocks are ahead of UTC.
func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// clock returns the wall clock of t, as a time in UTC.
func clock(t time.Time, offset time.Duration) time.Time { return t.UTC().Add(offset) }

// instant returns when the clocks of the zone show w: the first time, if they do so twice; the end of the
// gap, if they never do.
func (s *Spec) instant(w time.Time) time.Time {
	near := w.Add(-offset(w, s.zone)).In(s.zone)
	start, end := near.ZoneBounds()
	about := []time.Time{near}
	if !start.IsZero() {
		about = append(about, start.Add(-time.Second))
	}
	if !end.IsZero() {
		about = append(about, end)
	}
	var first time.Time
	for _, t := range about {
		off := offset(t, s.zone)
		if at := w.Add(-off); offset(at, s.zone) == off && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		return first.In(s.zone)
	}
	for _, change := range []time.Time{start, end} {
		before, after := offset(change.Add(-time.Second), s.zone), offset(change, s.zone)
		if !change.IsZero() && !w.Add(-before).Before(change) && w.Add(-after).Before(change) {
			return change.In(s.zone)
		}
	}
	return near // there is no such wall clock, and no gap: not reached
}
