package schedtest

import (
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// method is a call, in some situation.
type method struct {
	name    string
	tweak   func(w *world) // of the config
	ending  bool           // while Shutdown waits
	act     func(w *world)
	calls   []callback // user code that it does call, when there is reason to
	perhaps []callback // that it may call
}

var methods = []method{
	{name: "Enqueue", act: among(func(w *world) { _ = w.offer(w.key, firq.Task[int]{Ticket: &w.ticket2}) }),
		calls: []callback{inQuantumFor, inPerTenantFor, inInFlightFor, inBackpressureFor, onExpired, onEvicted, key}},
	{name: "Enqueue, which waits", tweak: waitPolicy1, act: among(func(w *world) { _ = w.offer(w.key, firq.Task[int]{Ticket: &w.ticket2}) }),
		calls: []callback{inQuantumFor, inPerTenantFor, inInFlightFor, inBackpressureFor, onExpired, key}},
	{name: "EnqueueWait", act: among(func(w *world) { w.wait(w.key, &w.ticket2) }),
		calls: []callback{inQuantumFor, inPerTenantFor, inInFlightFor, onExpired, key}},
	{name: "EnqueueWait for a place of all", tweak: onePlace, act: waitForGlobal,
		calls: []callback{inQuantumFor, inPerTenantFor, inInFlightFor, onExpired, key}},
	{name: "EnqueueWait for a place of the tenant", tweak: onePerTenant, act: waitForTenant,
		calls: []callback{onExpired, key}, perhaps: []callback{inQuantumFor, inPerTenantFor, inInFlightFor}},
	{name: "EnqueueWait for the threshold", tweak: threshold, act: waitForThreshold,
		calls: []callback{onExpired, key}, perhaps: []callback{inQuantumFor, inPerTenantFor, inInFlightFor}},
	{name: "EnqueueBatch", act: among(func(w *world) { w.batch(w.key) }),
		calls: []callback{inQuantumFor, inPerTenantFor, inInFlightFor, inBackpressureFor, onExpired, onEvicted, key}},

	{name: "TryDequeue", act: among(tryDequeue), calls: []callback{onExpired}},
	{name: "TryDequeue of nothing", act: solo(tryDequeue), calls: []callback{onExpired}},
	{name: "TryDequeue while Shutdown waits", ending: true, act: among(tryDequeue), calls: []callback{onExpired}},
	{name: "Dequeue", act: among(dequeueUntil), calls: []callback{onExpired}},
	{name: "Dequeue, asleep", act: asleep, calls: []callback{onExpired}},
	{name: "DequeueBatch", act: among(dequeueBatch), calls: []callback{onExpired}},

	{name: "Cancel", act: among(func(w *world) { w.ticket.Cancel() }), calls: []callback{onCancelled}},
	{name: "Cancel of the last while Shutdown waits", ending: true, act: solo(func(w *world) { w.ticket.Cancel() }), calls: []callback{onCancelled}},
	{name: "Done", act: among(func(w *world) { w.item.Done() })},
	{name: "Charge", act: among(func(w *world) { w.item.Charge(5) })},

	{name: "SetQuantum", act: among(func(w *world) { w.s.SetQuantum(w.key, 3) }), calls: []callback{key}},
	{name: "ResetQuantum", act: among(func(w *world) { w.s.ResetQuantum(w.key) }), calls: []callback{inQuantumFor, key}},
	{name: "SetMaxGlobal", act: among(func(w *world) { w.s.SetMaxGlobal(1); w.s.SetMaxGlobal(8) })},
	{name: "SetLimit", act: among(func(w *world) { w.s.SetLimit(w.key, 1); w.s.SetLimit(w.key, 2) }), calls: []callback{key}},
	{name: "SetLimit of what Config says", act: among(func(w *world) { w.s.SetLimit(w.key, 0) }), calls: []callback{inPerTenantFor, key}},
	{name: "Stats", act: among(func(w *world) { w.s.Stats() })},
	{name: "Len", act: among(func(w *world) { w.s.Len() })},
	{name: "Shutdown", act: among(shutDown)},
	{name: "Close", act: among(closeIt), calls: []callback{onClosed}},
}

// prepare enqueues what makes the method call user code: enough tasks for the tenant to be
// at its limit, say.
func (w *world) prepare() {
	n, x := 0, firq.Task[int]{}
	switch w.where {
	case inBackpressureFor, onEvicted, onClosed:
		n = 2
	case onExpired:
		n, x.Deadline = 2, time.Now().Add(-time.Minute)
	case onCancelled:
		n = 1
	}
	for i := range n {
		if x.Ticket = nil; i == 0 {
			x.Ticket = &w.ticket
		}
		w.admit(w.key, x)
	}
}

// admit enqueues what must be accepted.
func (w *world) admit(k any, x firq.Task[int]) {
	w.do("Enqueue", func() {
		if err := w.offer(k, x); err != nil {
			w.t.Errorf("Enqueue: %v", err)
		}
	})
}

// deliver takes an item that stays in flight.
func (w *world) deliver() {
	w.admit("d", firq.Task[int]{})
	w.do("TryDequeue", func() {
		it, ok := w.s.TryDequeue()
		if !ok {
			w.t.Error("TryDequeue found nothing")
		}
		w.book.ended(it.Payload)
		w.item = it
	})
}

// among runs a method where others have tasks queued, and one waits for a place.
func among(f func(w *world)) func(w *world) {
	return func(w *world) {
		w.deliver()
		w.admit("g", firq.Task[int]{})
		w.admit("g", firq.Task[int]{})
		w.start("EnqueueWait of another tenant", func() { w.wait("g", nil) })
		w.prepare() // after that: a call that finds no place drops what has expired
		w.run(f)
	}
}

// solo runs a method where no other tenant has tasks.
func solo(f func(w *world)) func(w *world) {
	return func(w *world) {
		w.deliver()
		w.prepare()
		w.run(f)
	}
}

// run runs the method, and user code fails.
func (w *world) run(f func(w *world)) {
	if w.method.ending {
		w.start("Shutdown", func() { shutDown(w) })
	}
	w.armed.Store(true)
	w.start("the call", func() { f(w) })
}

func shutDown(w *world) {
	w.book.closing = true
	if err := w.s.Shutdown(w.ctx); err != nil {
		w.t.Errorf("Shutdown: %v", err)
	}
}

func closeIt(w *world) {
	w.book.closing = true
	w.s.Close()
}

// tryDequeue goes on until user code was called: it may be another shard's turn.
func tryDequeue(w *world) {
	for ok := true; ok && w.sprung.Load() == 0; {
		var it anyItem
		if it, ok = w.s.TryDequeue(); ok {
			w.book.got(it)
		}
	}
}

func dequeueUntil(w *world) {
	for ok := w.dequeue(); ok && w.where == onExpired && w.sprung.Load() == 0; {
		ok = w.dequeue()
	}
}

func dequeueBatch(w *world) {
	dst := make([]anyItem, 16)
	n, err := w.s.DequeueBatch(w.ctx, dst)
	w.book.got(dst[:n]...)
	if err != nil {
		w.t.Errorf("DequeueBatch: %v", err)
	}
}

// asleep: two consumers sleep when the tasks come.
func asleep(w *world) {
	w.start("the first Dequeue", func() { w.dequeue() })
	w.start("the second Dequeue", func() { w.dequeue() })
	w.armed.Store(true)
	w.prepare()
	w.admit("g", firq.Task[int]{})
	w.admit("g", firq.Task[int]{})
	if left := w.waiting(); len(left) > 0 {
		w.abort("tasks are queued, and these sleep: %q", left)
	}
}

func waitPolicy1(w *world) { w.policy = firq.Backpressure{Policy: firq.Wait, Wait: time.Hour} }

func onePlace(w *world)     { w.cfg.MaxGlobal = 1 }
func onePerTenant(w *world) { w.cfg.MaxPerTenant = 1 }
func threshold(w *world)    { w.cfg.MaxGlobal, w.cfg.MaxPerTenant, w.cfg.DynamicThreshold = 4, 4, 1 }

// two has two producers wait, and frees one place: by the expiry of a task, if it is OnDrop
// of an expired task that fails. If it fails in the first producer's call, the second one
// gets the place.
func two(w *world, bad, good any, x firq.Task[int]) {
	w.start("the first EnqueueWait", func() { w.wait(bad, &w.ticket2) })
	w.start("the second EnqueueWait", func() { w.wait(good, nil) })
	w.armed.Store(true)
	if !x.Deadline.IsZero() {
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		return
	}
	w.do("TryDequeue", func() {
		if it, ok := w.s.TryDequeue(); ok {
			w.book.got(it)
		}
	})
}

// holding is a task that takes up a place until it is dequeued, or until it expires if that
// is what user code fails at.
func (w *world) holding() (k any, x firq.Task[int]) {
	if w.where == onExpired {
		return "v", firq.Task[int]{Deadline: time.Now().Add(time.Minute)}
	}
	return "h", x
}

func waitForGlobal(w *world) {
	k, x := w.holding()
	w.admit(k, x)
	two(w, w.key, "g", x)
}

func waitForTenant(w *world) {
	_, x := w.holding()
	w.admit("v", x)
	two(w, w.key, "v", x)
}

func waitForThreshold(w *world) {
	_, x := w.holding()
	w.admit("v", x)
	w.admit("h", firq.Task[int]{})
	w.admit("h", firq.Task[int]{})
	two(w, w.key, "v", x)
}
