package watchdog

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// must returns a Watchdog whose runtime is calm.
func must(t *testing.T, o Options) *Watchdog {
	t.Helper()
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.read = func() reading { return reading{latencies: []bin{{0, 1}}, goroutines: 5, runnable: 1, processors: 2} }
	return w
}
