//go:build firq_failpoints

package compute

import (
	"context"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/interleave"
)

// A batcher's call and a free slot always find each other.
func TestBatcherSchedules(t *testing.T) {
	interleave.Explore(t, 1, func(p *interleave.Schedule) {
		b, err := NewBatcher(func(_ context.Context, calls []Call[string, int]) ([]int, error) {
			return make([]int, len(calls)), nil
		}, BatchConfig[string]{Limit: 1, FIFO: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"one", "two"} {
			p.Go(name, func() {
				if _, err := b.Do(background, "a", 1); err != nil {
					p.Errorf("%s: %v", name, err)
				}
			})
		}
		p.Run()
		if st := b.Stats(); st.Waiting != 0 || st.Executing != 0 {
			p.Errorf("waiting %d, executing %d", st.Waiting, st.Executing)
		}
		_ = b.Close()
		p.Run()
	})
}

// A call that comes while a slot is given back finds it, or the slot finds the call.
func TestBatcherGivesBack(t *testing.T) {
	interleave.Explore(t, 2, func(p *interleave.Schedule) {
		b, err := NewBatcher(func(_ context.Context, calls []Call[string, int]) ([]int, error) {
			return make([]int, len(calls)), nil
		}, BatchConfig[string]{Limit: 1, FIFO: true})
		if err != nil {
			t.Fatal(err)
		}
		first := &pending[string, int, int]{end: make(chan struct{})}
		if err := b.queue.Enqueue("a", firq.Task[*pending[string, int, int]]{Payload: first, Ticket: &first.ticket}); err != nil {
			t.Fatal(err)
		}
		bt := b.collect()
		b.busy.Add(1)
		b.life.hold()
		p.Go("slot", func() { b.run(bt) })
		p.Go("call", func() {
			if _, err := b.Do(background, "a", 1); err != nil {
				p.Errorf("%v", err)
			}
		})
		p.Run()
		if st := b.Stats(); st.Waiting != 0 || st.Executing != 0 {
			p.Errorf("waiting %d, executing %d", st.Waiting, st.Executing)
		}
		_ = b.Close()
		p.Run()
	})
}
