package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// Waiters that all wait for longer than TargetWait are let go one after the other, with
// their own error; each call gets an answer, and the gate is idle in the end.
func TestTargetWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters = 20
		g := New[string](1, Config[string]{TargetWait: 10 * time.Millisecond, Interval: 30 * time.Millisecond})
		served, dropped := make(chan struct{}, waiters), make(chan error, waiters)
		first, err := g.Acquire(t.Context(), "a", Request{})
		if err != nil {
			t.Fatal(err)
		}
		for range waiters {
			go func() {
				p, err := g.Acquire(context.Background(), "a", Request{})
				if err != nil {
					dropped <- err
					return
				}
				time.Sleep(20 * time.Millisecond)
				p.Release()
				served <- struct{}{}
			}()
		}
		synctest.Wait()
		time.Sleep(20 * time.Millisecond)
		first.Release()
		lost := uint64(0)
		for range waiters {
			select {
			case <-served:
			case err := <-dropped:
				if lost++; !errors.Is(err, ErrOverload) || !errors.Is(err, firq.ErrRejected) {
					t.Errorf("dropped with %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("a call got no answer")
			}
		}
		if st := g.Stats(); lost == 0 || lost > waiters/2 || st.Queue.Overload != lost {
			t.Errorf("%d dropped, counted %d", lost, st.Queue.Overload)
		}
		intact(t, g)
	})
}
