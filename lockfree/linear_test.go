package lockfree

import (
	"testing"

	"github.com/firq-go/firq/internal/proof/lincheck"
)

// Every history of concurrent calls is one that the contract allows.
func TestLinearizable(t *testing.T) {
	free := lincheck.Relaxation{Turns: true, Tickets: true, Batches: true, Limits: true}
	n := 0
	lincheck.Run(t, free, func(cfg lincheck.Config) (lincheck.Scheduler, error) {
		s, err := New(cfg)
		if n++; err == nil && n%2 == 0 { // by rings and lanes
			s.crowd()
		}
		return s, err
	})
}

// Without rings and lanes, calls take effect in single steps, but for a batch: its places are taken together, so a
// call may be refused for them, without the lock, before a consumer finds the first of its tasks.
func TestLinearizableLocked(t *testing.T) {
	free := lincheck.Relaxation{Batches: true}
	lincheck.Run(t, free, func(cfg lincheck.Config) (lincheck.Scheduler, error) { return NewLocked(cfg) })
}
