package firqprom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/metrics/metricstest"
)

const actorExposition = `
# TYPE firq_actor_abandoned gauge
firq_actor_abandoned{kind="room",scheduler="api"} 6
firq_actor_abandoned{kind="user",scheduler="api"} 0
# TYPE firq_actor_abandoned_total counter
firq_actor_abandoned_total{scheduler="api"} 609
# TYPE firq_actor_accepted_total counter
firq_actor_accepted_total{scheduler="api"} 603
# TYPE firq_actor_actors gauge
firq_actor_actors{scheduler="api"} 601
# TYPE firq_actor_cancelled_total counter
firq_actor_cancelled_total{scheduler="api"} 606
# TYPE firq_actor_dead_letters_total counter
firq_actor_dead_letters_total{scheduler="api"} 605
# TYPE firq_actor_deadlocks_total counter
firq_actor_deadlocks_total{scheduler="api"} 610
# TYPE firq_actor_failures_total counter
firq_actor_failures_total{kind="room",scheduler="api"} 4
firq_actor_failures_total{kind="user",scheduler="api"} 0
# TYPE firq_actor_handled_total counter
firq_actor_handled_total{scheduler="api"} 604
# TYPE firq_actor_handoffs_total counter
firq_actor_handoffs_total{scheduler="api"} 611
# TYPE firq_actor_messages_total counter
firq_actor_messages_total{kind="room",scheduler="api"} 700
firq_actor_messages_total{kind="user",scheduler="api"} 3
# TYPE firq_actor_processor_seconds_total counter
firq_actor_processor_seconds_total{kind="room",scheduler="api"} 1.5
firq_actor_processor_seconds_total{kind="user",scheduler="api"} 3
# TYPE firq_actor_refused_total counter
firq_actor_refused_total{kind="room",reason="context",scheduler="api"} 0
firq_actor_refused_total{kind="room",reason="deadlock",scheduler="api"} 0
firq_actor_refused_total{kind="room",reason="full",scheduler="api"} 0
firq_actor_refused_total{kind="room",reason="other",scheduler="api"} 0
firq_actor_refused_total{kind="room",reason="stale",scheduler="api"} 0
firq_actor_refused_total{kind="room",reason="stopped",scheduler="api"} 0
firq_actor_refused_total{kind="user",reason="context",scheduler="api"} 0
firq_actor_refused_total{kind="user",reason="deadlock",scheduler="api"} 0
firq_actor_refused_total{kind="user",reason="full",scheduler="api"} 7
firq_actor_refused_total{kind="user",reason="other",scheduler="api"} 0
firq_actor_refused_total{kind="user",reason="stale",scheduler="api"} 0
firq_actor_refused_total{kind="user",reason="stopped",scheduler="api"} 0
# TYPE firq_actor_rejected_total counter
firq_actor_rejected_total{scheduler="api"} 607
# TYPE firq_actor_restarted_total counter
firq_actor_restarted_total{scheduler="api"} 608
# TYPE firq_actor_restarts_total counter
firq_actor_restarts_total{kind="room",scheduler="api"} 5
firq_actor_restarts_total{kind="user",scheduler="api"} 0
# TYPE firq_actor_timeouts_total counter
firq_actor_timeouts_total{kind="user",method="Hear",mode="cancel",scheduler="api"} 8
# TYPE firq_actor_turns_total counter
firq_actor_turns_total{end="idle",kind="room",scheduler="api"} 1
firq_actor_turns_total{end="idle",kind="user",scheduler="api"} 0
firq_actor_turns_total{end="lost",kind="room",scheduler="api"} 0
firq_actor_turns_total{end="lost",kind="user",scheduler="api"} 3
firq_actor_turns_total{end="slice",kind="room",scheduler="api"} 2
firq_actor_turns_total{end="slice",kind="user",scheduler="api"} 0
firq_actor_turns_total{end="throughput",kind="room",scheduler="api"} 0
firq_actor_turns_total{end="throughput",kind="user",scheduler="api"} 0
# TYPE firq_actor_wait_seconds histogram
firq_actor_wait_seconds_bucket{scheduler="api",le="1e-06"} 1
firq_actor_wait_seconds_bucket{scheduler="api",le="0.001"} 6
firq_actor_wait_seconds_bucket{scheduler="api",le="+Inf"} 6
firq_actor_wait_seconds_sum{scheduler="api"} 0.005001
firq_actor_wait_seconds_count{scheduler="api"} 6
# TYPE firq_actor_waiting gauge
firq_actor_waiting{scheduler="api"} 602
`

// fakeActors is a System in which all goes wrong that an alert is for.
type fakeActors struct {
	rec  *actor.Recorder
	mu   sync.Mutex
	says actor.Stats
}

func (f *fakeActors) Stats() actor.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.says
}

func (f *fakeActors) tick() {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := &f.says
	if st.Actors == 0 {
		f.rec.Abandoned("room", 1)
	}
	st.Actors, st.Waiting = 2, 3
	for _, n := range []*uint64{&st.Accepted, &st.Handled, &st.DeadLetters, &st.Cancelled, &st.Refused, &st.Restarts, &st.Abandoned, &st.Deadlocks, &st.Handoffs} {
		*n++
	}
	for end := range actor.TurnLost + 1 {
		f.rec.Turn("room", 1, time.Second/64, time.Millisecond, end)
	}
	f.rec.Failed("room", errors.New("x"))
	f.rec.Restarted("room")
	for _, why := range []error{actor.ErrMailboxFull, actor.ErrStopped, actor.ErrDeadlock, actor.ErrStale, context.Canceled, errors.New("x")} {
		f.rec.Refused("room", why)
	}
	f.rec.Timeout("room", "Say", actor.Warn)
}

func (f *fakeActors) expect(want map[string]float64, name string) {
	st, got := f.Stats(), f.rec.Recorded()
	k := got.Kinds[0]
	for key, value := range map[string]float64{
		"actors NAME ": float64(st.Actors), "waiting NAME ": float64(st.Waiting), "accepted_total NAME ": float64(st.Accepted),
		"handled_total NAME ": float64(st.Handled), "dead_letters_total NAME ": float64(st.DeadLetters), "cancelled_total NAME ": float64(st.Cancelled),
		"rejected_total NAME ": float64(st.Refused), "restarted_total NAME ": float64(st.Restarts), "abandoned_total NAME ": float64(st.Abandoned),
		"deadlocks_total NAME ": float64(st.Deadlocks), "handoffs_total NAME ": float64(st.Handoffs),
		"messages_total NAME room": float64(k.Messages), "processor_seconds_total NAME room": k.Used.Seconds(), "failures_total NAME room": float64(k.Failed),
		"restarts_total NAME room": float64(k.Restarted), "abandoned NAME room": float64(k.Abandoned),
		"timeouts_total NAME roomSaywarn": float64(got.Timeouts[0].Count),
		"wait_seconds_sum NAME ":          float64(got.Waited.Sum()) / float64(time.Second), "wait_seconds_count NAME ": float64(got.Waited.Count()),
	} {
		want["firq_actor_"+strings.ReplaceAll(key, "NAME", name)] = value
	}
	for end, n := range k.Turns {
		want["firq_actor_turns_total "+name+" room"+end] = float64(n)
	}
	for why, n := range k.Refused {
		want["firq_actor_refused_total "+name+" room"+why] = float64(n)
	}
	var upTo uint64
	for _, b := range got.Waited.Buckets() {
		upTo += b.Count
		want[fmt.Sprintf("firq_actor_wait_seconds_bucket %s %v", name, b.UpperBound.Seconds())] = float64(upTo)
	}
	want["firq_actor_wait_seconds_bucket "+name+" +Inf"] = float64(upTo)
}

// Without a Recorder there is what Stats says.
func TestActorsWithoutRecorder(t *testing.T) {
	c, err := firqprom.NewActors(metricstest.Of(metricstest.System()), nil, firqprom.Options[string]{})
	if err != nil {
		t.Fatal(err)
	}
	got := scrape(t, pedantic(t, c), "")
	if !strings.Contains(got, "firq_actor_actors 601") || strings.Contains(got, "kind=") {
		t.Error(got)
	}
	if _, err := firqprom.NewActors((*actor.System)(nil), nil, firqprom.Options[string]{}); !errors.Is(err, firq.ErrInvalidArgument) {
		t.Error(err)
	}
}

// A real System: what it did is in the scrape.
func TestActorsOfSystem(t *testing.T) {
	rec := actor.NewRecorder()
	sys, err := actor.New(actor.Config{Metrics: rec})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sys.Close() }()
	say := actor.NewAction("Say", func(int, *actor.Ctx, string) error { return nil })
	r, err := actor.Spawn(sys, "", actor.Value(1))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := say.Tell(t.Context(), r, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := sys.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := firqprom.NewActors(sys, rec, firqprom.Options[string]{})
	if err != nil {
		t.Fatal(err)
	}
	got := scrape(t, pedantic(t, c), "")
	for _, want := range []string{"firq_actor_handled_total 3\n", `firq_actor_messages_total{kind="int"} 3`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}
