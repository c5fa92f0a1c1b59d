package differential

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// world is a core and what a script knows of it. The lists of mu are written by callbacks and by
// calls in the background too.
type world struct {
	s       firq.Scheduler[tenant, int]
	setup   setup
	payload int
	answers int // which answers the callbacks give
	began   time.Time
	items   []firq.Item[tenant, int] // delivered, and not yet Done
	tickets map[tenant]*[5]firq.Ticket
	handles map[tenant]firq.Handle[tenant, int]
	life    context.Context // of calls in the background
	waits   atomic.Bool     // a producer does, in the background
	hungry  atomic.Int32    // consumers that wait in the background

	mu    sync.Mutex
	said  []string                // in the operation in progress, by callbacks and calls in the background
	due   map[int]time.Time       // of accepted tasks that have not ended, by payload; zero: none
	ended map[int]firq.DropReason // by payload, 0: delivered
	late  int                     // tasks that Close has dropped although they had expired
}

// run runs a script in a bubble, and returns a line per operation.
func run(t *testing.T, build func(firq.Config[tenant, int]) (firq.Scheduler[tenant, int], error), c setup, ops []op) (lines []string) {
	synctest.Test(t, func(*testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		w := &world{setup: c, began: time.Now(), handles: map[tenant]firq.Handle[tenant, int]{}, life: ctx, tickets: map[tenant]*[5]firq.Ticket{},
			due: map[int]time.Time{}, ended: map[int]firq.DropReason{}}
		s, err := build(w.config())
		if err != nil {
			lines = append(lines, "New: "+err.Error())
			stop()
			return
		}
		w.s = s
		for _, o := range ops {
			before := time.Now()
			answer := w.guarded(o)
			synctest.Wait()
			if w.setup.TenantIdle > 0 && !time.Now().Equal(before) {
				w.s.Stats()
			}
			lines = append(lines, answer+w.took())
		}
		stop()
		synctest.Wait()
		w.took() // calls in the background leave in any order
		answer := w.guarded(op{kind: closing})
		synctest.Wait()
		lines = append(lines, answer+w.took(), w.guarded(op{kind: stats}))
	})
	return lines
}

// took returns what was said since the last call. Calls that end in one operation end in any order.
func (w *world) took() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	slices.Sort(said)
	if len(said) == 0 {
		return ""
	}
	return " | " + strings.Join(said, ", ")
}

func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

const unwell = "OnDrop has panicked"

func (w *world) config() firq.Config[tenant, int] {
	c := w.setup.Config
	of := func(k tenant, all ...int) int {
		n := 0
		if k == k { // NaN is not
			n = int(k)
		}
		return all[(n+w.answers)%len(all)]
	}
	if w.setup.asks.quantum {
		c.QuantumFor = func(k tenant) int64 { return int64(of(k, 1, 4, 20, -2, 3)) }
	}
	if w.setup.asks.perTenant {
		c.MaxPerTenantFor = func(k tenant) int { return of(k, 0, 1, 3, 9, -2) }
	}
	if w.setup.asks.inFlight {
		c.MaxInFlightFor = func(k tenant) int { return of(k, 0, 1, 2, 4, -2) }
	}
	if w.setup.asks.backpressure {
		c.BackpressureFor = func(k tenant) firq.Backpressure {
			policies := []int{0, 1, 2, 3}
			if w.setup.deadlines {
				policies = policies[:3]
			}
			return firq.Backpressure{Policy: firq.Policy(of(k, policies...)), Wait: 2900 * us}
		}
	}
	c.OnDrop = func(k tenant, payload int, why firq.DropReason) {
		if w.dropped(payload, why) {
			return
		}
		w.say("drop %v %d %v", k, payload, why)
		if w.setup.dropReenters && payload%3 == 0 && payload < 1e6 && why == firq.DropEvicted {
			t := firq.Task[int]{Payload: payload + 1e6}
			w.say("again %v", w.in(t, w.s.Enqueue(k, t)))
		}
		if w.setup.dropPanics && payload%7 == 0 {
			panic(unwell)
		}
	}
	return c
}

// in notes that a task was accepted, if err is nil.
func (w *world) in(t firq.Task[int], err error) error {
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := w.setup.MaxQueueAge; age > 0 && t.Deadline.IsZero() {
		t.Deadline = time.Now().Add(age)
	}
	if _, over := w.ended[t.Payload]; !over {
		w.due[t.Payload] = t.Deadline
	}
	return nil
}

func (w *world) end(payload int, why firq.DropReason) {
	if _, twice := w.ended[payload]; twice {
		w.said = append(w.said, fmt.Sprintf("%d ENDS TWICE", payload))
	}
	delete(w.due, payload)
	w.ended[payload] = why
}

// dropped notes the end of a task, and reports whether it had expired.
func (w *world) dropped(payload int, why firq.DropReason) (expired bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := w.due[payload]
	expired = why == firq.DropExpired
	if why == firq.DropClosed && !due.IsZero() && time.Now().After(due) {
		expired = true
		w.late++
	}
	w.end(payload, why)
	return expired
}

// expired returns how many tasks are queued of those that have expired.
func (w *world) expired() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, due := range w.due {
		if !due.IsZero() && time.Now().After(due) {
			n++
		}
	}
	return n
}

// guarded returns what an operation has answered, be it a panic.
func (w *world) guarded(o op) (answer string) {
	defer func() {
		if r := recover(); r != nil {
			answer = fmt.Sprintf("%v panics: %v", o.kind, r)
		}
	}()
	return o.kind.String() + " " + w.do(o)
}

// ticket returns the n-th ticket of a tenant. Each has its own: whether a call that is refused as
// its ticket is in use makes its tenant known is left to the core.
func (w *world) ticket(of tenant, n int) *firq.Ticket {
	mine := w.tickets[of]
	if mine == nil {
		mine = new([5]firq.Ticket)
		w.tickets[of] = mine
	}
	return &mine[n]
}

func (w *world) task(of tenant, k task) firq.Task[int] {
	w.payload++
	t := firq.Task[int]{Payload: w.payload, Cost: k.cost, Priority: k.priority, Flow: k.flow}
	if k.deadline != 0 && w.setup.deadlines {
		t.Deadline = time.Now().Add(k.deadline)
	}
	if k.ticket > 0 {
		t.Ticket = w.ticket(of, k.ticket)
	}
	return t
}

func (w *world) handle(o op) firq.Handle[tenant, int] {
	if !o.byHandle {
		return nil
	}
	h := w.handles[o.tenant]
	if h == nil {
		h = w.s.Tenant(o.tenant)
		w.handles[o.tenant] = h
	}
	return h
}

// patience is how long the calls wait that wait.
const patience = 2300 * us

func (w *world) do(o op) string {
	switch o.kind {
	case enqueue, enqueueBatch, enqueueWait, enqueueInBackground:
		return w.produce(o)
	case tryDequeue, dequeue, dequeueBatch, dequeueInBackground:
		return w.consume(o)
	case done, charge:
		return w.settle(o)
	case cancel:
		return fmt.Sprint(w.ticket(o.tenant, o.n%5).Cancel())
	case setQuantum:
		w.s.SetQuantum(o.tenant, int64(o.n))
	case resetQuantum:
		w.s.ResetQuantum(o.tenant)
	case setMaxGlobal, setLimit:
		switch {
		case w.setup.deadlines: // no limits
		case o.kind == setMaxGlobal:
			w.s.SetMaxGlobal(o.n)
		default:
			w.s.SetLimit(o.tenant, o.n)
		}
	case stats:
		return w.stats()
	case sleep:
		time.Sleep(o.d)
	case newAnswers:
		if !w.setup.deadlines {
			w.answers++
		}
	case shutdown:
		ctx, stop := context.WithTimeout(w.life, patience)
		defer stop()
		return fmt.Sprint(w.s.Shutdown(ctx))
	case closing:
		return fmt.Sprint(w.s.Close())
	}
	return ""
}

// stats are in words, without the buckets that nothing is in, as if all that has expired were
// dropped.
func (w *world) stats() string {
	st := w.s.Stats()
	if n := w.s.Len(); n != st.QueueLen {
		return fmt.Sprintf("Len is %d, QueueLen %d", n, st.QueueLen)
	}
	late := w.expired()
	st.QueueLen -= late
	st.Expired += uint64(late + w.late)
	st.Closed -= uint64(w.late)
	st.QueueSaturation = 0
	if w.setup.deadlines { // an expired task is a backlog until it is dropped
		st.Lag = firq.Lag[tenant]{}
		for i := range st.TopTenants {
			st.TopTenants[i].Lag = 0
		}
	}
	st.QueueTime.Buckets = slices.DeleteFunc(slices.Clone(st.QueueTime.Buckets), func(b firq.Bucket) bool { return b.Count == 0 })
	return fmt.Sprintf("%+v", st)
}

// mayWait reports whether a producer may wait: of several that are woken together any may be the
// first, so one waits at a time.
func (w *world) mayWait(k kind) bool {
	policies := w.setup.Backpressure.Policy == firq.Wait || w.setup.asks.backpressure // then each call may wait
	return !w.setup.deadlines && !w.waits.Load() && (k == enqueueWait || !policies)
}

func (w *world) produce(o op) string {
	if (o.kind == enqueueWait || o.kind == enqueueInBackground) && !w.mayWait(o.kind) {
		o.kind = enqueue
	}
	h := w.handle(o)
	switch o.kind {
	case enqueue:
		t := w.task(o.tenant, o.tasks[0])
		if h != nil {
			return fmt.Sprint(w.in(t, h.Enqueue(t)))
		}
		return fmt.Sprint(w.in(t, w.s.Enqueue(o.tenant, t)))
	case enqueueBatch:
		if w.hungry.Load() > 0 && len(o.tasks) > 1 {
			o.tasks = o.tasks[:1] // a consumer that is woken takes one of several before the batch is in, or after
		}
		ts := make([]firq.Task[int], len(o.tasks))
		for i, k := range o.tasks {
			ts[i] = w.task(o.tenant, k)
		}
		n, err := 0, error(nil)
		if h != nil {
			n, err = h.EnqueueBatch(ts)
		} else {
			n, err = w.s.EnqueueBatch(o.tenant, ts)
		}
		for _, t := range ts[:n] {
			_ = w.in(t, nil)
		}
		return fmt.Sprint(n, err)
	}
	ctx, stop := context.WithTimeout(w.life, patience)
	t := w.task(o.tenant, o.tasks[0])
	wait := func() (answer string) {
		defer stop()
		defer func() {
			if r := recover(); r != nil {
				answer = fmt.Sprint("panics: ", r)
			}
		}()
		if h != nil {
			return fmt.Sprint(w.in(t, h.EnqueueWait(ctx, t)))
		}
		return fmt.Sprint(w.in(t, w.s.EnqueueWait(ctx, o.tenant, t)))
	}
	if o.kind == enqueueWait {
		return wait()
	}
	w.waits.Store(true)
	go func() {
		answer := wait()
		w.waits.Store(false)
		w.say("%d is in: %s", t.Payload, answer)
	}()
	return ""
}

func (w *world) consume(o op) string {
	ctx, stop := context.WithTimeout(w.life, patience)
	switch o.kind {
	case tryDequeue:
		stop()
		it, ok := w.s.TryDequeue()
		if !ok {
			return "nothing"
		}
		return w.got(it)
	case dequeue:
		defer stop()
		it, err := w.s.Dequeue(ctx)
		if err != nil {
			return err.Error()
		}
		return w.got(it)
	case dequeueBatch:
		defer stop()
		dst := make([]firq.Item[tenant, int], o.n)
		n, err := w.s.DequeueBatch(ctx, dst)
		answer := fmt.Sprint(n, err)
		for _, it := range dst[:n] {
			answer += " " + w.got(it)
		}
		return answer
	}
	w.hungry.Add(1)
	go func() {
		defer stop()
		defer w.hungry.Add(-1)
		defer func() {
			if r := recover(); r != nil {
				w.say("a consumer panics: %v", r)
			}
		}()
		it, err := w.s.Dequeue(ctx)
		if err == nil {
			w.say("a consumer has %s", w.shown(it))
			it.Done()
		} else if !errors.Is(err, context.DeadlineExceeded) {
			w.say("a consumer: %v", err)
		}
	}()
	return ""
}

func (w *world) got(it firq.Item[tenant, int]) string {
	w.items = append(w.items, it)
	return w.shown(it)
}

func (w *world) shown(it firq.Item[tenant, int]) string {
	w.mu.Lock()
	w.end(it.Payload, 0)
	w.mu.Unlock()
	due := time.Duration(0)
	if !it.Deadline.IsZero() {
		due = it.Deadline.Sub(w.began)
	}
	return fmt.Sprintf("{%v %d cost %d prio %v due %v wait %v flow %d}", it.Tenant, it.Payload, it.Cost, it.Priority, due, it.Wait, it.Flow)
}

func (w *world) settle(o op) string {
	if len(w.items) == 0 {
		return ""
	}
	i := o.n % len(w.items)
	it := &w.items[i]
	if o.kind == charge {
		it.Charge(int64(o.d))
		return fmt.Sprint(it.Payload)
	}
	it.Done()
	payload := it.Payload
	if o.n > 0 { // else there may be a second call, which does nothing
		w.items = slices.Delete(w.items, i, i+1)
	}
	return fmt.Sprint(payload)
}
