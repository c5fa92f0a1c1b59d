package compute

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// kitchen is a batcher under test.
type kitchen struct {
	t *testing.T
	*Batcher[string, string, string]
	calls atomic.Int64

	mu      sync.Mutex
	batches [][]call
	gate    chan struct{} // nil: nothing blocks
	ctxErr  error         // of the last batch that saw its context end
}

func cook(t *testing.T, cfg BatchConfig[string]) *kitchen {
	k := &kitchen{t: t}
	return k.open(cfg, k.exec)
}

func (k *kitchen) open(cfg BatchConfig[string], exec func(context.Context, []call) ([]string, error)) *kitchen {
	k.t.Helper()
	b, err := NewBatcher(exec, cfg)
	if err != nil {
		k.t.Fatal(err)
	}
	k.Batcher = b
	k.t.Cleanup(func() {
		st := k.Stats()
		if st.Executing != 0 || st.Waiting != 0 {
			k.t.Errorf("at rest: executing %d, waiting %d", st.Executing, st.Waiting)
		}
		if sum := st.Answered + st.Refused + st.GaveUp + st.Closed; sum != uint64(k.calls.Load()) {
			k.t.Errorf("%d calls returned, the books have %d: %+v", k.calls.Load(), sum, st)
		}
		b.Close()
	})
	return k
}

func (k *kitchen) exec(ctx context.Context, calls []call) ([]string, error) {
	k.mu.Lock()
	k.batches = append(k.batches, append([]call(nil), calls...))
	gate := k.gate
	k.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			k.mu.Lock()
			k.ctxErr = ctx.Err()
			k.mu.Unlock()
			return nil, ctx.Err()
		}
	}
	var vs []string
	for _, c := range calls {
		vs = append(vs, c.Tenant+"/"+c.Key)
	}
	return vs, nil
}

func (k *kitchen) start(ctx context.Context, tenant, key string) *answered {
	a := &answered{t: k.t}
	go func() {
		a.v, a.err = k.Do(ctx, tenant, key)
		k.calls.Add(1)
		a.done.Store(true)
	}()
	synctest.Wait()
	return a
}

// A call with a free slot is executed immediately, alone; calls that come until it ends go together,
// in the tenants' turns, at most Max.
func TestBatcherGrows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := cook(t, BatchConfig[string]{Limit: 1, Max: 4, FIFO: true})
		k.gate = make(chan struct{})
		var all []*answered
		for i := range 6 {
			all = append(all, k.start(background, "noisy", fmt.Sprint(i)))
		}
		all = append(all, k.start(background, "quiet", "6"))
		if st := k.Stats(); st.Executing != 1 || st.Waiting != 6 {
			t.Errorf("executing %d, waiting %d", st.Executing, st.Waiting)
		}
		close(k.gate)
		synctest.Wait()
		for i, a := range all {
			a.info.Source = Executed
			a.is(Executed, fmt.Sprintf("%s/%d", []string{"noisy", "quiet"}[i/6], i))
		}
		if got := fmt.Sprint(k.batches); got != "[[{noisy 0 0}] [{noisy 1 0} {quiet 6 0} {noisy 2 0} {noisy 3 0}] [{noisy 4 0} {noisy 5 0}]]" {
			t.Errorf("batches %s", got)
		}
		if st := k.Stats(); st.Batches != 3 || st.Calls != 7 || st.Answered != 7 {
			t.Errorf("%+v", st)
		}
	})
}

// unpunctual is a context whose deadline passes a second before it ends.
type unpunctual struct{ context.Context }

func (c unpunctual) Deadline() (time.Time, bool) {
	d, has := c.Context.Deadline()
	return d.Add(-time.Second), has
}

// A call that the queue drops because its context's deadline has passed returns when the
// context has ended.
func TestBatcherWaitsForTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := cook(t, BatchConfig[string]{Limit: 1})
		k.gate = make(chan struct{})
		k.start(background, "a", "first")
		ctx, cancel := context.WithTimeout(background, 1500*time.Millisecond)
		defer cancel()
		late := k.start(unpunctual{ctx}, "a", "x")
		time.Sleep(time.Second)
		k.gate <- struct{}{} // the next one, please
		synctest.Wait()
		late.pending()
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		late.failed(None, context.DeadlineExceeded)
	})
}

// A call whose context ended, or that is too old, is in no batch, and returns immediately.
func TestBatcherGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := cook(t, BatchConfig[string]{Limit: 1})
		k.gate = make(chan struct{})
		k.start(background, "a", "first")
		ctx, cancel := context.WithCancel(background)
		short, cancelShort := context.WithTimeout(background, time.Second)
		defer cancelShort()
		long, cancelLong := context.WithTimeout(background, time.Hour)
		defer cancelLong()
		given, late, old := k.start(ctx, "a", "x"), k.start(short, "a", "x"), k.start(long, "a", "x")
		cancel()
		synctest.Wait()
		given.failed(None, context.Canceled)
		late.pending()
		time.Sleep(time.Second)
		synctest.Wait()
		late.failed(None, context.DeadlineExceeded)
		time.Sleep(2*time.Second - time.Millisecond)
		synctest.Wait()
		old.pending()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		old.failed(None, firq.ErrTimeout)
		dead, cancelDead := context.WithCancel(background)
		cancelDead()
		k.start(dead, "a", "x").failed(None, context.Canceled)
		close(k.gate)
		synctest.Wait()
		if len(k.batches) != 1 {
			t.Errorf("batches %v", k.batches)
		}
		if st := k.Stats(); st.GaveUp != 3 || st.Refused != 1 || st.Answered != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// The context of a batch ends when none of its callers waits any more, not before.
func TestBatcherContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := cook(t, BatchConfig[string]{Limit: 1, ExecTimeout: time.Minute})
		k.gate = make(chan struct{})
		first := k.start(background, "a", "first")
		one, cancelOne := context.WithCancel(background)
		two, cancelTwo := context.WithCancel(background)
		a, b := k.start(one, "a", "x"), k.start(two, "a", "x")
		k.gate <- struct{}{}
		synctest.Wait()
		first.is(None, "a/first")
		cancelOne()
		synctest.Wait()
		a.failed(None, context.Canceled)
		if k.ctxErr != nil || k.Stats().Executing != 1 {
			t.Errorf("it has ended: %v", k.ctxErr)
		}
		cancelTwo()
		synctest.Wait()
		b.failed(None, context.Canceled)
		if k.ctxErr != context.Canceled {
			t.Errorf("it goes on: %v", k.ctxErr)
		}
		slow := k.start(background, "a", "slow")
		time.Sleep(time.Minute)
		synctest.Wait()
		slow.failed(None, context.DeadlineExceeded)
	})
}

// Results that are wrong, errors of each call, panics.
func TestBatcherOutcomes(t *testing.T) {
	bad := errors.New("bad")
	for name, tc := range map[string]struct {
		vs  []string
		err error
		do  func()
		is  []any // error or value, of each of two calls
	}{
		"good":              {vs: []string{"1", "2"}, is: []any{"1", "2"}},
		"too few":           {vs: []string{"1"}, is: []any{errCount, errCount}},
		"too many":          {vs: []string{"1", "2", "3"}, is: []any{errCount, errCount}},
		"an error":          {vs: []string{"1", "2"}, err: bad, is: []any{bad, bad}},
		"errors":            {vs: []string{"1", "2"}, err: Errors{nil, bad}, is: []any{"1", bad}},
		"errors, no values": {err: Errors{bad, bad}, is: []any{bad, bad}},
		"errors, too few":   {vs: []string{"1"}, err: Errors{nil, bad}, is: []any{errCount, bad}},
		"one error of two":  {vs: []string{"1", "2"}, err: Errors{bad}, is: []any{bad, bad}},
		"errors wrapped":    {vs: []string{"1", "2"}, err: fmt.Errorf("x: %w", Errors{nil, bad}), is: []any{bad, bad}},
		"no errors":         {vs: []string{"1", "2"}, err: Errors{nil, nil}, is: []any{"1", "2"}},
		"panic":             {do: func() { panic(bad) }, is: []any{bad, bad}},
		"goexit":            {do: runtime.Goexit, is: []any{nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				k := &kitchen{t: t}
				first := make(chan struct{})
				k.open(BatchConfig[string]{Limit: 1, FIFO: true}, func(_ context.Context, calls []call) ([]string, error) {
					if len(calls) == 1 {
						<-first
						return []string{calls[0].Key}, nil
					}
					if tc.do != nil {
						tc.do()
					}
					return tc.vs, tc.err
				})
				k.start(background, "a", "first")
				two := []*answered{k.start(background, "a", "x"), k.start(background, "a", "y")}
				close(first)
				synctest.Wait()
				for i, want := range tc.is {
					switch want := want.(type) {
					case string:
						two[i].is(None, want)
					case error:
						two[i].failed(None, want)
					default:
						var p *PanicError
						if !errors.As(two[i].err, &p) || p.Value != nil {
							t.Errorf("%v", two[i].err)
						}
					}
				}
				k.start(background, "a", "last").is(None, "last") // the slot has come back
			})
		})
	}
	if (Errors{nil}).Error() == "" || (Errors{bad, nil}).Error() == "" || !errors.Is(Errors{nil, bad}, bad) {
		t.Error("the words of Errors")
	}
}
