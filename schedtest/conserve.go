package schedtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// mixes are configurations under which producers that cancel some of their tasks, and
// consumers, run together. Every accepted task has to end exactly once.
var mixes = []struct {
	name string
	cfg  config
	done bool // items need Done
}{
	{name: "wide limits"},
	{name: "tight limits", cfg: config{MaxGlobal: 8, MaxPerTenant: 3}},
	{name: "one place", cfg: config{MaxGlobal: 1}},
	{name: "DropOldest", cfg: config{MaxGlobal: 40, MaxPerTenant: 3, Backpressure: policy(firq.DropOldest)}},
	{name: "DropNewest", cfg: config{MaxGlobal: 12, MaxPerTenant: 6, Backpressure: policy(firq.DropNewest)}},
	{name: "Wait", cfg: config{MaxGlobal: 4, Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: 50 * time.Microsecond}}},
	{name: "one in flight", cfg: config{MaxInFlightPerTenant: 1, MaxGlobal: 100}, done: true},
	{name: "LIFO, new tenants first", cfg: config{Order: firq.LIFO, NewTenantsFirst: true, MaxGlobal: 100}},
	{name: "AdaptiveLIFO, threshold", cfg: config{Order: firq.AdaptiveLIFO, LowWater: 2, HighWater: 4, DynamicThreshold: 0.3, MaxGlobal: 50}},
	{name: "priorities across, ageing", cfg: config{PriorityScope: firq.PriorityAcrossTenants, PriorityAging: time.Microsecond, MaxGlobal: 100}},
	{name: "tenants forgotten immediately", cfg: config{TenantIdle: 1, MaxGlobal: 100}},
	{name: "age limit", cfg: config{MaxQueueAge: 50 * time.Microsecond, MaxGlobal: 100}},
}

var conserveChecks = func() []check {
	var checks []check
	for _, m := range mixes {
		checks = append(checks, check{name: m.name, run: func(t *testing.T, newSched maker) {
			for _, shards := range []int{1, 2, 8} {
				conserve(t, newSched, m.cfg, shards, m.done, false)
			}
			conserve(t, newSched, m.cfg, 4, m.done, true)
		}})
	}
	return checks
}()

// conserve runs the mix to its end by Shutdown, or to a Close in the middle.
func conserve(t *testing.T, newSched maker, cfg config, shards int, done, closeEarly bool) {
	t.Helper()
	const producers = 3
	each := reps(1000)
	book := newLedger(producers * each)
	cfg.Shards, cfg.OnDrop = shards, book.onDrop
	s := open(t, newSched, cfg)
	var producing, consuming sync.WaitGroup
	var ended atomic.Int32
	for p := range producers {
		producing.Go(func() {
			produce(t, s, book, p*each, each, uint64(shards*10+p))
			ended.Add(1)
		})
	}
	ctx := patient(t)
	for c := range 3 {
		consuming.Go(func() { consume(t, ctx, s, book, c, done) })
	}
	var poked sync.WaitGroup
	poked.Go(func() { // what may be called at any time
		for i := range each {
			s.SetQuantum(tenants(3)[i%3], int64(i%7))
			s.ResetQuantum("tenant-1")
			if st := s.Stats(); st.QueueLen > st.MaxGlobal || s.Len() > st.MaxGlobal {
				t.Errorf("QueueLen %d, MaxGlobal %d", st.QueueLen, st.MaxGlobal)
			}
			runtime.Gosched()
		}
	})
	if closeEarly {
		// Where tasks live for microseconds, all may expire.
		for s.Stats().Dequeued == 0 && ended.Load() < producers && ctx.Err() == nil {
			runtime.Gosched()
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	producing.Wait()
	poked.Wait()
	if err := s.Shutdown(ctx); err != nil && !(closeEarly && errors.Is(err, firq.ErrClosed)) {
		t.Errorf("Shutdown: %v", err)
	}
	consuming.Wait()
	if t.Failed() {
		t.FailNow() // the books below would only repeat it
	}
	book.settle(t, s.Stats())
}

// produce hands in n tasks, some in batches, some of which it cancels.
func produce(t *testing.T, s sched, book *ledger, from, n int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 3))
	names := tenants(9)
	var tickets [8]firq.Ticket
	for i := 0; i < n; {
		id := from + i
		tk := task{Payload: id, Cost: random.Int64N(4), Priority: firq.Priority(random.IntN(7))}
		switch random.IntN(8) {
		case 0:
			tk.Deadline = longPast
		case 1:
			tk.Deadline = time.Now().Add(time.Duration(random.Int64N(int64(time.Millisecond))))
		}
		tenant := names[random.IntN(random.IntN(len(names))+1)] // some are hotter
		slot := random.IntN(len(tickets))
		what := random.IntN(8)
		switch {
		case what == 0 && i+3 <= n:
			batch := []task{tk, {Payload: id + 1}, {Payload: id + 2}}
			k, err := s.EnqueueBatch(tenant, batch)
			for j := range k {
				book.note(id+j, accepted)
			}
			if (k == len(batch)) != (err == nil) {
				t.Errorf("EnqueueBatch of %d: %d, %v", len(batch), k, err)
			}
			i += 3
			continue
		case what < 3:
			tickets[slot].Cancel()
			tk.Ticket = &tickets[slot]
		}
		var err error
		if what == 3 {
			ctx, stop := context.WithTimeout(context.Background(), time.Duration(random.Int64N(int64(time.Millisecond))))
			err = s.EnqueueWait(ctx, tenant, tk)
			stop()
		} else {
			err = s.Enqueue(tenant, tk)
		}
		switch {
		case err == nil:
			book.note(id, accepted)
		case errors.Is(err, firq.ErrRejected):
			runtime.Gosched()
		case !errors.Is(err, firq.ErrClosed):
			t.Errorf("Enqueue: %v", err)
		}
		i++
	}
}

// consume takes single items, or batches, until the scheduler is closed.
func consume(t *testing.T, ctx context.Context, s sched, book *ledger, which int, done bool) {
	dst := make([]item, 5)
	for {
		n, err := 0, error(nil)
		if which == 0 {
			dst[0], err = s.Dequeue(ctx)
			n = 1
		} else {
			n, err = s.DequeueBatch(ctx, dst[:which*2])
			if err == nil && n == 0 {
				t.Error("DequeueBatch: 0, nil")
			}
		}
		if err != nil {
			if !errors.Is(err, firq.ErrClosed) {
				t.Errorf("consumer %d: %v", which, err)
			}
			return
		}
		for i := range dst[:n] {
			book.note(dst[i].Payload, delivered)
			dst[i].Charge(int64(i%3) - 1)
			if done {
				dst[i].Done()
			}
		}
	}
}
