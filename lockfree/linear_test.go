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
	free := lincheck.Relaxation{Turns: true, Tickets: true, Batches: true, Limits: true}
	lincheck.Run(t, free, func(cfg lincheck.Config) (lincheck.Scheduler, error) {
		n++
		distance := n % (2*inboxSize + 1) // odd: either box at each distance, and either way
		s, err := newAt(cfg, -distance, []int{firstBox, inboxSize}[n%2])
		if err != nil || n/2%2 == 0 {
			return s, err
		}
		s.direct = s.bare
		return neverContended{s}, nil
	})
}

// neverContended is a scheduler whose producers find no contention.
type neverContended struct{ *scheduler }

func (s neverContended) Enqueue(k string, task firq.Task[int]) error {
	s.uncontended()
	return s.scheduler.Enqueue(k, task)
}

func (s neverContended) EnqueueBatch(k string, tasks []firq.Task[int]) (int, error) {
	s.uncontended()
	return s.scheduler.EnqueueBatch(k, tasks)
}

// uncontended makes the scheduler forget that its lease was ever contended.
func (s *Scheduler[K, T]) uncontended() {
	for _, sh := range s.shards {
		sh.contention.at.Store(never)
	}
}
