package schedtest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// Queue time and age begin when a task is admitted, not when its producer began to
// wait for room.
var admissionChecks = []check{
	{name: "MaxQueueAge does not count the wait for room", run: bubbled(admissionAge)},
	{name: "a batch that waited", run: bubbled(admissionBatch)},
	{name: "a batch that waited again and again", run: bubbled(admissionBatchAgain)},
	{name: "a task's own deadline is not moved by the wait", run: bubbled(admissionOwn)},
}

// bubbled runs a check in a bubble of testing/synctest.
func bubbled(run func(*testing.T, maker)) func(*testing.T, maker) {
	return func(t *testing.T, newSched maker) {
		synctest.Test(t, func(t *testing.T) { run(t, newSched) })
	}
}

// Producers wait for room longer than a task may be queued. The tasks that fill the
// scheduler have deadlines far ahead.
const (
	longWait = 10 * time.Second
	shortAge = time.Second
)

// waysToWait are the calls that wait, with the config that makes them.
func waysToWait(cfg config) map[string]struct {
	cfg  config
	call func(*testing.T, sched, string, ...task) error
} {
	type way = struct {
		cfg  config
		call func(*testing.T, sched, string, ...task) error
	}
	waits := cfg
	waits.Backpressure = firq.Backpressure{Policy: firq.Wait, Wait: time.Hour}
	return map[string]way{
		"Enqueue": {waits, func(_ *testing.T, s sched, tenant string, ts ...task) error { return s.Enqueue(tenant, ts[0]) }},
		"EnqueueWait": {cfg, func(t *testing.T, s sched, tenant string, ts ...task) error {
			return s.EnqueueWait(t.Context(), tenant, ts[0])
		}},
		"EnqueueBatch": {waits, func(_ *testing.T, s sched, tenant string, ts ...task) error {
			_, err := s.EnqueueBatch(tenant, ts)
			return err
		}},
	}
}

// waited starts the call, lets it wait for long, makes room by one dequeue, and returns the
// call's error.
func waited(t *testing.T, s sched, call func() error) error {
	t.Helper()
	answer := make(chan error, 1)
	go func() { answer <- call() }()
	time.Sleep(longWait)
	select {
	case err := <-answer:
		t.Fatalf("the call did not wait: %v", err)
	default:
	}
	take(t, s)
	synctest.Wait()
	select {
	case err := <-answer:
		return err
	default:
		t.Fatal("there is room, and the call waits")
		return nil
	}
}

func admissionAge(t *testing.T, newSched maker) {
	for _, cfg := range []config{{MaxGlobal: 1, MaxQueueAge: shortAge}, {MaxPerTenant: 1, MaxQueueAge: shortAge}} {
		for name, way := range waysToWait(cfg) {
			s := open(t, newSched, way.cfg)
			admit(t, s, "a", task{Payload: 1, Deadline: time.Now().Add(time.Hour)})
			wait := func() {
				if err := waited(t, s, func() error { return way.call(t, s, "a", task{Payload: 2}) }); err != nil {
					t.Fatalf("%s: %v, want nil", name, err)
				}
			}
			wait()
			admitted := time.Now()
			time.Sleep(shortAge / 2)
			it := take(t, s)
			if it.Payload != 2 || it.Wait != shortAge/2 || !it.Deadline.Equal(admitted.Add(shortAge)) {
				t.Errorf("%s: delivered %s after %v, with a deadline %v after its admission, want %v, %v",
					name, show(it), it.Wait, it.Deadline.Sub(admitted), shortAge/2, shortAge)
			}
			if q := s.Stats().QueueTime; q.Max > longWait+longWait/10 || q.Sum != longWait+shortAge/2 {
				t.Errorf("%s: queue times up to %v, %v in all, of %v and %v", name, q.Max, q.Sum, longWait, shortAge/2)
			}
			admit(t, s, "a", task{Payload: 1, Deadline: time.Now().Add(time.Hour)})
			wait()
			time.Sleep(shortAge + time.Millisecond)
			idle(t, s)
		}
	}
}

// admissionBatch: the first task waits, the others come in together with it.
func admissionBatch(t *testing.T, newSched maker) {
	const n = 4
	for _, tenant := range []string{"a", "b"} { // a known one, and a new one
		s := open(t, newSched, config{
			MaxGlobal: n, MaxQueueAge: shortAge,
			Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Hour},
		})
		for range n {
			admit(t, s, "a", task{Deadline: time.Now().Add(time.Hour)})
		}
		answer := make(chan error, 1)
		go func() {
			_, err := s.EnqueueBatch(tenant, make([]task, n))
			answer <- err
		}()
		time.Sleep(longWait)
		// In one call, or the batch could come in between and have its turn.
		if got, err := s.DequeueBatch(patient(t), make([]item, n)); got != n || err != nil {
			t.Fatalf("DequeueBatch: %d, %v", got, err)
		}
		synctest.Wait()
		if err := <-answer; err != nil {
			t.Fatalf("EnqueueBatch: %v", err)
		}
		time.Sleep(shortAge / 2)
		for i := range n {
			if it := take(t, s); it.Wait != shortAge/2 {
				t.Errorf("tenant %s: task %d of the batch was queued for %v, and says %v", tenant, i, shortAge/2, it.Wait)
			}
		}
	}
}

// admissionBatchAgain: each task of the batch waits, and each counts from its own
// admission.
func admissionBatchAgain(t *testing.T, newSched maker) {
	s := open(t, newSched, config{
		MaxGlobal: 1, MaxQueueAge: shortAge,
		Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Hour},
	})
	admit(t, s, "a", task{Deadline: time.Now().Add(time.Hour)})
	answer := make(chan error, 1)
	go func() {
		_, err := s.EnqueueBatch("a", make([]task, 3))
		answer <- err
	}()
	time.Sleep(longWait)
	take(t, s)
	for i := range 3 {
		synctest.Wait()
		time.Sleep(shortAge / 2)
		if it := take(t, s); it.Wait != shortAge/2 {
			t.Errorf("task %d of the batch was queued for %v, and says %v", i, shortAge/2, it.Wait)
		}
	}
	if err := <-answer; err != nil {
		t.Errorf("EnqueueBatch: %v", err)
	}
}

// admissionOwn: a task whose own deadline passes while its producer waits is accepted and
// expires, like one whose deadline has passed before the call; also if the deadline is the
// one that MaxQueueAge would have set.
func admissionOwn(t *testing.T, newSched maker) {
	for name, way := range waysToWait(config{MaxGlobal: 1, MaxQueueAge: shortAge}) {
		s := open(t, newSched, way.cfg)
		admit(t, s, "a", task{Payload: 1, Deadline: time.Now().Add(time.Hour)})
		own := task{Payload: 2, Deadline: time.Now().Add(shortAge)}
		if err := waited(t, s, func() error { return way.call(t, s, "a", own) }); err != nil {
			t.Errorf("%s: %v, want nil: it is accepted, and expires", name, err)
		}
		idle(t, s)
		if st := s.Stats(); st.Expired != 1 || st.Enqueued != 2 {
			t.Errorf("%s: Expired %d, Enqueued %d, want 1, 2", name, st.Expired, st.Enqueued)
		}
	}
}
