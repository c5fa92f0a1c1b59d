package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/proof/shardtest"
)

func TestShards(t *testing.T) {
	shardtest.Run(t, func(cfg firq.Config[int, int]) (firq.Scheduler[int, int], func(int) int, error) {
		s, err := New(cfg)
		if err != nil {
			return nil, nil, err
		}
		return s, s.placer.Shard, nil
	})
}

// Across tenants each activation brings in one task. It may be that of another
// producer, which has not come to announce it.
func TestAcrossStoppedBeforeAnnouncing(t *testing.T) {
	s, err := New(firq.Config[int, int]{PriorityScope: firq.PriorityAcrossTenants})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Enqueue(1, firq.Task[int]{}); err != nil {
		t.Fatal(err)
	}
	s.TryDequeue()
	tn, _ := s.tenants.Load(1)
	var task drr.Task[int]
	if err := s.shared.Task(&task, &firq.Task[int]{Payload: 1}, s.shared.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	word, _, took := tn.reserve(1)
	if _, err := s.takeCredit(1, 0); took != ticketTaken || err != nil {
		t.Fatal("no ticket, or no credit")
	}
	tn.inbox.Load().Put(tailOf(word), &task)
	tn.inbox.Load().Publish(tailOf(word)) // and stopped before E5
	if err := s.Enqueue(1, firq.Task[int]{Payload: 2}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, ok := s.TryDequeue(); !ok {
			t.Fatal("a task whose Enqueue has returned is hidden")
		}
	}
}
