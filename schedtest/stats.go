package schedtest

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// What Stats says beyond the sums that every check looks at in the end.
var statsChecks = []check{
	{name: "of a fresh scheduler", run: statsFresh},
	{name: "queue time", run: statsQueueTime},
	{name: "queue time of long waits", run: statsLongWait},
	{name: "top tenants", run: statsTop},
	{name: "top tenants are bounded, or off", run: statsTopBounded},
	{name: "counters only grow", run: statsMonotonic},
	{name: "a batch counts each task", run: statsBatch},
	{name: "a batch counts each task that a limit refused", run: statsBatchRefused},
	{name: "a batch that is invalid or too late counts no rejection", run: statsBatchNotCounted},
	{name: "a snapshot is the caller's", run: statsOwn},
}

func statsFresh(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 10})
	st := s.Stats()
	if st.MaxGlobal != 10 || st.QueueSaturation != 0 || st.Tenants != 0 || st.Enqueued != 0 ||
		st.QueueTime.Samples != 0 || st.QueueTime.P999 != 0 || len(st.TopTenants) != 0 {
		t.Errorf("Stats of a fresh scheduler: %+v", st)
	}
	load(t, s, "a", 3)
	load(t, s, "b", 2)
	if st = s.Stats(); st.QueueLen != 5 || st.QueueSaturation != 0.5 || st.Tenants != 2 || st.Enqueued != 5 {
		t.Errorf("Stats with 5 of 10 queued: %+v", st)
	}
}

func statsQueueTime(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 2})
	var sum, most time.Duration
	for i := range 1000 {
		load(t, s, fmt.Sprint("t", i%5), 1)
		if i%10 != 0 {
			continue
		}
		for range 10 {
			if it, ok := s.TryDequeue(); ok {
				sum, most = sum+it.Wait, max(most, it.Wait)
			}
		}
	}
	for {
		it, ok := s.TryDequeue()
		if !ok {
			break
		}
		sum, most = sum+it.Wait, max(most, it.Wait)
	}
	q := s.Stats().QueueTime
	if q.Samples != 1000 {
		t.Fatalf("%d samples of 1000 deliveries", q.Samples)
	}
	near := func(a, b time.Duration) bool { return (a - b).Abs() <= b/10+time.Microsecond }
	if !near(q.Sum, sum) || !near(q.Max, most) {
		t.Errorf("Sum %v, Max %v, the items say %v, %v", q.Sum, q.Max, sum, most)
	}
	if q.P50 > q.P95 || q.P95 > q.P99 || q.P99 > q.P999 || q.P999 > q.Max+q.Max/10 || q.P50 < 0 {
		t.Errorf("percentiles %v %v %v %v, Max %v", q.P50, q.P95, q.P99, q.P999, q.Max)
	}
	n, last := uint64(0), time.Duration(-1)
	for _, b := range q.Buckets {
		if n += b.Count; b.UpperBound <= last {
			t.Errorf("bucket bounds are not ascending: %v after %v", b.UpperBound, last)
		}
		last = b.UpperBound
	}
	if n != q.Samples {
		t.Errorf("the buckets hold %d of %d samples", n, q.Samples)
	}
}

// statsLongWait: percentiles are within 5 % of the waits. With a dozen buckets a wait of
// 20 ms would be reported as 50.
func statsLongWait(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	load(t, s, "a", 10)
	elapse(20 * time.Millisecond)
	var least, most time.Duration
	for range 10 {
		w := take(t, s).Wait
		most = max(most, w)
		if least == 0 || w < least {
			least = w
		}
	}
	q := s.Stats().QueueTime
	for _, p := range []time.Duration{q.P50, q.P95, q.P99, q.P999, q.Max} {
		if p < least-least/20 || p > most+most/20 {
			t.Errorf("P50 %v, P95 %v, P99 %v, P999 %v, Max %v after waits of %v to %v", q.P50, q.P95, q.P99, q.P999, q.Max, least, most)
			break
		}
	}
}

func statsTop(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 4, TopTenants: 3})
	for i := range 3000 {
		tenant := fmt.Sprint("cold", i%50)
		if i%2 == 0 {
			tenant = "hot"
		}
		admit(t, s, tenant, task{})
		take(t, s)
	}
	top := s.Stats().TopTenants
	if len(top) < 1 || len(top) > 3 || top[0].Tenant != "hot" {
		t.Fatalf("TopTenants is %v, want hot first", top)
	}
	for i := 1; i < len(top); i++ {
		if top[i].Dequeued > top[i-1].Dequeued {
			t.Errorf("TopTenants is not sorted: %v", top)
		}
	}
	if n := top[0].Dequeued; n < 1350 || n > 1650 {
		t.Errorf("hot was delivered 1500 times, TopTenants says %d", n)
	}
}

func statsTopBounded(t *testing.T, newSched maker) {
	for set, most := range map[int]int{-1: 0, 0: firq.DefaultTopTenants, 1: 1, 5: 5} {
		s := open(t, newSched, config{TopTenants: set})
		for _, name := range tenants(100) {
			load(t, s, name, 2)
		}
		drain(t, s)
		if n := len(s.Stats().TopTenants); n > most || (n == 0) != (most == 0) {
			t.Errorf("TopTenants %d gives %d rows, want at most %d", set, n, most)
		}
	}
}

func statsMonotonic(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 4, MaxGlobal: 20, MaxPerTenant: 6, Backpressure: policy(firq.DropOldest)})
	var stop atomic.Bool
	together(3, func(i int) {
		switch i {
		case 0:
			defer stop.Store(true)
			for k := range reps(5000) {
				tk := task{Payload: k, Priority: firq.Priority(1 + k%6)}
				if k%5 == 0 {
					tk.Deadline = longPast
				}
				_ = s.Enqueue(fmt.Sprint("t", k%7), tk)
			}
		case 1:
			for !stop.Load() {
				s.TryDequeue()
				runtime.Gosched()
			}
		default:
			var last [9]uint64
			for !stop.Load() {
				st := s.Stats()
				now := [9]uint64{st.Enqueued, st.Dequeued, st.Expired, st.Cancelled, st.RejectedGlobal,
					st.RejectedTenant, st.DroppedPolicy, st.Dropped, st.QueueTime.Samples}
				for j := range now {
					if now[j] < last[j] {
						t.Errorf("counter %d fell from %d to %d", j, last[j], now[j])
					}
				}
				last = now
				if st.QueueLen < 0 || st.QueueLen > 20 {
					t.Errorf("QueueLen is %d", st.QueueLen)
				}
				runtime.Gosched()
			}
		}
	})
	balanced(t, s.Stats())
}

func statsBatch(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	admitBatch(t, s, "a", make([]task, 20), 20, nil)
	if n, err := s.DequeueBatch(patient(t), make([]item, 15)); n != 15 || err != nil {
		t.Fatalf("DequeueBatch: %d, %v", n, err)
	}
	st := s.Stats()
	if st.Enqueued != 20 || st.Dequeued != 15 || st.QueueLen != 5 || st.QueueTime.Samples != 15 {
		t.Errorf("Enqueued %d, Dequeued %d, QueueLen %d, Samples %d, want 20, 15, 5, 15", st.Enqueued, st.Dequeued, st.QueueLen, st.QueueTime.Samples)
	}
}

// statsBatchRefused: a batch counts as if its tasks had been enqueued one by one, with
// those after the refused one refused too.
func statsBatchRefused(t *testing.T, newSched maker) {
	batch := make([]task, 50) // more than go together in one step
	urgent := task{Payload: 1, Priority: firq.PriorityCritical}
	for _, x := range []struct {
		cfg                     config
		accepted                int
		want                    error
		global, tenant, timeout uint64
	}{
		{config{MaxGlobal: 4}, 3, firq.ErrGlobalFull, 47, 0, 0},
		{config{MaxGlobal: 1}, 0, firq.ErrGlobalFull, 50, 0, 0},
		{config{MaxPerTenant: 40}, 39, firq.ErrTenantFull, 0, 11, 0},
		{config{MaxGlobal: 8, DynamicThreshold: 1}, 3, firq.ErrTenantThreshold, 0, 47, 0},
		{config{MaxGlobal: 4, Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Millisecond}}, 3, firq.ErrTimeout, 0, 0, 47},
		{config{MaxPerTenant: 1, Backpressure: policy(firq.DropOldest)}, 0, firq.ErrTenantFull, 0, 50, 0},
		{config{MaxPerTenant: 51, Backpressure: policy(firq.DropNewest)}, 50, nil, 0, 0, 0},
	} {
		s := open(t, newSched, x.cfg)
		admit(t, s, "a", urgent) // nothing of the batch may evict it
		admitBatch(t, s, "a", batch, x.accepted, x.want)
		rejections(t, s, x.global, x.tenant, x.timeout)
		if st := s.Stats(); st.Dropped != x.global+x.tenant+x.timeout || st.Enqueued != uint64(1+x.accepted) {
			t.Errorf("after %v Dropped is %d, Enqueued %d", x.want, st.Dropped, st.Enqueued)
		}
	}
	s := open(t, newSched, config{MaxTenants: 1})
	load(t, s, "a", 1)
	admitBatch(t, s, "b", batch, 0, firq.ErrTooManyTenants)
	rejections(t, s, 0, 50, 0)
}

func statsBatchNotCounted(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 3})
	if n, err := s.EnqueueBatch("a", []task{{}, {}, {Cost: -1}, {}}); n != 2 || !errors.Is(err, firq.ErrInvalidTask) {
		t.Errorf("EnqueueBatch with an invalid third task: %d, %v", n, err)
	}
	s.Close()
	admitBatch(t, s, "a", make([]task, 9), 0, firq.ErrClosed)
	rejections(t, s, 0, 0, 0)
}

func statsOwn(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	load(t, s, "a", 2)
	take(t, s)
	st := s.Stats()
	for i := range st.TopTenants {
		st.TopTenants[i].Dequeued = 1 << 40
	}
	for i := range st.QueueTime.Buckets {
		st.QueueTime.Buckets[i].Count = 1 << 40
	}
	take(t, s)
	now := s.Stats()
	for _, row := range now.TopTenants {
		if row.Dequeued != 2 {
			t.Errorf("TopTenants says %d, want 2", row.Dequeued)
		}
	}
	n := uint64(0)
	for _, b := range now.QueueTime.Buckets {
		n += b.Count
	}
	if n != 2 {
		t.Errorf("the buckets hold %d samples, want 2", n)
	}
}
