package usage

import (
	"runtime"
	"testing"
	"time"
)

// A loop uses about as much processor time as it takes, at least the part of it that it
// has a processor for; a sleep uses next to none, and gives the processor up.
func TestNow(t *testing.T) {
	if Now() == (Usage{}) {
		if runtime.GOOS == "linux" {
			t.Fatal("nothing is known")
		}
		return
	}
	before := Now()
	for Now().Since(before).CPU < 20*time.Millisecond { // ends, or the test's own limit ends it
	}
	before = Now()
	for range 5 {
		time.Sleep(time.Millisecond)
	}
	if used := Now().Since(before); used.Switches == 0 {
		t.Errorf("five sleeps: %+v", used)
	}
}
