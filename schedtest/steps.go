package schedtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// open builds a scheduler. At the end of a test that has passed so far, it closes it and
// checks that its counters add up.
func open(t *testing.T, newSched maker, cfg config) sched {
	t.Helper()
	s, err := newSched(cfg)
	if err != nil {
		t.Fatalf("new scheduler: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // calls may still be stuck
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v, want nil", err)
		}
		balanced(t, s.Stats())
		if n := s.Len(); n != 0 {
			t.Errorf("Len after Close is %d, want 0", n)
		}
	})
	return s
}

// balanced checks the sums of counters that hold while no call is in progress.
func balanced(t *testing.T, st stats) {
	t.Helper()
	if out := st.Dequeued + st.Expired + st.Cancelled + st.DroppedPolicy + st.Overload + st.Closed + uint64(st.QueueLen); st.Enqueued != out {
		t.Errorf("at rest Enqueued is %d, but Dequeued %d + Expired %d + Cancelled %d + DroppedPolicy %d + Overload %d + Closed %d + QueueLen %d is %d",
			st.Enqueued, st.Dequeued, st.Expired, st.Cancelled, st.DroppedPolicy, st.Overload, st.Closed, st.QueueLen, out)
	}
	if sum := st.RejectedGlobal + st.RejectedTenant + st.TimeoutRejected + st.DroppedPolicy; st.Dropped != sum {
		t.Errorf("Dropped is %d, but RejectedGlobal %d + RejectedTenant %d + TimeoutRejected %d + DroppedPolicy %d is %d",
			st.Dropped, st.RejectedGlobal, st.RejectedTenant, st.TimeoutRejected, st.DroppedPolicy, sum)
	}
}

// admit enqueues a task that must be accepted.
func admit(t *testing.T, s sched, tenant string, tk task) {
	t.Helper()
	if err := s.Enqueue(tenant, tk); err != nil {
		t.Fatalf("Enqueue(%q, %+v): %v, want nil", tenant, tk, err)
	}
}

// refuse enqueues a task that must be answered with exactly this error.
func refuse(t *testing.T, s sched, tenant string, tk task, want error) {
	t.Helper()
	err := s.Enqueue(tenant, tk)
	if !errors.Is(err, want) {
		t.Fatalf("Enqueue(%q, %+v): %v, want %v", tenant, tk, err, want)
	}
}

// admitBatch enqueues tasks by one call, which must accept the first n and return exactly want.
func admitBatch(t *testing.T, s sched, tenant string, ts []task, n int, want error) {
	t.Helper()
	if got, err := s.EnqueueBatch(tenant, ts); got != n || err != want {
		t.Fatalf("EnqueueBatch(%q) of %d tasks: %d, %v, want %d, %v", tenant, len(ts), got, err, n, want)
	}
}

// mustCancel cancels a task that must be queued.
func mustCancel(t *testing.T, tk *firq.Ticket) {
	t.Helper()
	if !tk.Cancel() {
		t.Fatal("Cancel of a queued task is false")
	}
}

// load enqueues n tasks of cost 1, with payloads 1 to n.
func load(t *testing.T, s sched, tenant string, n int) {
	t.Helper()
	for i := range n {
		admit(t, s, tenant, task{Payload: i + 1})
	}
}

// loadCosts enqueues tasks of the given costs, with payloads from 1.
func loadCosts(t *testing.T, s sched, tenant string, costs ...int64) {
	t.Helper()
	for i, c := range costs {
		admit(t, s, tenant, task{Payload: i + 1, Cost: c})
	}
}

// take dequeues an item that must be there.
func take(t *testing.T, s sched) item {
	t.Helper()
	it, ok := s.TryDequeue()
	if !ok {
		t.Fatalf("TryDequeue reports false with %d tasks queued", s.Len())
	}
	return it
}

// show writes an item as in "a1": tenant a, payload 1.
func show(it item) string { return fmt.Sprintf("%s%d", it.Tenant, it.Payload) }

// next dequeues n items, as in "a1 b1 a2".
func next(t *testing.T, s sched, n int) string {
	t.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = show(take(t, s))
	}
	return strings.Join(names, " ")
}

// drain dequeues until nothing is deliverable.
func drain(t *testing.T, s sched) string {
	t.Helper()
	var names []string
	for {
		it, ok := s.TryDequeue()
		if !ok {
			return strings.Join(names, " ")
		}
		names = append(names, show(it))
	}
}

// same fails unless both orders of service are equal.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// idle checks that nothing is deliverable.
func idle(t *testing.T, s sched) {
	t.Helper()
	if it, ok := s.TryDequeue(); ok {
		t.Fatalf("TryDequeue delivers %s, want nothing", show(it))
	}
}

// length checks Len.
func length(t *testing.T, s sched, want int) {
	t.Helper()
	if n := s.Len(); n != want {
		t.Fatalf("Len is %d, want %d", n, want)
	}
}

// patient returns a context that ends only if a wake-up was lost.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// await polls until another goroutine, or time, has made the condition true.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// elapse returns once d has passed.
func elapse(d time.Duration) {
	for start := time.Now(); time.Since(start) <= d; {
		time.Sleep(d / 4)
	}
}

// together runs n goroutines that start at the same moment, and waits for them.
func together(n int, run func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			run(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// linger varies how far goroutines that were just started have come: some have parked,
// some are on their way, some have not begun. The checks hold in each case.
func linger(i int) {
	switch i % 4 {
	case 0:
	case 1:
		for range i % 40 {
			runtime.Gosched()
		}
	default:
		time.Sleep(time.Duration(i%7) * 20 * time.Microsecond)
	}
}

// tenants returns n names.
func tenants(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%d", i)
	}
	return names
}

// reps reduces the number of iterations with -short and under the race
// detector, and most with both.
func reps(n int) int {
	switch {
	case testing.Short() && race.Enabled:
		n /= 30
	case testing.Short():
		n /= 10
	case race.Enabled:
		n /= 3
	}
	return max(n, 1)
}

var longPast = time.Unix(1_000_000_000, 0)

// expired is a task whose deadline has long passed.
func expired(payload int) task { return task{Payload: payload, Deadline: longPast} }

// dropLog records the calls of OnDrop. Safe for concurrent use.
type dropLog struct {
	mu    sync.Mutex
	lines []string
}

func (d *dropLog) onDrop(tenant string, payload int, why firq.DropReason) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%s%d %v", tenant, payload, why))
}

// all returns what was dropped, as in "a1 expired, a2 evicted".
func (d *dropLog) all() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, ", ")
}
