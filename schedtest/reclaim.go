package schedtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Expired tasks hold no capacity that their tenant needs, earn it no share, and delay no
// other task.
var reclaimChecks = []check{
	{name: "expired behind a live task: room for the tenant", run: deadlineReclaimTenant},
	{name: "expired behind a live task: room in the scheduler", run: sharded(deadlineReclaimGlobal)},
	{name: "expired in the queue: room again", run: deadlineReclaimLater},
	{name: "expired tasks of others: room in the scheduler", run: sharded(deadlineReclaimForOthers)},
	{name: "others' expired tasks are not in the way", run: deadlineReclaimOthers},
	{name: "one that has expired among thousands that have not", run: bubbled(deadlineAmongMany)},
	{name: "expired tasks are no reason to evict", run: deadlineNoEvict},
	{name: "bursts of expired tasks buy no share", run: deadlineBursts},
	{name: "a live task behind many expired ones", run: sharded(deadlineMany)},
	{name: "every order discards", run: deadlineOrders},
	{name: "a parked consumer is not given an expired task", run: deadlineParked},
}

// deadlineAmongMany: an implementation may search for expired tasks in small steps, but
// the call that needs the place is not refused.
func deadlineAmongMany(t *testing.T, newSched maker) {
	const n = 3000
	for _, x := range []struct {
		cfg config
		by  string
	}{
		{config{MaxGlobal: n}, "a"},
		{config{MaxGlobal: n}, "b"},
		{config{MaxGlobal: n, Shards: 8}, "b"},
		{config{MaxPerTenant: n}, "a"},
		{config{MaxPerTenant: n, Backpressure: policy(firq.DropOldest)}, "a"},
	} {
		s := open(t, newSched, x.cfg)
		now := time.Now()
		for i := range n - 1 { // these times differ from that one by little, and from now by much
			admit(t, s, "a", task{Payload: i, Deadline: now.Add(45*time.Minute + time.Duration(i))})
		}
		admit(t, s, "a", task{Payload: n, Deadline: now.Add(40 * time.Minute)})
		time.Sleep(41 * time.Minute)
		if err := s.Enqueue(x.by, task{}); err != nil {
			t.Errorf("%+v: Enqueue by %s: %v, with an expired task queued", x.cfg, x.by, err)
		}
		if st := s.Stats(); st.Expired != 1 || st.DroppedPolicy != 0 || st.QueueLen != n {
			t.Errorf("%+v: Expired %d, DroppedPolicy %d, QueueLen %d, want 1, 0, %d", x.cfg, st.Expired, st.DroppedPolicy, st.QueueLen, n)
		}
	}
}

func deadlineReclaimTenant(t *testing.T, newSched maker) {
	for _, order := range []firq.Order{firq.FIFO, firq.LIFO} {
		s := open(t, newSched, config{Shards: 1, MaxPerTenant: 3, Order: order})
		admit(t, s, "a", task{Payload: 1})
		for i := range 200 {
			admit(t, s, "a", expired(i))
		}
		admit(t, s, "a", task{Payload: 2})
		admit(t, s, "a", task{Payload: 3})
		refuse(t, s, "a", task{Payload: 4}, firq.ErrTenantFull)
		length(t, s, 3)
		drain(t, s)
		if st := s.Stats(); st.Expired != 200 || st.Dequeued != 3 {
			t.Errorf("Expired %d, Dequeued %d, want 200, 3", st.Expired, st.Dequeued)
		}
	}
}

func deadlineReclaimGlobal(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxGlobal: 4})
	admit(t, s, "b", task{Payload: 1})
	admit(t, s, "a", task{Payload: 1})
	for i := range 200 {
		admit(t, s, "a", expired(i))
	}
	admit(t, s, "a", task{Payload: 2})
	admit(t, s, "a", task{Payload: 3})
	refuse(t, s, "a", task{Payload: 4}, firq.ErrGlobalFull)
	length(t, s, 4)
}

func deadlineReclaimLater(t *testing.T, newSched maker) {
	for what, cfg := range map[string]config{"tenant": {MaxPerTenant: 5}, "scheduler": {MaxGlobal: 5}} {
		s := open(t, newSched, cfg)
		admit(t, s, "a", task{Payload: 1})
		soon := time.Now().Add(5 * time.Millisecond)
		for i := range 4 {
			admit(t, s, "a", task{Payload: i, Deadline: soon})
		}
		elapse(6 * time.Millisecond)
		for i := range 4 {
			if err := s.Enqueue("a", task{Payload: i}); err != nil {
				t.Errorf("%s full of expired tasks: %v", what, err)
			}
		}
	}
}

// deadlineReclaimForOthers: no task is rejected while all but a few tasks at the front of
// the queues have expired.
func deadlineReclaimForOthers(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxGlobal: 500})
	for i := range 500 {
		tk := expired(i)
		if i < 5 {
			tk.Deadline = time.Time{}
		}
		admit(t, s, "t"+strconv.Itoa(i%5), tk)
	}
	n, err := s.EnqueueBatch("newer", make([]task, 100))
	if n != 100 || err != nil {
		t.Fatalf("shards %d: of a batch %d (%v) although only 5 live tasks are queued", shards, n, err)
	}
	for i := range 395 {
		if err := s.Enqueue("new", task{Payload: i}); err != nil {
			t.Fatalf("shards %d: task %d: %v although only %d live tasks are queued", shards, i, err, 105+i)
		}
	}
	refuse(t, s, "new", task{}, firq.ErrGlobalFull)
}

// deadlineReclaimOthers: more tasks of other tenants have expired, and earlier, than one
// call may drop; the call drops its own tenant's all the same.
func deadlineReclaimOthers(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxPerTenant: 3})
	for _, name := range tenants(reps(3000)) {
		for i := range 3 {
			admit(t, s, name, expired(i))
		}
	}
	admit(t, s, "a", task{Payload: 1})
	for i := range 2 {
		admit(t, s, "a", task{Payload: i, Deadline: longPast.Add(time.Hour)})
	}
	for range 2 {
		if err := s.Enqueue("a", task{Payload: 2}); err != nil {
			t.Fatalf("tenant full of expired tasks: %v", err)
		}
	}
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	same(t, "what is alive", drain(t, s), "a1 a2 a2")
}

func deadlineNoEvict(t *testing.T, newSched maker) {
	var log dropLog
	s := open(t, newSched, config{Shards: 1, MaxPerTenant: 3, Backpressure: policy(firq.DropOldest), OnDrop: log.onDrop})
	admit(t, s, "a", task{Payload: 1})
	admit(t, s, "a", expired(2))
	admit(t, s, "a", task{Payload: 3})
	admit(t, s, "a", task{Payload: 4})
	same(t, "drops", log.all(), "a2 expired")
	admit(t, s, "a", task{Payload: 5})
	same(t, "drops", log.all(), "a2 expired, a1 evicted")
	same(t, "the rest", drain(t, s), "a3 a4 a5")
}

// deadlineBursts: a tenant that fills up with expired tasks over and over must not enter
// the round robin more than once, or it would get several turns a round.
func deadlineBursts(t *testing.T, newSched maker) {
	for _, dequeues := range []int{0, 1, 3} {
		s := open(t, newSched, config{Shards: 1, MaxPerTenant: 32})
		load(t, s, "b", 30)
		load(t, s, "c", 30)
		for range 100 {
			for i := range 32 {
				admit(t, s, "a", expired(i))
			}
			if dequeues > 0 {
				serve(t, s, dequeues)
			}
		}
		load(t, s, "a", 30)
		work := serve(t, s, 3000)
		for _, other := range []string{"b", "c"} {
			t.Run(fmt.Sprint(other, dequeues), func(t *testing.T) { within(t, work["a"], work[other], 1, 0.03) })
		}
	}
}

func deadlineMany(t *testing.T, newSched maker, shards int) {
	n := reps(30_000)
	s := open(t, newSched, config{Shards: shards})
	for i := range n {
		admit(t, s, "t"+strconv.Itoa(i%3), expired(i))
	}
	admit(t, s, "t0", task{Payload: -1})
	admit(t, s, "live", task{Payload: -2})
	a, b := take(t, s), take(t, s)
	if a.Payload+b.Payload != -3 {
		t.Errorf("delivered %s and %s", show(a), show(b))
	}
	for i := range n {
		admit(t, s, "one-shot-"+strconv.Itoa(i), expired(i))
	}
	admit(t, s, "live", task{Payload: -2})
	if it := take(t, s); it.Payload != -2 {
		t.Errorf("delivered %s", show(it))
	}
	idle(t, s)
	await(t, "the expired tasks to be worked off", func() bool { idle(t, s); return s.Len() == 0 })
	if got := s.Stats().Expired; got != uint64(2*n) {
		t.Errorf("Expired is %d, want %d", got, 2*n)
	}
}

func deadlineOrders(t *testing.T, newSched maker) {
	for _, cfg := range []config{
		{Order: firq.LIFO},
		{Order: firq.AdaptiveLIFO, LowWater: 2, HighWater: 4},
		{PriorityScope: firq.PriorityAcrossTenants},
		{PriorityAging: time.Microsecond},
		{NewTenantsFirst: true},
		{MaxInFlightPerTenant: 10},
	} {
		s := open(t, newSched, cfg)
		for i := range 10 {
			admit(t, s, "a", task{Payload: i, Deadline: longPast, Priority: firq.Priority(i % 7)})
			admit(t, s, "b", task{Payload: i, Priority: firq.Priority(i % 7)})
		}
		for range 10 {
			if it := take(t, s); it.Tenant != "b" {
				t.Errorf("%+v: delivered %s", cfg, show(it))
			}
		}
		idle(t, s)
		length(t, s, 0)
	}
}

func deadlineParked(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	var it item
	var err error
	together(2, func(i int) {
		if i == 0 {
			it, err = s.Dequeue(ctx)
			return
		}
		for k := range 20 {
			_ = s.Enqueue("a", expired(k))
			time.Sleep(time.Millisecond)
		}
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dequeue: %s, %v, want context.DeadlineExceeded", show(it), err)
	}
}
