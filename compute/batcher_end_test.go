package compute

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

func TestBatcherEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := cook(t, BatchConfig[string]{Limit: 1})
		k.gate = make(chan struct{})
		a, b := k.start(background, "a", "x"), k.start(background, "a", "y")
		over := make(chan error, 1)
		go func() { over <- k.Shutdown(background) }()
		synctest.Wait()
		k.start(background, "a", "z").failed(None, firq.ErrClosed)
		b.pending()
		close(k.gate)
		if err := <-over; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		a.is(None, "a/x")
		b.is(None, "a/y")

		k = cook(t, BatchConfig[string]{Limit: 1})
		k.gate = make(chan struct{})
		a, b = k.start(background, "a", "x"), k.start(background, "a", "y")
		_ = k.Close()
		synctest.Wait()
		a.failed(None, firq.ErrClosed)
		b.failed(None, firq.ErrClosed)
		if k.ctxErr != context.Canceled {
			t.Errorf("the batch saw %v", k.ctxErr)
		}
		if err := k.Shutdown(background); err != firq.ErrClosed {
			t.Errorf("Shutdown after Close: %v", err)
		}
	})
}

func TestBatcherLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := cook(t, BatchConfig[string]{Limit: 2, Max: 1, Queue: gate.Config[string]{MaxInFlightPerTenant: 3}})
		k.SetLimit(0)
		k.gate = make(chan struct{})
		var all []*answered
		for i := range 10 {
			all = append(all, k.start(background, fmt.Sprint(i%2), "x"))
		}
		if st := k.Stats(); st.Executing != 0 || st.Waiting != 10 {
			t.Errorf("paused: executing %d, waiting %d", st.Executing, st.Waiting)
		}
		k.SetLimit(20)
		synctest.Wait()
		if st := k.Stats(); st.Executing != 6 {
			t.Errorf("executing %d, want 3 of each tenant", st.Executing)
		}
		k.SetLimit(2)
		close(k.gate)
		synctest.Wait()
		for _, a := range all {
			if !a.done.Load() || a.err != nil {
				t.Errorf("%v", a.err)
			}
		}
	})
}

func TestNewBatcherChecks(t *testing.T) {
	exec := func(context.Context, []call) ([]string, error) { return nil, nil }
	if _, err := NewBatcher[string, string, string](nil, BatchConfig[string]{}); !errors.Is(err, firq.ErrInvalidArgument) {
		t.Errorf("nil exec: %v", err)
	}
	for field, cfg := range map[string]BatchConfig[string]{
		"Limit": {Limit: -1}, "Max": {Max: -1}, "ExecTimeout": {ExecTimeout: -1},
		"Queue": {Queue: gate.Config[string]{Shards: -1}}, "FIFO": {FIFO: true, Queue: gate.Config[string]{Order: firq.LIFO}},
	} {
		if _, err := NewBatcher(exec, cfg); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	b, err := NewBatcher(exec, BatchConfig[string]{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Do(nil, "a", "k"); !errors.Is(err, firq.ErrInvalidArgument) { //nolint:staticcheck // that is the test
		t.Errorf("nil context: %v", err)
	}
	for _, n := range []int{-1, gate.MaxSlots + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("SetLimit(%d) does not panic", n)
				}
			}()
			b.SetLimit(n)
		}()
	}
}

// Every field of gate.Config that says how calls queue gets to the batcher's queue.
func TestBatcherQueueHasAllFields(t *testing.T) {
	c := gate.Config[string]{PolicyFor: func(string) firq.Policy { return firq.DropOldest }}
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.CanInt():
			f.SetInt(int64(i + 2))
		case f.CanUint():
			f.SetUint(1)
		case f.CanFloat():
			f.SetFloat(float64(i + 2))
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.Kind() == reflect.Func && f.IsNil():
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { return []reflect.Value{reflect.New(f.Type().Out(0)).Elem()} }))
		}
	}
	got := reflect.ValueOf(scheduler[string, int](c))
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch name {
		case "Policy", "PolicyFor": // Backpressure
			continue
		case "MaxQueueAge": // each call has a deadline
			continue
		}
		f := got.FieldByName(name)
		if !f.IsValid() || f.IsZero() || f.Comparable() && v.Field(i).Comparable() && !f.Equal(v.Field(i)) {
			t.Errorf("%s does not get to the queue", name)
		}
	}
	if s := scheduler[string, int](c); s.Backpressure.Policy != c.Policy || s.BackpressureFor("").Policy != firq.DropOldest {
		t.Error("the policies do not get to the queue")
	}
}

func TestBatcherSoak(t *testing.T) {
	for name, queue := range map[string]gate.Config[string]{
		"plain": {}, "in flight": {MaxInFlightPerTenant: 2, MaxPerTenant: 5, Policy: firq.DropOldest},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kitchen{t: t}
			k.open(BatchConfig[string]{Limit: 3, Max: 4, Queue: queue}, func(ctx context.Context, calls []call) ([]string, error) {
				switch rand.IntN(20) {
				case 0:
					panic("exec")
				case 1:
					runtime.Goexit()
				}
				time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
				var vs []string
				for _, c := range calls {
					vs = append(vs, c.Key)
				}
				return vs, nil
			})
			var wg sync.WaitGroup
			for g := range 24 {
				wg.Go(func() {
					for i := range 100 {
						ctx, cancel := context.WithTimeout(background, time.Duration(50+rand.IntN(5000))*time.Microsecond)
						key := fmt.Sprint(g, i)
						v, err := k.Do(ctx, fmt.Sprint(g%4), key)
						k.calls.Add(1)
						var p *PanicError
						if err == nil && v != key || err != nil && !isAny(err, context.DeadlineExceeded, firq.ErrRejected) && !errors.As(err, &p) {
							t.Errorf("%s: %q, %v", key, v, err)
						}
						cancel()
						if i%10 == 0 {
							k.SetLimit(rand.IntN(5))
						}
					}
				})
			}
			waitFor(t, &wg)
			k.SetLimit(3)
			ctx, cancel := context.WithTimeout(background, 10*time.Second)
			defer cancel()
			if err := k.Shutdown(ctx); err != nil {
				t.Errorf("%v; %+v", err, k.Stats())
			}
		})
	}
}
