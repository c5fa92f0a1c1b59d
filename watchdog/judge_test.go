package watchdog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestJudge runs scripts: a word per interval of a second, what was seen and
// what the judge says: o, w and c are the levels; a report is the level in
// capitals, a reminder has a "+".
func TestJudge(t *testing.T) {
	for name, script := range map[string]string{
		"all is well":                      "o/o o/o o/o",
		"up immediately, down after three": "w/W o/w o/w o/O o/o",
		"two steps up":                     "w/W c/C c/c",
		"straight to critical":             "c/C o/c o/c o/O",
		"down to the worst of the calm":    "c/C w/c o/c o/W o/w o/w o/O",
		"a relapse starts to count anew":   "w/W o/w o/w w/w o/w o/w o/O",
		"up while it calms down":           "w/W o/w c/C o/c o/c o/O",
		"jitter is one report":             "w/W o/w w/w o/w w/w o/w w/w",
		"a reminder every ten":             "w/W w/w w/w w/w w/w w/w w/w w/w w/w w/w w/w+ w/w w/w w/w w/w w/w w/w w/w w/w w/w w/w+",
		"a change puts the reminder off":   "w/W w/w w/w w/w w/w c/C c/c c/c c/c c/c c/c c/c c/c c/c c/c c/c+",
		"a reminder while it calms down":   "w/W w/w w/w w/w w/w w/w w/w w/w w/w o/w o/w+ o/O",
		"no reminder that all is well":     "w/W o/w o/w o/O o/o o/o o/o o/o o/o o/o o/o o/o o/o",
		"what was worst is not kept long":  "c/C w/c c/c o/c o/c o/O",
	} {
		levels := map[byte]Level{'o': OK, 'w': Warning, 'c': Critical}
		j := judge{calm: 3, remind: 10 * time.Second}
		now := time.Now()
		var got []string
		for _, word := range strings.Fields(script) {
			now = now.Add(time.Second)
			v := j.next(now, levels[word[0]])
			said := j.level.String()[:1]
			switch v {
			case changed:
				said = strings.ToUpper(said)
				if j.since != now {
					t.Errorf("%s: since %v, now is %v", name, j.since, now)
				}
			case reminder:
				said += "+"
			}
			got = append(got, fmt.Sprintf("%c/%s", word[0], said))
		}
		if want := strings.Fields(script); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %v\nwant %v", name, got, want)
		}
	}
}

// TestJudgeProperties: the level is never below what was seen; it falls to the
// worst of the last calm intervals, and calm intervals below it never pass without
// that; exactly its changes are reported; a reminder comes when it is due and not
// before.
func TestJudgeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := judge{calm: rapid.IntRange(1, 4).Draw(t, "calm"), remind: time.Duration(rapid.IntRange(-1, 5).Draw(t, "remind"))}
		var seen []Level
		var told time.Time
		kept := 0 // intervals since the level changed
		now := time.Now()
		j.told, told = now, now
		for i := range rapid.IntRange(1, 60).Draw(t, "intervals") {
			now = now.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "step")))
			level := Level(rapid.IntRange(0, 2).Draw(t, "level"))
			seen = append(seen, level)
			before := j.level
			v := j.next(now, level)
			if j.level < level {
				t.Fatalf("interval %d: %v was seen, %v said", i, level, j.level)
			}
			if j.level != before {
				kept = 0
			} else if kept++; kept >= j.calm && slices.Max(seen[len(seen)-j.calm:]) < j.level {
				t.Fatalf("interval %d: still %v after %v with calm %d", i, j.level, seen, j.calm)
			}
			if j.level < before && (len(seen) < j.calm || j.level != slices.Max(seen[len(seen)-j.calm:])) || j.level > max(before, level) {
				t.Fatalf("interval %d: %v after %v with calm %d", i, j.level, seen, j.calm)
			}
			if (v == changed) != (j.level != before) {
				t.Fatalf("interval %d: %v to %v: verdict %d", i, before, j.level, v)
			}
			due := j.remind >= 0 && j.level != OK && now.Sub(told) >= j.remind
			if v != changed && (v == reminder) != due {
				t.Fatalf("interval %d: verdict %d, reminder due: %v", i, v, due)
			}
			if v != silent {
				told = now
			}
		}
	})
}

func TestFindings(t *testing.T) {
	o, err := Options{
		Queues: []Queue{{Name: "jobs", Warning: 2 * time.Second, Read: noCounters}},
		Probes: []Probe{{Name: "path", Call: noCall}},
	}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no")
	sample := func(change func(*Sample)) Sample {
		s := Sample{Queues: []QueueSample{{Name: "jobs"}}, Probes: []ProbeSample{{Name: "path"}}}
		change(&s)
		return s
	}
	for _, c := range []struct {
		change func(*Sample)
		want   []string
	}{
		{func(s *Sample) {
			s.TimerLateness, s.Scheduling.Tail, s.Scheduling.Max = 99*ms, 99*ms, time.Hour
			s.Queues[0].Stalled, s.Queues[0].Wait = 1999*ms, Latency{Tail: 1999 * ms, Max: time.Hour}
		}, nil},
		{func(s *Sample) { s.TimerLateness = 100 * ms }, []string{"warning: timer-lateness: 100ms, threshold 100ms"}},
		{func(s *Sample) { s.Scheduling.Tail = 2 * time.Second }, []string{"critical: scheduling-latency: 2s, threshold 1s"}},
		{func(s *Sample) { s.Queues[0].Stalled = 20 * time.Second }, []string{"critical: queue-stall jobs: 20s, threshold 20s"}},
		{func(s *Sample) { s.Queues[0].Wait.Tail = 5 * time.Second }, []string{"warning: queue-wait jobs: 5s, threshold 2s"}},
		{func(s *Sample) { s.Probes[0].Err = failed }, []string{"warning: probe-error path: no"}},
		{func(s *Sample) { s.TimerLateness, s.Probes[0].Time = 100*ms, time.Second },
			[]string{"critical: probe-time path: 1s, threshold 1s", "warning: timer-lateness: 100ms, threshold 100ms"}},
	} {
		s := sample(c.change)
		found := o.findings(&s)
		var got []string
		for _, f := range found {
			got = append(got, f.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if len(found) > 0 && worst(found) != found[0].Level {
			t.Errorf("worst of %v is %v", found, worst(found))
		}
	}
}

func TestNames(t *testing.T) {
	for want, got := range map[string]fmt.Stringer{
		"ok": OK, "warning": Warning, "critical": Critical, "Level(3)": Level(3),
		"timer-lateness": TimerLateness, "probe-error": ProbeError, "Signal(0)": Signal(0), "Signal(7)": Signal(7),
	} {
		if got.String() != want {
			t.Errorf("%s is called %s", want, got)
		}
	}
}
