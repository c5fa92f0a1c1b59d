package schedtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// Waiting for capacity: the policy Wait, and EnqueueWait.
var waitChecks = []check{
	{name: "the policy times out with ErrTimeout", run: waitPolicy},
	{name: "the policy is woken by capacity", run: waitPolicyWoken},
	{name: "EnqueueWait does not wait while there is capacity", run: waitNone},
	{name: "EnqueueWait ends with ctx", run: waitContext},
	{name: "EnqueueWait waits whatever the policy", run: waitAnyPolicy},
	{name: "woken by a dequeue", run: func(t *testing.T, m maker) { wokenBy(t, m, func(s sched, _ *firq.Ticket) { s.TryDequeue() }) }},
	{name: "woken by a batch", run: func(t *testing.T, m maker) {
		wokenBy(t, m, func(s sched, _ *firq.Ticket) { _, _ = s.DequeueBatch(context.Background(), make([]item, 8)) })
	}},
	{name: "woken by Cancel", run: func(t *testing.T, m maker) { wokenBy(t, m, func(_ sched, tk *firq.Ticket) { tk.Cancel() }) }},
	{name: "woken by expiry found at a dequeue", run: waitExpiry},
	{name: "woken by expiry without another call", run: waitExpiryAlone},
	{name: "woken by expiry of a task that came later", run: bubbled(waitExpiryLater)},
	{name: "woken by expiry of a task that waited, too", run: bubbled(waitExpiryWaited)},
	{name: "woken by Close", run: waitClose},
	{name: "woken by Shutdown", run: waitShutdown},
	{name: "a threshold is waited for too", run: waitThreshold},
}

// waiters starts n goroutines that call EnqueueWait on a full scheduler and send its error.
// It returns when all have started, though perhaps before they wait.
func waiters(t *testing.T, s sched, ctx context.Context, tenant string, n int) <-chan error {
	answers := make(chan error, n)
	started := make(chan bool, n)
	for i := range n {
		go func() {
			started <- true
			answers <- s.EnqueueWait(ctx, tenant, task{Payload: 1000 + i})
		}()
	}
	for range n {
		<-started
	}
	return answers
}

// answer receives from answers, or fails the test after patience.
func answer(t *testing.T, answers <-chan error, what string) error {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-answers:
		return err
	case <-timer.C:
		t.Fatalf("%s: none was woken within %v", what, patience)
		return nil
	}
}

// gets fails unless the next answer is exactly want.
func gets(t *testing.T, answers <-chan error, what string, want error) {
	t.Helper()
	if err := answer(t, answers, what); err != want {
		t.Fatalf("%s: %v, want %v", what, err, want)
	}
}

func waitPolicy(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxPerTenant: 1, Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: 5 * time.Millisecond}})
	load(t, s, "a", 1)
	before := time.Now()
	err := s.Enqueue("a", task{})
	if err != firq.ErrTimeout {
		t.Errorf("Enqueue: %v, want ErrTimeout", err)
	}
	if d := time.Since(before); d < 5*time.Millisecond {
		t.Errorf("Enqueue gave up after %v, want 5ms", d)
	}
	admitBatch(t, s, "a", make([]task, 2), 0, firq.ErrTimeout)
	if st := s.Stats(); st.TimeoutRejected < 2 || st.RejectedTenant != 0 || st.QueueLen != 1 {
		t.Errorf("TimeoutRejected %d, RejectedTenant %d, QueueLen %d", st.TimeoutRejected, st.RejectedTenant, st.QueueLen)
	}
	load(t, s, "b", 1) // others do not wait

	s = open(t, newSched, config{MaxPerTenant: 3, Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Millisecond}})
	load(t, s, "a", 1)
	admitBatch(t, s, "a", make([]task, 4), 2, firq.ErrTimeout)
}

func waitPolicyWoken(t *testing.T, newSched maker) {
	for _, cfg := range []config{{MaxGlobal: 1}, {MaxPerTenant: 1}} {
		cfg.Backpressure = firq.Backpressure{Policy: firq.Wait, Wait: time.Hour}
		s := open(t, newSched, cfg)
		load(t, s, "a", 1)
		answers := make(chan error, 1)
		go func() { answers <- s.Enqueue("a", task{Payload: 2}) }()
		take(t, s)
		gets(t, answers, "capacity came free", nil)
		same(t, "what waited", drain(t, s), "a2")
	}
}

func waitNone(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	for i := range 10 {
		if err := s.EnqueueWait(patient(t), "a", task{Payload: i + 1}); err != nil {
			t.Fatalf("EnqueueWait: %v", err)
		}
	}
	same(t, "in order", drain(t, s), "a1 a2 a3 a4 a5 a6 a7 a8 a9 a10")
}

func waitContext(t *testing.T, newSched maker) {
	cause := context.DeadlineExceeded
	for _, cfg := range []config{{MaxGlobal: 1}, {MaxPerTenant: 1}} {
		s := open(t, newSched, cfg)
		load(t, s, "a", 1)
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Millisecond)
		defer stop()
		err := s.EnqueueWait(ctx, "a", task{})
		if !errors.Is(err, firq.ErrTimeout) || !errors.Is(err, firq.ErrRejected) || !errors.Is(err, cause) {
			t.Errorf("EnqueueWait: %v, want ErrTimeout and %v", err, cause)
		}
		err = s.EnqueueWait(canceled(), "a", task{})
		if !errors.Is(err, firq.ErrTimeout) || !errors.Is(err, context.Canceled) {
			t.Errorf("EnqueueWait: %v, want ErrTimeout and %v", err, context.Canceled)
		}
		later, cancel := context.WithCancel(context.Background())
		answers := waiters(t, s, later, "a", 3)
		cancel()
		for range 3 {
			if err := answer(t, answers, "ctx was cancelled"); !errors.Is(err, context.Canceled) {
				t.Errorf("EnqueueWait: %v, want %v", err, context.Canceled)
			}
		}
		rejections(t, s, 0, 0, 5)
		length(t, s, 1)
	}
}

func waitAnyPolicy(t *testing.T, newSched maker) {
	for _, p := range []firq.Backpressure{
		policy(firq.Reject), policy(firq.DropOldest), policy(firq.DropNewest), {Policy: firq.Wait, Wait: 1},
	} {
		var log dropLog
		s := open(t, newSched, config{Shards: 1, MaxPerTenant: 1, Backpressure: p, OnDrop: log.onDrop})
		load(t, s, "a", 1)
		answers := waiters(t, s, patient(t), "a", 1)
		for range 10 {
			time.Sleep(100 * time.Microsecond) // a chance to go wrong
			length(t, s, 1)
		}
		same(t, "the first", show(take(t, s)), "a1")
		gets(t, answers, "capacity came free", nil)
		same(t, "the second", drain(t, s), "a1000")
		same(t, "drops", log.all(), "")
	}
}

// wokenBy checks that what frees one place wakes a call that waits for it.
func wokenBy(t *testing.T, newSched maker, free func(sched, *firq.Ticket)) {
	for _, cfg := range []config{{MaxGlobal: 1}, {MaxPerTenant: 1}, {MaxGlobal: 1, Shards: 8}} {
		s := open(t, newSched, cfg)
		for range reps(200) {
			var tk firq.Ticket
			admit(t, s, "a", task{Ticket: &tk})
			answers := waiters(t, s, patient(t), "a", 1)
			free(s, &tk)
			gets(t, answers, "capacity came free", nil)
			drain(t, s) // a batch may have taken it already
			length(t, s, 0)
		}
	}
}

func waitExpiry(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 2})
	soon := time.Now().Add(2 * time.Millisecond)
	admit(t, s, "a", task{Payload: 1, Deadline: soon})
	admit(t, s, "a", task{Payload: 2, Deadline: soon})
	answers := waiters(t, s, patient(t), "b", 2)
	elapse(3 * time.Millisecond)
	if it, ok := s.TryDequeue(); ok && it.Tenant == "a" {
		t.Errorf("delivered %s after its deadline", show(it))
	}
	for range 2 {
		gets(t, answers, "the queue was found expired", nil)
	}
}

// waitExpiryAlone: the tenant's own tasks expire, and no other call drops them.
func waitExpiryAlone(t *testing.T, newSched maker) {
	for _, cfg := range []config{{MaxGlobal: 3}, {MaxPerTenant: 3}} {
		s := open(t, newSched, cfg)
		admit(t, s, "a", task{Payload: 1})
		for i := range 2 {
			admit(t, s, "a", task{Payload: i, Deadline: time.Now().Add(5 * time.Millisecond)})
		}
		answers := waiters(t, s, patient(t), "a", 2)
		for range 2 {
			gets(t, answers, "the tenant's tasks expired", nil)
		}
	}
}

// waitExpiryLater: producers sleep while nothing can expire; then the one place goes to a task that will. The
// first of them gives up, and the second gets the place.
func waitExpiryLater(t *testing.T, newSched maker) {
	for _, cfg := range []config{{MaxGlobal: 1}, {MaxPerTenant: 1}, {MaxGlobal: 1, Shards: 8}} {
		cfg.Backpressure = policy(firq.DropOldest)
		s := open(t, newSched, cfg)
		admit(t, s, "a", task{Payload: 1})
		ctx, leave := context.WithCancel(context.Background())
		first := waiters(t, s, ctx, "a", 1)
		synctest.Wait()
		second := waiters(t, s, patient(t), "a", 1)
		synctest.Wait()
		soon := time.Now().Add(patience / 8)
		admit(t, s, "a", task{Payload: 2, Deadline: soon}) // in the place of the other one
		synctest.Wait()
		leave()
		if err := answer(t, first, "ctx was cancelled"); !errors.Is(err, context.Canceled) {
			t.Errorf("EnqueueWait: %v, want %v", err, context.Canceled)
		}
		gets(t, second, "the task that came later expired", nil)
		if late := time.Since(soon); late > patience/8 {
			t.Errorf("%+v: it got the place %v after that", cfg, late)
		}
	}
}

// waitExpiryWaited: the first of those that wait gets the place, with a task that expires.
func waitExpiryWaited(t *testing.T, newSched maker) {
	for _, cfg := range []config{{MaxGlobal: 1}, {MaxPerTenant: 1}} {
		s := open(t, newSched, cfg)
		admit(t, s, "a", task{Payload: 1})
		soon := time.Now().Add(patience / 8)
		first := make(chan error, 1)
		go func() { first <- s.EnqueueWait(patient(t), "a", task{Payload: 2, Deadline: soon}) }()
		synctest.Wait()
		second := waiters(t, s, patient(t), "a", 1)
		synctest.Wait()
		take(t, s)
		gets(t, first, "capacity came free", nil)
		gets(t, second, "the first one's task expired", nil)
		if late := time.Since(soon); late > patience/8 {
			t.Errorf("%+v: it got the place %v after that", cfg, late)
		}
	}
}

func waitClose(t *testing.T, newSched maker) {
	for _, cfg := range []config{{MaxGlobal: 2}, {MaxPerTenant: 2}} {
		s := open(t, newSched, cfg)
		load(t, s, "a", 2)
		answers := waiters(t, s, patient(t), "a", 4)
		s.Close()
		for range 4 {
			gets(t, answers, "Close", firq.ErrClosed)
		}
	}
}

func waitShutdown(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 2})
	load(t, s, "a", 2)
	answers := waiters(t, s, patient(t), "a", 4)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(patient(t)) }()
	for range 4 {
		gets(t, answers, "Shutdown", firq.ErrClosed)
	}
	same(t, "what was queued", drain(t, s), "a1 a2")
	gets(t, stopped, "the backlog is gone", nil)
}

func waitThreshold(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxGlobal: 8, DynamicThreshold: 1})
	load(t, s, "a", 4)
	load(t, s, "b", 2)
	answers := waiters(t, s, patient(t), "a", 1)
	for range 3 { // a holds 3 of 6, or fewer: another tenant's place counts too
		take(t, s)
	}
	take(t, s)
	gets(t, answers, "a is below its threshold", nil)
}
