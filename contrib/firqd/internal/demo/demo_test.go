package demo

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// In the order in which they came the quiet tenants' tasks are the last ones; fairly, they are done after as many
// rounds as each of them has tasks. The workers start tasks at about the same time, so that a place may be off by
// as many as there are.
func TestDemo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	l := Load{Noisy: 60, Quiet: 3, Each: 2, Workers: 2, Work: time.Millisecond}
	r, err := Run(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Outcome{"FIFO": r.FIFO, "fair": r.Fair} {
		if o.Quiet.Tasks != 6 || o.Noisy.Tasks != 60 || o.Quiet.P50 > o.Quiet.P99 || o.Noisy.P50 > o.Noisy.P99 || o.Noisy.P50 <= 0 {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if r.FIFO.Quiet.Last != 66 || r.FIFO.Noisy.Last > 60+l.Workers {
		t.Errorf("FIFO: %+v", r.FIFO)
	}
	if most := (l.Quiet+1)*l.Each + l.Workers; r.Fair.Quiet.Last > most || r.Fair.Noisy.Last != 66 {
		t.Errorf("fair: %+v, the quiet tenants' last task may be delivery %d", r.Fair, most)
	}
}

// It is interrupted while it works, and while it enqueues.
func TestInterrupted(t *testing.T) {
	for _, noisy := range []int{1, 1_000_000} {
		interrupted(t, Load{Noisy: noisy, Quiet: 1, Each: 1, Workers: 1, Work: time.Hour})
	}
}

func interrupted(t *testing.T, l Load) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, l)
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}
