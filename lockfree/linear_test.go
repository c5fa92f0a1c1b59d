package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/lincheck"
)

// Every history of concurrent calls is one that the contract allows. The tickets
// start at each distance to their wrap that a history can cross; inboxes are large
// from the start, or grow; tasks go through the inboxes, or past them where they can.
func TestLinearizable(t *testing.T) {
	var n uint32
	free := lincheck.Freedom{Turns: true, Tickets: true, Batches: true, Limits: true}
	lincheck.Run(t, free, func(cfg lincheck.Config) (lincheck.Scheduler, error) {
		n++
		distance := n % (2*inboxSize + 1) // odd: either box at each distance, and either way
		s, err := newAt(cfg, -distance, []int{firstBox, inboxSize}[n%2])
		if err != nil || n/2%2 == 0 {
			return s, err
		}
		s.straight = straightOf(&s.env.Config)
		return alwaysCalm{s}, nil
	})
}

// alwaysCalm is a scheduler whose producers think that they meet nobody.
type alwaysCalm struct{ *scheduler }

func (s alwaysCalm) Enqueue(k string, task firq.Task[int]) error {
	s.calm()
	return s.scheduler.Enqueue(k, task)
}

// calm makes the scheduler forget that anybody was met.
func (s *Scheduler[K, T]) calm() {
	for _, sh := range s.shards {
		sh.met.at.Store(never)
	}
}
