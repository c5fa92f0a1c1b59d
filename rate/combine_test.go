package rate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// odd is a Taker that fails, or panics.
type odd struct{ err error }

func (o odd) Take(context.Context, string, int64, time.Duration) (Result, error) {
	if o.err == nil {
		panic("odd")
	}
	return Result{}, o.err
}
func (o odd) Charge(context.Context, string, int64) error { return o.err }

// left fails unless so much is left of the tenant's burst.
func left(t *testing.T, l Taker[string], want int64) {
	t.Helper()
	if r, err := l.Take(background, "a", 0, 0); err != nil || r.Remaining != want {
		t.Errorf("%+v, %v; want %d left", r, err, want)
	}
}

func TestAll(t *testing.T) {
	requests, _ := manual(1, 3)
	tokens, _ := manual(10, 100)
	both := All(Count[string](requests), Taker[string](tokens))
	if r := takes(t, both, "a", 40, true); r.Limit.Burst != 3 || r.Remaining != 2 {
		t.Errorf("of the one that has least left: %+v", r)
	}
	left(t, requests, 2)
	left(t, tokens, 60)
	if r := takes(t, both, "a", 70, false); r.Limit.Burst != 100 || r.RetryAfter != time.Second {
		t.Errorf("of the one that refuses: %+v", r)
	}
	left(t, requests, 2)
	left(t, tokens, 60)
	charges(t, both, "a", 10)
	left(t, requests, 2)
	left(t, tokens, 50)
	Undo(background, both, "a", 40)
	left(t, requests, 3)
	left(t, tokens, 90)
	takes(t, All(both, All(Count(both))), "a", 30, true)
	left(t, requests, 1)
	left(t, tokens, 59)
	if r := takes(t, All(Taker[string](New(Config[string]{})), tokens), "a", 50, true); r.Remaining != 9 {
		t.Errorf("one without a limit: %+v", r)
	}
	if r := takes(t, All[string](), "a", 50, true); r != (Result{}) {
		t.Errorf("none: %+v", r)
	}
}

// TestAllFails: an error or a panic of one gives back what the others took.
func TestAllFails(t *testing.T) {
	l, _ := manual(1, 5)
	away := errors.New("away")
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	if _, err := All(Taker[string](l), Taker[string](odd{away})).Take(ctx, "a", 2, 0); err != away {
		t.Error(err)
	}
	left(t, l, 5)
	func() {
		defer func() {
			if recover() != "odd" {
				t.Error("no panic")
			}
		}()
		_, _ = All(Taker[string](l), Taker[string](odd{})).Take(ctx, "a", 2, 0)
	}()
	left(t, l, 5)
	if err := All(Taker[string](odd{away}), Taker[string](l)).Charge(ctx, "a", 2); err != away {
		t.Error(err)
	}
	left(t, l, 3)
}

// TestAllWaits: maxWait is for all together, and so is Waited.
func TestAllWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := New(Config[string]{Limit: Limit{1, 1}}), New(Config[string]{Limit: Limit{0.5, 1}})
		both := All(Taker[string](a), Taker[string](b))
		takes(t, both, "a", 1, true)
		began := time.Now()
		r, err := both.Take(background, "a", 1, 2*time.Second-1)
		if err != ErrLimited || r.Waited != time.Second || r.RetryAfter != time.Second || time.Since(began) != time.Second {
			t.Errorf("%+v, %v after %v", r, err, time.Since(began))
		}
		if r, err := both.Take(background, "a", 1, time.Second); err != nil || r.Waited != time.Second {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestNilTakers(t *testing.T) {
	for name, f := range map[string]func(){"All": func() { All[string](nil) }, "Count": func() { Count[string](nil) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			f()
		}()
	}
}
