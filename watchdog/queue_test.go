package watchdog

import (
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

// TestStall: counters at the ends of intervals of a second, and for how many
// seconds there has been a stall.
func TestStall(t *testing.T) {
	for name, steps := range map[string][]struct{ queued, delivered, expired, want int }{
		"idle":                     {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
		"it moves":                 {{5, 0, 0, 0}, {5, 3, 0, 0}, {5, 4, 0, 0}, {5, 5, 0, 0}},
		"nobody delivers":          {{5, 0, 0, 0}, {5, 0, 0, 1}, {9, 0, 0, 2}, {9, 0, 0, 3}},
		"it comes at the end":      {{0, 0, 0, 0}, {1, 0, 0, 0}, {1, 0, 0, 1}, {1, 0, 0, 2}},
		"one delivery ends it":     {{5, 0, 0, 0}, {5, 0, 0, 1}, {5, 1, 0, 0}, {5, 1, 0, 1}},
		"expiring is no delivery":  {{5, 0, 0, 0}, {5, 0, 9, 1}, {5, 0, 20, 2}},
		"the last expires":         {{5, 0, 0, 0}, {0, 0, 5, 1}, {0, 0, 5, 0}},
		"all are cancelled":        {{5, 0, 0, 0}, {5, 0, 0, 1}, {0, 0, 0, 0}},
		"it had delivered earlier": {{5, 70, 3, 0}, {5, 70, 3, 1}},
	} {
		var c QueueCounters
		q := queue{Queue: Queue{Name: "q", Read: func() QueueCounters { return c }}}
		now := time.Now()
		last := steps[0]
		for i, s := range steps {
			c = QueueCounters{Len: s.queued, Delivered: uint64(s.delivered), Expired: uint64(s.expired)}
			if i == 0 {
				q.start(now)
				continue
			}
			now = now.Add(time.Second)
			got := q.sample(now, 1)
			if want := time.Duration(s.want) * time.Second; got.Stalled != want {
				t.Errorf("%s, interval %d: stalled for %v, want %v", name, i, got.Stalled, want)
			}
			if got.Len != s.queued || got.Delivered != uint64(s.delivered-last.delivered) || got.Expired != uint64(s.expired-last.expired) {
				t.Errorf("%s, interval %d: %+v", name, i, got)
			}
			last = s
		}
	}
}

// TestReadMayReuseItsMemory: a Read that writes to the same slice each time.
func TestReadMayReuseItsMemory(t *testing.T) {
	mine := []firq.Bucket{{UpperBound: ms}, {UpperBound: time.Hour}}
	q := queue{Queue: Queue{Read: func() QueueCounters { mine[1].Count += 3; return QueueCounters{Waits: mine} }}}
	q.start(time.Now())
	if got := q.sample(time.Now(), 1).Wait; got.Samples != 3 || got.Max != ms {
		t.Errorf("%+v, want 3 samples above 1ms", got)
	}
}

func TestQueueOf(t *testing.T) {
	cfg := firq.Config[string, int]{Shards: 1}
	a, err := lockfree.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b, err := baseline.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]firq.Scheduler[string, int]{"lockfree": a, "baseline": b} {
		defer s.Close()
		q := queue{Queue: QueueOf(name, s.Stats)}
		q.start(time.Now())
		for i := range 5 {
			if err := s.Enqueue("t", firq.Task[int]{Payload: i}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Enqueue("t", firq.Task[int]{Deadline: time.Now().Add(-time.Hour)}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s.TryDequeue()
		}
		got := q.sample(time.Now(), 1)
		if got.Name != name || got.Delivered != 3 || got.Wait.Samples != 3 || uint64(got.Len)+got.Expired != 3 {
			t.Errorf("%+v, want 3 delivered, 3 queued or expired", got)
		}
		for range 3 { // the third drops what has expired
			s.TryDequeue()
		}
		if got := q.sample(time.Now(), 1); got.Delivered != 2 || got.Len != 0 {
			t.Errorf("%+v, want 2 delivered, none left", got)
		}
	}
}
