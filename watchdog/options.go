package watchdog

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/firq-go/firq"
)

// Defaults and limits of Options.
const (
	DefaultInterval = time.Second
	DefaultWarning  = 100 * time.Millisecond
	DefaultQuantile = 0.99
	DefaultCalm     = 3
	DefaultRemind   = time.Minute

	MinTick       = time.Millisecond // lower limit of Options.Tick and Options.Interval
	MaxStackBytes = 64 << 20         // upper limit of Options.StackBytes
)

// Options says what is watched, from when on it is bad, and which function gets the reports. The
// zero value watches the processors only and reports to Status alone.
type Options struct {
	// Interval between two measurements, at least MinTick. 0: 1 s.
	Interval time.Duration
	// Tick is how often the timer is set whose lateness is measured, from
	// MinTick to Interval. A standstill of at least Tick + Warning is always
	// seen. 0: the smaller one of Warning and Interval, but at least MinTick.
	Tick time.Duration
	// Warning and Critical are the thresholds: a level begins at exactly this
	// value. Critical must not be below Warning. 0: 100 ms, and ten times
	// Warning.
	Warning, Critical time.Duration
	// Quantile of the scheduling latencies, and of the waits in a queue, that is
	// compared with the thresholds: above 0, at most 1, which is the maximum.
	// 0: 0.99. With few samples a high quantile is the maximum.
	Quantile float64
	// Calm is how many intervals in a row must be below the level before it
	// falls. 0: 3.
	Calm int
	// Remind is the least time between the last report and a reminder that the
	// level is still not OK. 0: 1 minute; below 0: no reminders.
	Remind time.Duration

	// Queues to watch; each has its own name. nil: none.
	Queues []Queue
	// Probes to run; each has its own name. nil: none.
	Probes []Probe

	// StackBytes is how much of the goroutine profile a report of level Critical
	// carries, at most MaxStackBytes: groups of goroutines with the same stack,
	// the largest first (runtime/pprof, goroutine, debug=1). Taking it needs
	// memory and time in proportion to the number of goroutines (about 1 us
	// each), whatever StackBytes is. 0: none.
	StackBytes int
	// StackEvery is the least time between two profiles. 0: 1 minute.
	StackEvery time.Duration

	// OnReport is called for each change of the level, and the reminders, one at
	// a time and in order, by a goroutine of Run. While it blocks, measuring goes
	// on and the newest 16 reports are kept for it; Report.Missed counts the
	// others. Run returns only after it did. A panic in it ends the process, as
	// does one in a Probe. nil: no function gets them.
	OnReport func(Report)
	// Logger gets the same reports, before OnReport and from the same goroutine:
	// Critical as error, Warning as warning, OK as info. nil: nothing is logged.
	Logger *slog.Logger
}

// resolve returns the options with every default filled in, or an error that
// matches firq.ErrInvalidConfig and names each field that makes no sense, one in a line. What a
// field's default would be is not known while another one makes none; that comes next.
func (o Options) resolve() (Options, error) {
	if err := o.check(); err != nil {
		return o, err
	}
	setDefault(&o.Interval, DefaultInterval)
	setDefault(&o.Warning, DefaultWarning)
	setDefault(&o.Critical, 10*o.Warning)
	setDefault(&o.Tick, max(min(o.Warning, o.Interval), MinTick))
	setDefault(&o.Quantile, DefaultQuantile)
	setDefault(&o.Calm, DefaultCalm)
	setDefault(&o.Remind, DefaultRemind)
	setDefault(&o.StackEvery, DefaultRemind)
	var errs []error
	switch {
	case o.Interval < MinTick:
		errs = append(errs, invalid("Interval: %v, must be at least %v", o.Interval, MinTick))
	case o.Tick < MinTick || o.Tick > o.Interval:
		errs = append(errs, invalid("Tick: %v, must be from %v to Interval, which is %v", o.Tick, MinTick, o.Interval))
	}
	if o.Critical < o.Warning {
		errs = append(errs, invalid("Critical: %v, must not be below Warning, which is %v", o.Critical, o.Warning))
	}
	return o, errors.Join(append(errs, o.names())...)
}

// names fills in the thresholds of the queues and probes, in new lists.
func (o *Options) names() error {
	seen := map[string]bool{}
	fill := func(field, name string, usable bool, l *limits) error {
		if name == "" || seen[field+name] {
			return invalid("%s: Name: %q, must not be empty, nor used twice", field, name)
		}
		seen[field+name] = true
		if !usable {
			return invalid("%s %q: its function is nil", field, name)
		}
		if l.warning < 0 || l.critical < 0 {
			return invalid("%s %q: Warning, Critical: %v, %v, must not be negative", field, name, l.warning, l.critical)
		}
		if l.warning == 0 && l.critical == 0 {
			*l = limits{o.Warning, o.Critical}
		}
		setDefault(&l.warning, min(o.Warning, l.critical))
		setDefault(&l.critical, tenfold(l.warning))
		if l.critical < l.warning {
			return invalid("%s %q: Critical: %v, must not be below Warning, which is %v", field, name, l.critical, l.warning)
		}
		return nil
	}
	var errs []error
	o.Queues, o.Probes = append([]Queue(nil), o.Queues...), append([]Probe(nil), o.Probes...)
	for i := range o.Queues {
		q := &o.Queues[i]
		l := limits{q.Warning, q.Critical}
		errs = append(errs, fill("Queues", q.Name, q.Read != nil, &l))
		q.Warning, q.Critical = l.warning, l.critical
	}
	for i := range o.Probes {
		p := &o.Probes[i]
		l := limits{p.Warning, p.Critical}
		errs = append(errs, fill("Probes", p.Name, p.Call != nil, &l))
		p.Warning, p.Critical = l.warning, l.critical
	}
	return errors.Join(errs...)
}

func (o *Options) check() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"Interval", int64(o.Interval), math.MaxInt64},
		{"Tick", int64(o.Tick), math.MaxInt64},
		{"Warning", int64(o.Warning), math.MaxInt64 / 10},
		{"Critical", int64(o.Critical), math.MaxInt64},
		{"Calm", int64(o.Calm), math.MaxInt32},
		{"StackBytes", int64(o.StackBytes), MaxStackBytes},
		{"StackEvery", int64(o.StackEvery), math.MaxInt64},
	} {
		if f.value < 0 || f.value > f.most {
			errs = append(errs, invalid("%s: %d, must be from 0 to %d", f.name, f.value, f.most))
		}
	}
	if !(o.Quantile >= 0 && o.Quantile <= 1) { // NaN too
		errs = append(errs, invalid("Quantile: %v, must be above 0 and at most 1", o.Quantile))
	}
	return errors.Join(errs...)
}

// limits are the two thresholds of one signal.
type limits struct{ warning, critical time.Duration }

// level returns the level of a measured duration, and the threshold it reached.
func (l limits) level(d time.Duration) (Level, time.Duration) {
	switch {
	case d >= l.critical:
		return Critical, l.critical
	case d >= l.warning:
		return Warning, l.warning
	}
	return OK, 0
}

func tenfold(d time.Duration) time.Duration {
	if d > math.MaxInt64/10 {
		return math.MaxInt64
	}
	return 10 * d
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: watchdog: %w", firq.ErrInvalidConfig, fmt.Errorf(format, args...))
}

func setDefault[N int | float64 | time.Duration](field *N, value N) {
	if *field == 0 {
		*field = value
	}
}
