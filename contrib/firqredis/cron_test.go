package firqredis

import (
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/firq-go/firq/queue"
)

// The table of what cron(8) does around changes of the clocks.
func TestDaylightSaving(t *testing.T) {
	for _, c := range []struct {
		expr, zone, from string
		want             []string
	}{
		{"30 2 * * *", "America/New_York", "2026-03-07 12:00 -0500", []string{"03-08 03:00 EDT", "03-09 02:30 EDT"}},
		{"30 2 * * *", "America/New_York", "2026-03-08 03:00 -0400", []string{"03-09 02:30 EDT"}},
		{"0 * * * *", "America/New_York", "2026-03-08 00:30 -0500", []string{"03-08 01:00 EST", "03-08 03:00 EDT", "03-08 04:00 EDT"}},
		{"30 1 * * *", "America/New_York", "2026-10-31 12:00 -0400", []string{"11-01 01:30 EDT", "11-02 01:30 EST"}},
		{"30 1 * * *", "America/New_York", "2026-11-01 05:30 +0000", []string{"11-02 01:30 EST"}},
		{"30 1 * * *", "America/New_York", "2026-11-01 06:15 +0000", []string{"11-02 01:30 EST"}},
		{
			"*/30 * * * *", "America/New_York", "2026-11-01 00:45 -0400",
			[]string{"11-01 01:00 EDT", "11-01 01:30 EDT", "11-01 01:00 EST", "11-01 01:30 EST", "11-01 02:00 EST"},
		},
		{"0 0 * * *", "Africa/Cairo", "2026-04-23 12:00 +0200", []string{"04-24 01:00 EEST", "04-25 00:00 EEST"}},
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00 -0300", []string{"11-04 01:00 -02", "11-05 00:00 -02"}},
		{"0 12 * * *", "Pacific/Apia", "2011-12-29 13:00 -1000", []string{"12-31 00:00 +14", "12-31 12:00 +14"}}, // a day was left out
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00 +1030", []string{"10-04 02:30 +11", "10-05 02:15 +11"}},
		{"@daily", "", "2026-11-22 00:00 +0000", []string{"11-23 00:00 UTC"}},
		{"@hourly", "Asia/Kathmandu", "2026-11-22 00:00 +0000", []string{"11-22 06:00 +0545"}},
		{"0 0 29 2 *", "UTC", "2026-01-01 00:00 +0000", []string{"02-29 00:00 UTC", "02-29 00:00 UTC"}},
		{"30 0 8 * * *", "UTC", "2026-01-01 08:00 +0000", []string{"01-01 08:00 UTC", "01-02 08:00 UTC"}},
	} {
		s, err := parseCron(c.expr, c.zone)
		if err != nil {
			t.Error(err)
			continue
		}
		at, err := time.Parse("2006-01-02 15:04 -0700", c.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if at, err = s.Next(at); err != nil || at.Format("01-02 15:04 MST") != want {
				t.Errorf("%q in %s from %s: %s, %v; want %s", c.expr, c.zone, c.from, at.Format("01-02 15:04 MST"), err, want)
			}
		}
	}
}

func TestCronRefused(t *testing.T) {
	for _, c := range [][2]string{
		{"0 0 30 2 *", ""}, {"", ""}, {"* * * *", ""}, {"61 * * * *", ""}, {"* * * * * * *", ""}, {"@reboot", ""}, {"@every 5m", ""},
		{"0 0 1 1 * 2999", ""}, {"0 0 0 1 1 2027", ""}, {"0 0 100 * *", ""},
		{"a b c d e", ""}, {"0 0 * * *", "Mars/Olympus"}, {"0 0 * * *", "Local"},
	} {
		if _, err := parseCron(c[0], c[1]); err == nil {
			t.Errorf("%q in %q is accepted", c[0], c[1])
		}
	}
}

// Whatever the zone: due times come after one another, a daily one comes every day of the zone, once, and one
// each ten minutes comes each ten minutes where zones are whole tens of minutes.
func TestEveryDayOnce(t *testing.T) {
	zones := []string{"America/New_York", "Africa/Cairo", "America/Sao_Paulo", "Europe/Berlin", "Asia/Tehran", "Africa/Casablanca", "Asia/Beirut"}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		hour, minute := rapid.IntRange(0, 23).Draw(t, "hour"), rapid.SampledFrom([]string{"0", "30", "59"}).Draw(t, "minute")
		daily, err := parseCron(minute+" "+itoa(hour)+" * * *", zone)
		if err != nil {
			t.Fatal(err)
		}
		ticks, err := parseCron("*/10 * * * *", zone)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(rapid.IntRange(2010, 2030).Draw(t, "year"), time.Month(rapid.IntRange(1, 12).Draw(t, "month")), 1, 0, 0, 0, 0, loc)
		last, err := daily.Next(at)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			next, err := daily.Next(last)
			if err != nil {
				t.Fatal(err)
			}
			a := time.Date(last.Year(), last.Month(), last.Day(), 12, 0, 0, 0, time.UTC)
			b := time.Date(next.Year(), next.Month(), next.Day(), 12, 0, 0, 0, time.UTC)
			if b.Sub(a) != 24*time.Hour {
				t.Fatalf("after %v comes %v", last, next)
			}
			last = next
		}
		for range 40 {
			next, err := ticks.Next(at)
			if err != nil {
				t.Fatal(err)
			}
			if d := next.Sub(at); d != 10*time.Minute {
				t.Fatalf("%v after %v comes %v", d, at, next)
			}
			at = next
		}
	})
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

// spec is a schedule's expression in its zone.
type spec struct{ queue.Schedule[string] }

func parseCron(expr, zone string) (spec, error) {
	s := spec{queue.Schedule[string]{Cron: expr, Zone: zone}}
	_, err := s.Schedule.Next(time.Time{}, 0)
	return s, err
}

func (s spec) Next(t time.Time) (time.Time, error) {
	next, err := s.Schedule.Next(t, 1)
	if err != nil {
		return t, err
	}
	return next[0], nil
}
