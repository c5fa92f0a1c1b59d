package usage

import (
	"testing"
	"time"
)

// Two readings of two processors, 10 s apart: 20 s of processor time, of which 8 s idle,
// 2 s waiting for a disk, 4 s this process. The other 6 s are those of others.
func TestOthers(t *testing.T) {
	before := parse("cpu  1000 10 200 5000 100 5 5 30 0 0\ncpu0 1 2", Usage{CPU: time.Second})
	after := parse("cpu  1400 10 300 5800 300 5 105 430 70 0\n", Usage{CPU: 5 * time.Second})
	if got := after.Others(before); got != 0.3 {
		t.Errorf("others: %v, want 0.3", got)
	}
	if got := after.Others(after); got != 0 {
		t.Errorf("no time has passed: %v", got)
	}
	if got := after.Others(Machine{}); got != 0 {
		t.Errorf("without a reading before: %v", got)
	}
	for _, text := range []string{"", "cpu", "cpu  1 2 3 4 5 6 7", "cpu  1 2 3 4 x 6 7 8", "intr 1 2 3 4 5 6 7 8 9"} {
		if m := parse(text, Usage{}); m != (Machine{}) {
			t.Errorf("%q: %+v", text, m)
		}
	}
	if OfMachine().all == 0 {
		t.Error("this machine says nothing")
	}
}
