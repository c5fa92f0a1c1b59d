package actor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

func TestRecorder(t *testing.T) {
	r := NewRecorder()
	r.Turn("b", 3, 5*time.Millisecond, time.Millisecond, TurnIdle)
	r.Turn("a", 2, time.Millisecond, 2*time.Millisecond, TurnSlice)
	r.Turn("b", 1, time.Millisecond, time.Millisecond, TurnLost)
	r.Timeout("a", "Slow", Cancel)
	r.Timeout("a", "Slow", Cancel)
	r.Timeout("a", "Slow", Warn)
	r.Abandoned("a", 1)
	r.Abandoned("a", 1)
	r.Abandoned("a", -1)
	r.Failed("a", errors.New("x"))
	r.Restarted("a")
	r.Handoff()
	for _, why := range []error{ErrMailboxFull, ErrStopped, &DeadlockError{}, ErrStale, context.Canceled, context.DeadlineExceeded, errors.New("x")} {
		r.Refused("b", why)
	}
	got := r.Recorded()
	if len(got.Kinds) != 2 || got.Kinds[0].Kind != "a" || got.Kinds[1].Kind != "b" {
		t.Fatalf("%+v", got.Kinds)
	}
	a, b := got.Kinds[0], got.Kinds[1]
	if a.Messages != 2 || a.Used != time.Millisecond || a.Turns["slice"] != 1 || a.Turns["idle"] != 0 || a.Failed != 1 || a.Restarted != 1 || a.Abandoned != 1 {
		t.Errorf("%+v", a)
	}
	if b.Messages != 4 || b.Used != 6*time.Millisecond || b.Turns["idle"] != 1 || b.Turns["lost"] != 1 || b.Turns["throughput"] != 0 {
		t.Errorf("%+v", b)
	}
	for why, n := range map[string]uint64{"full": 1, "stopped": 1, "deadlock": 1, "stale": 1, "context": 2, "other": 1} {
		if b.Refused[why] != n {
			t.Errorf("%s: %d, want %d", why, b.Refused[why], n)
		}
	}
	want := []TimeoutRecord{{"a", "Slow", Warn, 1}, {"a", "Slow", Cancel, 2}}
	if len(got.Timeouts) != 2 || got.Timeouts[0] != want[0] || got.Timeouts[1] != want[1] {
		t.Errorf("%+v", got.Timeouts)
	}
	if got.Handoffs != 1 || got.Waited.Count() != 3 || got.Waited.Max() < 2*time.Millisecond {
		t.Errorf("handoffs %d, %d waits up to %v", got.Handoffs, got.Waited.Count(), got.Waited.Max())
	}
}

// The counts that a System gives its Recorder agree with its own counters.
func TestRecorderOfSystem(t *testing.T) {
	r := NewRecorder()
	s := newSys(t, Config{Metrics: r})
	k := must(t, s, "k", Value(&counter{}), WithMailbox(Mailbox{Limit: 2, Backpressure: firq.Backpressure{Policy: firq.Reject}}))
	for range 200 {
		_ = add.Tell(context.Background(), k, 1)
	}
	if err := k.Stop(within(t)); err != nil {
		t.Fatal(err)
	}
	_ = add.Tell(context.Background(), k, 1)
	if err := s.Shutdown(within(t)); err != nil {
		t.Fatal(err)
	}
	var one KindRecord
	var st Stats
	agree := func() bool { // soon: the last turn is counted when it is over, a moment after its actor's end
		st = s.Stats()
		for _, x := range r.Recorded().Kinds {
			if x.Messages > 0 {
				one = x
			}
		}
		return one.Kind == "*actor.counter" && one.Messages == st.Handled && one.Refused["full"]+one.Refused["stopped"] == st.Refused && one.Refused["stopped"] > 0
	}
	for end := time.Now().Add(10 * time.Second); !agree(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("recorded %+v, of %+v", one, st)
		}
	}
}

// Messages counts the handlers of readers, and those that were abandoned.
func TestRecorderCountsAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := NewRecorder()
		s := newSys(t, Config{Slots: 1, Handoff: -1, Metrics: r})
		a := box0(t, sup(t, s, "sup", Supervision{MaxRestarts: Unlimited}), "a", WithHandlerTimeout(10*time.Millisecond, Stop))
		for _, ms := range []int{5, 20} {
			for _, m := range []*Method[*box, job, any]{look, do} {
				for range 3 {
					_ = m.Tell(bg, a, func(*box, *Ctx) (any, error) { sleep(ms); return nil, nil })
				}
			}
		}
		sleep(1000)
		for _, k := range r.Recorded().Kinds {
			if k.Kind == "*actor.box" && (k.Messages != 12 || k.Used != 150*time.Millisecond || s.Stats().Handled != 12) {
				t.Errorf("%+v %+v", k, s.Stats())
			}
		}
		s.Close()
	})
}

func BenchmarkRecorderTurn(b *testing.B) {
	r := NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		r.Turn("kind", 10, time.Microsecond, time.Microsecond, TurnIdle)
	}
}
