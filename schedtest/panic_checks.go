package schedtest

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// panicChecks are cases that are no combination of a method and a callback.
var panicChecks = []struct {
	name string
	run  func(*testing.T, anyMaker)
}{
	{"a tenant that is not equal to itself", panicNaN},
	{"a tenant that is nil, or a pointer", panicPointer},
	{"OnDrop always fails, at a dequeue", panicDequeue},
	{"OnDrop always fails, in a batch of several shards", panicBatch},
	{"OnDrop always fails, at Close", panicClose},
	{"a handle of a tenant that is no key", panicHandleKey},
	{"a call that waits is not the next call", panicSleepers},
	{"user code fails for tenants that are new", panicNewcomers},
}

// outcome is how a call ended.
type outcome struct {
	returned bool
	panicked any
}

// outcomeOf runs f in a goroutine, so that Goexit does not end the test.
func outcomeOf(f func()) (o outcome) {
	var over sync.WaitGroup
	over.Add(1)
	go func() {
		defer over.Done()
		defer func() {
			if !o.returned {
				o.panicked = recover()
			}
		}()
		f()
		o.returned = true
	}()
	over.Wait()
	return o
}

// openAny builds a scheduler that is closed in the end.
func openAny(t *testing.T, newSched anyMaker, cfg anyConfig) anySched {
	t.Helper()
	s, err := newSched(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outcomeOf(func() { s.Close() }) })
	return s
}

// panicPointer: a tenant is found again whatever a key points to by then, and keeps its limit.
func panicPointer(t *testing.T, newSched anyMaker) {
	s := openAny(t, newSched, anyConfig{Shards: 2, MaxPerTenant: 1})
	x, c := new(int), make(chan int, 3)
	keys := []any{nil, (*int)(nil), x, c, [1]any{x}}
	for i := range cap(c) {
		*x = i + 1
		c <- i
		for _, k := range keys {
			want := firq.ErrTenantFull
			if i == 0 {
				want = nil
			}
			if err := s.Enqueue(k, firq.Task[int]{}); err != want {
				t.Errorf("task %d of a %T: %v, want %v", i, k, err, want)
			}
			s.SetQuantum(k, 2)
			s.ResetQuantum(k)
		}
	}
	if st := s.Stats(); st.Tenants != len(keys) {
		t.Errorf("Tenants %d, want %d", st.Tenants, len(keys))
	}
}

// panicNaN: such a key is refused before any callback runs, and leaves nothing behind.
func panicNaN(t *testing.T, newSched anyMaker) {
	type pair struct {
		name  string
		value float64
	}
	nan := math.NaN()
	asked := func(k any) {
		if k != any("a") {
			t.Errorf("user code was asked about %v", k)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), panicLimit)
	defer cancel()
	for _, shards := range []int{1, 4} {
		s := openAny(t, newSched, anyConfig{
			Shards: shards, MaxGlobal: 2,
			QuantumFor:      func(k any) int64 { asked(k); return 1 },
			MaxPerTenantFor: func(k any) int { asked(k); return 0 },
			MaxInFlightFor:  func(k any) int { asked(k); return 0 },
			BackpressureFor: func(k any) firq.Backpressure { asked(k); return firq.Backpressure{} },
		})
		for _, full := range []bool{false, true} {
			for _, k := range []any{nan, float32(nan), complex(0, nan), pair{"a", nan}, [2]any{1, nan}} {
				var tk firq.Ticket
				n, batch := s.EnqueueBatch(k, []firq.Task[int]{{Ticket: &tk}, {}})
				if n != 0 {
					t.Errorf("EnqueueBatch(%v) accepted %d", k, n)
				}
				for what, err := range map[string]error{
					"Enqueue":      s.Enqueue(k, firq.Task[int]{Ticket: &tk}),
					"EnqueueWait":  s.EnqueueWait(ctx, k, firq.Task[int]{Ticket: &tk}),
					"EnqueueBatch": batch,
				} {
					if !errors.Is(err, firq.ErrInvalidTask) || !strings.Contains(err.Error(), "tenant") {
						t.Errorf("%s(%v): %v, want ErrInvalidTask that names the tenant", what, k, err)
					}
				}
				s.SetLimit(k, 3)
				s.SetLimit(k, 0)
				s.SetQuantum(k, 3)
				s.ResetQuantum(k)
				if tk.Cancel() {
					t.Errorf("%v: the ticket is in use", k)
				}
			}
			st := s.Stats()
			if known := int(st.Enqueued) / 2; s.Len() != 2*known || st.Tenants != known || st.Dropped != 0 || full != (known == 1) {
				t.Errorf("Len %d, Enqueued %d, Tenants %d, Dropped %d", s.Len(), st.Enqueued, st.Tenants, st.Dropped)
			}
			for range 2 {
				_ = s.Enqueue("a", firq.Task[int]{})
			}
		}
	}
}

// failures are user code that panics, or ends its goroutine.
var failures = map[string]func(){"panic": func() { panic(errPanic) }, "Goexit": runtime.Goexit}

// told returns an OnDrop that records its payload and fails, and a function that returns the record.
func told(fail func()) (func(any, int, firq.DropReason), func() []int) {
	var mu sync.Mutex
	var payloads []int
	return func(_ any, payload int, _ firq.DropReason) {
			mu.Lock()
			payloads = append(payloads, payload)
			mu.Unlock()
			fail()
		}, func() []int {
			mu.Lock()
			defer mu.Unlock()
			return slices.Sorted(slices.Values(payloads))
		}
}

// panicDequeue: the item reaches the caller, OnDrop is called for every dropped task, the
// next call panics, and later calls work. With Goexit the item is lost with its goroutine,
// and does not count as in flight.
func panicDequeue(t *testing.T, newSched anyMaker) {
	for name, fail := range failures {
		onDrop, drops := told(fail)
		s := openAny(t, newSched, anyConfig{Shards: 1, MaxInFlightPerTenant: 1, OnDrop: onDrop})
		late := time.Now().Add(-time.Second)
		for i, due := range []time.Time{late, late, late, {}, {}} {
			if err := s.Enqueue("a", firq.Task[int]{Payload: i, Deadline: due}); err != nil {
				t.Fatal(err)
			}
		}
		var it anyItem
		var ok bool
		first := outcomeOf(func() { it, ok = s.TryDequeue() })
		if got := drops(); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("%s: OnDrop was told of %v", name, got)
		}
		if name == "panic" {
			if !first.returned || !ok || it.Payload != 3 {
				t.Fatalf("%+v, %t, %+v: the item has not reached its caller", first, ok, it)
			}
			ctx := context.Background()
			if next := outcomeOf(func() { _, _ = s.Dequeue(ctx) }); next.panicked != errPanic {
				t.Fatalf("the next call: %+v", next)
			}
			it.Done()
		}
		if it, ok = s.TryDequeue(); !ok || it.Payload != 4 {
			t.Fatalf("%s: then %+v, %t", name, it, ok)
		}
		it.Done()
		if st := s.Stats(); st.Dequeued != 2 || st.Expired != 3 || st.InFlight != 0 || st.QueueLen != 0 {
			t.Errorf("%s: Dequeued %d, Expired %d, InFlight %d, QueueLen %d", name, st.Dequeued, st.Expired, st.InFlight, st.QueueLen)
		}
	}
}

// panicBatch: what one shard has delivered reaches the caller, though OnDrop fails for
// the tasks of another one, which delivers nothing.
func panicBatch(t *testing.T, newSched anyMaker) {
	onDrop, drops := told(failures["panic"])
	s := openAny(t, newSched, anyConfig{Shards: 8, OnDrop: onDrop})
	late := time.Now().Add(-time.Second)
	for i := range 40 {
		if err := s.Enqueue(i, firq.Task[int]{Payload: i, Deadline: late}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		if err := s.Enqueue(100+i, firq.Task[int]{Payload: 100 + i}); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for calls := 0; s.Len() > 0 || calls < 50; calls++ {
		if calls > 200 {
			t.Fatalf("%d tasks are left", s.Len())
		}
		dst := make([]anyItem, 16)
		n := 0
		ctx, cancel := context.WithCancel(context.Background())
		if s.Len() == 0 {
			cancel()
		}
		call := outcomeOf(func() { n, _ = s.DequeueBatch(ctx, dst) })
		cancel()
		for _, it := range dst {
			if it.Tenant != nil {
				got = append(got, it.Payload)
				n--
			}
		}
		if n != 0 || !call.returned && call.panicked != errPanic {
			t.Errorf("%+v, and %d more than it says", call, -n)
		}
	}
	if slices.Sort(got); !slices.Equal(got, []int{100, 101, 102, 103}) || len(drops()) != 40 {
		t.Errorf("delivered %v, dropped %v", got, drops())
	}
}

// panicClose: Close calls OnDrop for every task of every shard, though each call fails.
func panicClose(t *testing.T, newSched anyMaker) {
	const n = 1000
	for name, fail := range failures {
		for _, shards := range []int{1, 4} {
			onDrop, drops := told(fail)
			s := openAny(t, newSched, anyConfig{Shards: shards, OnDrop: onDrop})
			for i := range n {
				if err := s.Enqueue(i%50, firq.Task[int]{Payload: i}); err != nil {
					t.Fatal(err)
				}
			}
			call := outcomeOf(func() { s.Close() })
			if call.returned || name == "panic" && call.panicked != errPanic || name != "panic" && call.panicked != nil {
				t.Errorf("%s: %+v", name, call)
			}
			if got := drops(); len(slices.Compact(got)) != n {
				t.Errorf("%s: OnDrop was told of %d of %d", name, len(got), n)
			}
			if st := s.Stats(); st.Closed != n || st.QueueLen != 0 {
				t.Errorf("%s: Closed %d, QueueLen %d", name, st.Closed, st.QueueLen)
			}
			if err := s.Shutdown(context.Background()); !errors.Is(err, firq.ErrClosed) {
				t.Errorf("%s: Shutdown: %v", name, err)
			}
		}
	}
}

// panicSleepers: OnDrop panics in the call of a consumer that gets an item. Neither that
// call nor the one of another consumer that was asleep panics: the next call does.
func panicSleepers(t *testing.T, newSched anyMaker) {
	synctest.Test(t, func(t *testing.T) {
		onDrop, _ := told(failures["panic"])
		s := openAny(t, newSched, anyConfig{Shards: 1, MaxInFlightPerTenant: 1, OnDrop: onDrop})
		admit := func(k any, x firq.Task[int]) {
			if err := s.Enqueue(k, x); err != nil {
				t.Fatal(err)
			}
		}
		admit("a", firq.Task[int]{})
		held, _ := s.TryDequeue() // until it is Done, both tasks wait
		admit("a", firq.Task[int]{Deadline: time.Now().Add(-time.Second)})
		admit("a", firq.Task[int]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		calls := make(chan outcome, 2)
		for range 2 {
			go func() { calls <- outcomeOf(func() { _, _ = s.Dequeue(ctx) }) }()
		}
		synctest.Wait()
		held.Done()
		synctest.Wait()
		admit("b", firq.Task[int]{})
		for range 2 {
			if call := <-calls; !call.returned {
				t.Errorf("a call that was asleep: %+v", call)
			}
		}
		if call := outcomeOf(func() { s.TryDequeue() }); call.panicked != errPanic {
			t.Errorf("the next call: %+v", call)
		}
	})
}
