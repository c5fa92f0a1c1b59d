package lockfree

import (
	"testing"

	"github.com/firq-go/firq/internal/lincheck"
)

// Every history of concurrent calls is one that the contract allows. The tickets
// start at each distance to their wrap that a history can cross; inboxes are large
// from the start, or grow.
func TestLinearizable(t *testing.T) {
	var distance uint32
	box := inboxSize
	free := lincheck.Freedom{Turns: true, Tickets: true, Batches: true, Limits: true}
	lincheck.Run(t, free, func(cfg lincheck.Config) (lincheck.Scheduler, error) {
		distance = (distance + 1) % (2*inboxSize + 1) // odd: either box at each distance
		box = firstBox + inboxSize - box
		return newAt(cfg, -distance, box)
	})
}
