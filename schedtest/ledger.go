package schedtest

import (
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// fate of a task.
type fate int

const (
	accepted fate = iota
	delivered
	dropped // + the DropReason
	fates   = dropped + fate(firq.DropOverload) + 1
)

// ledger notes what happened to each task of a concurrent run: payloads are its
// indexes. Safe for concurrent use.
type ledger struct {
	tasks []atomic.Uint64 // eight bits per fate: how often
}

func newLedger(n int) *ledger { return &ledger{tasks: make([]atomic.Uint64, n)} }

func (l *ledger) note(id int, f fate) { l.tasks[id].Add(1 << (8 * f)) }

func (l *ledger) onDrop(_ string, id int, why firq.DropReason) { l.note(id, dropped+fate(why)) }

// settle checks, once everything is at rest and nothing is queued, that each
// accepted task has ended once and no other one has, and that Stats agrees.
func (l *ledger) settle(t *testing.T, st stats) {
	t.Helper()
	var sums [fates]uint64
	for id := range l.tasks {
		word := l.tasks[id].Load()
		ends := uint64(0)
		for f := range fates {
			n := word >> (8 * f) & 255
			sums[f] += n
			if f != accepted {
				ends += n
			}
		}
		if word&255 != ends {
			t.Fatalf("task %d was accepted %d times and ended %d times (fates %#x)", id, word&255, ends, word)
		}
	}
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"Enqueued", st.Enqueued, sums[accepted]},
		{"Dequeued", st.Dequeued, sums[delivered]},
		{"Expired", st.Expired, sums[dropped+fate(firq.DropExpired)]},
		{"DroppedPolicy", st.DroppedPolicy, sums[dropped+fate(firq.DropEvicted)]},
		{"Cancelled", st.Cancelled, sums[dropped+fate(firq.DropCancelled)]},
		{"Closed", st.Closed, sums[dropped+fate(firq.DropClosed)]},
		{"Overload", st.Overload, sums[dropped+fate(firq.DropOverload)]},
		{"QueueLen", uint64(st.QueueLen), 0},
	} {
		if c.got != c.want {
			t.Errorf("Stats().%s is %d, counted %d", c.name, c.got, c.want)
		}
	}
	balanced(t, st)
}
