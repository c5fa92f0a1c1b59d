package watchdog

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

func noCounters() QueueCounters      { return QueueCounters{} }
func noCall(_ context.Context) error { return nil }

func TestOptionsInvalid(t *testing.T) {
	queue := func(name string, warning, critical time.Duration) Options {
		return Options{Queues: []Queue{{Name: name, Warning: warning, Critical: critical, Read: noCounters}}}
	}
	for want, o := range map[string]Options{
		"Interval: -1":                  {Interval: -1},
		"Interval: 999":                 {Interval: 999 * time.Microsecond},
		"Tick: -1":                      {Tick: -1},
		"Tick: 2s":                      {Tick: 2 * time.Second},
		"Tick: 1µs":                     {Tick: time.Microsecond},
		"Warning: -1":                   {Warning: -1},
		"Warning: 9223372036854775807":  {Warning: math.MaxInt64},
		"Critical: -1":                  {Critical: -1},
		"Critical: 99ms":                {Critical: 99 * ms},
		"Quantile: -0.1":                {Quantile: -0.1},
		"Quantile: 1.1":                 {Quantile: 1.1},
		"Quantile: NaN":                 {Quantile: math.NaN()},
		"Calm: -1":                      {Calm: -1},
		"StackBytes: -1":                {StackBytes: -1},
		"StackBytes: 67108865":          {StackBytes: MaxStackBytes + 1},
		"StackEvery: -1":                {StackEvery: -1},
		`Queues: Name: ""`:              queue("", 0, 0),
		`Queues "q": Warning, Critical`: queue("q", 0, -1),
		`Queues "q": Critical: 1ns`:     queue("q", 2, 1),
		`Queues "r": its function`:      {Queues: []Queue{{Name: "r"}}},
		`Queues: Name: "q"`:             {Queues: append(queue("q", 0, 0).Queues, queue("q", 0, 0).Queues...)},
		`Probes: Name: ""`:              {Probes: []Probe{{Call: noCall}}},
		`Probes "p": its function`:      {Probes: []Probe{{Name: "p"}}},
		`Probes "p": Warning, Critical`: {Probes: []Probe{{Name: "p", Warning: -1, Call: noCall}}},
	} {
		_, err := New(o)
		if !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), "watchdog: "+want) {
			t.Errorf("New of options whose %s is wrong: %v", want, err)
		}
	}
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{Calm: -1, Quantile: 2, Interval: -1}, []string{"Calm", "Quantile", "Interval"}},
		{Options{Tick: time.Minute, Critical: 1, Queues: queue("", 0, 0).Queues, Probes: []Probe{{}, {Name: "p"}}},
			[]string{"Tick", "Critical", "Queues: Name", "Probes: Name", `Probes "p"`}},
	} {
		_, err := New(c.o)
		for _, field := range c.want {
			if err == nil || !strings.Contains(err.Error(), "watchdog: "+field) {
				t.Errorf("%v, want one that names %s too", err, field)
			}
		}
	}
}

func TestOptionsDefaults(t *testing.T) {
	o, err := Options{}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	if o.Interval != time.Second || o.Tick != 100*ms || o.Warning != 100*ms || o.Critical != time.Second ||
		o.Quantile != 0.99 || o.Calm != 3 || o.Remind != time.Minute || o.StackEvery != time.Minute {
		t.Errorf("defaults: %+v", o)
	}
	o, err = Options{Interval: 20 * ms, Warning: 30 * ms, Remind: -1}.resolve()
	if err != nil || o.Tick != 20*ms || o.Critical != 300*ms || o.Remind != -1 {
		t.Errorf("Tick %v, Critical %v, Remind %v, %v", o.Tick, o.Critical, o.Remind, err)
	}
	o, err = Options{Warning: time.Microsecond}.resolve()
	if err != nil || o.Tick != MinTick {
		t.Errorf("Tick %v, %v", o.Tick, err)
	}
}

func TestOptionsThresholdsOfQueues(t *testing.T) {
	for _, c := range []struct{ warning, critical, wantWarning, wantCritical time.Duration }{
		{0, 0, 200 * ms, 300 * ms},
		{time.Second, 0, time.Second, 10 * time.Second},
		{0, time.Second, 200 * ms, time.Second},
		{0, 50 * ms, 50 * ms, 50 * ms},
		{2, 5, 2, 5},
		{math.MaxInt64, 0, math.MaxInt64, math.MaxInt64},
	} {
		given := Options{Warning: 200 * ms, Critical: 300 * ms,
			Queues: []Queue{{Name: "a", Warning: c.warning, Critical: c.critical, Read: noCounters}},
			Probes: []Probe{{Name: "a", Warning: c.warning, Critical: c.critical, Call: noCall}}}
		o, err := given.resolve()
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if q := o.Queues[0]; q.Warning != c.wantWarning || q.Critical != c.wantCritical {
			t.Errorf("%+v: the queue has %v, %v", c, q.Warning, q.Critical)
		}
		if p := o.Probes[0]; p.Warning != c.wantWarning || p.Critical != c.wantCritical {
			t.Errorf("%+v: the probe has %v, %v", c, p.Warning, p.Critical)
		}
		if given.Queues[0].Warning != c.warning || given.Probes[0].Critical != c.critical {
			t.Error("resolve changed the caller's lists")
		}
	}
}
