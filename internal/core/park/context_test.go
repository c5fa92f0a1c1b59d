package park

import (
	"context"
	"testing"
)

// faultyContext is a context whose methods panic.
type faultyContext struct {
	context.Context
	done bool // Done panics; else Err does
}

func (c faultyContext) Done() <-chan struct{} {
	if c.done {
		panic("Done")
	}
	return c.Context.Done()
}

func (c faultyContext) Err() error { panic("Err") }

// A context that panics leaves no waiter in the list that does not sleep.
func TestContextPanics(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, ctx := range []faultyContext{{over, true}, {over, false}} {
		b := newBench()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("it did not panic")
				}
			}()
			var w Waiter
			defer b.Found(&w)
			_ = b.Sleep(ctx, &w)
		}()
		if n := b.Parked(); n != 0 {
			t.Errorf("%d asleep", n)
		}
	}
}
