package actor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/hist"
)

// Recorder is a Metrics that counts, for exporters such as contrib/firqprom and
// contrib/firqotel: set it as the Config.Metrics of one System. Make it with
// NewRecorder; it is safe for concurrent use. It takes the time of two look-ups per
// turn, allocates nothing, and takes no lock that a goroutine would wait for.
type Recorder struct {
	// By kind of actor, of which a program has some dozens: hence maps that are written once
	// and read ever after.
	kinds    sync.Map // string: *kindRecorder
	timeouts sync.Map // timeoutKey: *atomic.Uint64
	handoffs atomic.Uint64
	waited   *hist.Histogram
}

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder { return &Recorder{waited: hist.New()} }

type kindRecorder struct {
	// Atomics, each counted by itself: a snapshot may have a turn without its messages for a
	// moment.
	turns             [TurnLost + 1]atomic.Uint64
	messages, used    atomic.Int64
	failed, restarted atomic.Uint64
	refused           [len(refusals)]atomic.Uint64
	abandoned         atomic.Int64
}

type timeoutKey struct {
	kind, method string
	mode         TimeoutMode
}

// refusals are the reasons for which a message is refused, in one word each. The last one
// stands for any other reason.
var refusals = [...]struct {
	name string
	why  error
}{
	{"full", ErrMailboxFull}, {"stopped", ErrStopped}, {"deadlock", ErrDeadlock}, {"stale", ErrStale},
	{"context", context.Canceled}, {"context", context.DeadlineExceeded}, {"other", nil},
}

// refusal is the index of the reason in refusals.
func refusal(why error) (i int) {
	// By errors.Is, as each reason may come wrapped, for example beside ErrNotSent.
	for i < len(refusals)-1 && !errors.Is(why, refusals[i].why) {
		i++
	}
	return i
}

// kind returns the counters of a kind.
func (r *Recorder) kind(name string) *kindRecorder {
	return made(&r.kinds, name, func() *kindRecorder { return new(kindRecorder) })
}

// Turn counts a turn.
func (r *Recorder) Turn(kind string, messages int, used, waited time.Duration, why TurnEnd) {
	// One look-up per turn, not per message.
	k := r.kind(kind)
	k.turns[min(why, TurnLost)].Add(1)
	k.messages.Add(int64(messages))
	k.used.Add(int64(used))
	r.waited.Record(waited)
}

// Timeout counts a handler that has run for its timeout.
func (r *Recorder) Timeout(kind, method string, mode TimeoutMode) {
	// Per method, as it is a method's handler that is late.
	made(&r.timeouts, timeoutKey{kind, method, mode}, func() *atomic.Uint64 { return new(atomic.Uint64) }).Add(1)
}

// Abandoned counts abandoned handlers that still run.
func (r *Recorder) Abandoned(kind string, delta int) { r.kind(kind).abandoned.Add(int64(delta)) }

// Failed counts a failure.
func (r *Recorder) Failed(kind string, _ error) { r.kind(kind).failed.Add(1) }

// Restarted counts a restart.
func (r *Recorder) Restarted(kind string) { r.kind(kind).restarted.Add(1) }

// Refused counts a message that was not accepted, by reason.
func (r *Recorder) Refused(kind string, why error) { r.kind(kind).refused[refusal(why)].Add(1) }

// Handoff counts a slot that was taken from a handler that computed for too long.
func (r *Recorder) Handoff() { r.handoffs.Add(1) }

// Recorded holds the counts of a Recorder so far. All but Abandoned only grow.
// A turn is counted when it is over, which is a moment after its last message was
// handled, and perhaps after its actor has ended.
type Recorded struct {
	Kinds    []KindRecord    // by name
	Timeouts []TimeoutRecord // by kind, method and mode
	Handoffs uint64          // slots taken from handlers that computed for too long
	Waited   *hist.Snapshot  // how long actors waited for a slot, one sample per turn
}

// KindRecord holds the counts of a Recorder for one kind of actors.
type KindRecord struct {
	Kind      string
	Turns     map[string]uint64 // by TurnEnd.String
	Messages  uint64            // handled in turns: all but those whose handler ran on its caller's goroutine, or never returned
	Used      time.Duration     // processor time of turns
	Failed    uint64            // incarnations that failed
	Restarted uint64            // incarnations that a supervisor started
	Refused   map[string]uint64 // messages not accepted: full, stopped, deadlock, stale, context, other
	Abandoned int               // abandoned handlers that still run
}

// TimeoutRecord is how often handlers of a method have run for their timeout.
type TimeoutRecord struct {
	Kind, Method string
	Mode         TimeoutMode
	Count        uint64
}

// Recorded returns a snapshot, which the caller may keep.
func (r *Recorder) Recorded() Recorded {
	// Copies: the caller may keep them, and change them.
	all := Recorded{Handoffs: r.handoffs.Load(), Waited: r.waited.Snapshot()}
	r.kinds.Range(func(name, v any) bool {
		// One kind: its counters are read one after the other, while turns go on.
		k := v.(*kindRecorder)
		one := KindRecord{
			Kind: name.(string), Turns: map[string]uint64{}, Refused: map[string]uint64{},
			Messages: uint64(k.messages.Load()), Used: time.Duration(k.used.Load()),
			Failed: k.failed.Load(), Restarted: k.restarted.Load(), Abandoned: int(k.abandoned.Load()),
		}
		// Every label is there from the beginning, with 0: a series that appears only with its
		// first event has no rate.
		for why := range k.turns {
			// By name, as exporters make labels of them.
			one.Turns[TurnEnd(why).String()] = k.turns[why].Load()
		}
		for i, why := range refusals {
			one.Refused[why.name] += k.refused[i].Load()
		}
		all.Kinds = append(all.Kinds, one)
		return true
	})
	r.timeouts.Range(func(key, n any) bool {
		k := key.(timeoutKey)
		all.Timeouts = append(all.Timeouts, TimeoutRecord{k.kind, k.method, k.mode, n.(*atomic.Uint64).Load()})
		return true
	})
	// The same order each time, for pages and for tests.
	slices.SortFunc(all.Kinds, func(x, y KindRecord) int { return cmp.Compare(x.Kind, y.Kind) })
	slices.SortFunc(all.Timeouts, func(x, y TimeoutRecord) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Method, y.Method), cmp.Compare(x.Mode, y.Mode))
	})
	return all
}
