package schedtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// The cases are the product of the callbacks, the methods that may call them, and the ways
// not to return. Keys are of type any, as a key may panic when it is hashed or compared.
type (
	anySched  = firq.Scheduler[any, int]
	anyConfig = firq.Config[any, int]
	anyItem   = firq.Item[any, int]
	anyMaker  func(anyConfig) (anySched, error)
)

// RunPanics tests that user code which panics, or ends its goroutine, does no harm: the
// caller gets the panic, other callers go on, no place, ticket or item is lost, and the
// counters add up. Each case runs in a bubble of testing/synctest.
func RunPanics[S firq.Scheduler[any, int]](t *testing.T, newScheduler func(firq.Config[any, int]) (S, error)) {
	newSched := func(cfg anyConfig) (anySched, error) {
		s, err := newScheduler(cfg)
		if err != nil {
			return nil, err // not s: a nil *T in an interface is not nil
		}
		return s, nil
	}
	d := &doors{seed: randomSeed(t, "by key or by handle")}
	for _, c := range panicChecks {
		t.Run(c.name, func(t *testing.T) {
			guardFor(t, 4*panicLimit, func() { c.run(t, newSched) })
		})
	}
	for _, m := range methods {
		t.Run(m.name, func(t *testing.T) {
			for _, where := range callbacks {
				for _, how := range ways {
					if where == key && how.name != "a runtime error" {
						continue // there is no other way for a key to fail
					}
					for _, shards := range []int{1, 4} {
						t.Run(fmt.Sprintf("%s/%s/shards=%d", where, how.name, shards), func(t *testing.T) {
							panicInBubble(t, behind(d.of(t.Name()), newSched), m, where, how, shards)
						})
					}
				}
			}
		})
	}
}

func panicInBubble(t *testing.T, newSched anyMaker, m method, where callback, how way, shards int) {
	guardFor(t, panicLimit, func() {
		synctest.Test(t, func(t *testing.T) { runPanic(t, newSched, m, where, how, shards) })
	})
}

// panicLimit is how long a case may take, which takes milliseconds. It is real time: while
// a goroutine waits for a mutex that is never unlocked, the bubble's time stands still.
const panicLimit = race.Slowness * 5 * time.Second

// callback is what fails.
type callback string

const (
	inQuantumFor      callback = "QuantumFor"
	inPerTenantFor    callback = "MaxPerTenantFor"
	inInFlightFor     callback = "MaxInFlightFor"
	inBackpressureFor callback = "BackpressureFor"
	onExpired         callback = "OnDrop, expired"
	onEvicted         callback = "OnDrop, evicted"
	onCancelled       callback = "OnDrop, cancelled"
	onClosed          callback = "OnDrop, closed"
	key               callback = "the key" // cannot be hashed, nor compared
)

var callbacks = []callback{inQuantumFor, inPerTenantFor, inInFlightFor, inBackpressureFor, onExpired, onEvicted, onCancelled, onClosed, key}

var onDropFor = map[firq.DropReason]callback{
	firq.DropExpired: onExpired, firq.DropEvicted: onEvicted, firq.DropCancelled: onCancelled, firq.DropClosed: onClosed,
}

// way is how it fails.
type way struct {
	name string
	fail func()
	fits func(panicked any) bool // nil: it does not panic
}

var errPanic = errors.New("user code")

var ways = []way{
	{"a panic", func() { panic(errPanic) }, func(v any) bool { return v == errPanic }},
	{"a runtime error", func() { var w *world; w.key = 1 }, func(v any) bool { _, ok := v.(runtime.Error); return ok }},
	{"panic(nil)", func() { panic(nil) }, func(v any) bool { _, ok := v.(*runtime.PanicNilError); return ok }},
	{"Goexit", runtime.Goexit, nil},
}

// world is one scheduler in a bubble, with what its callers have seen of it. Its
// goroutines run while the test waits, so its fields need no lock; but see book.
type world struct {
	t      *testing.T
	s      anySched
	cfg    anyConfig
	ctx    context.Context
	method method
	where  callback
	how    way
	key    any // of the tenant that user code fails for

	policy  firq.Backpressure // what BackpressureFor says
	armed   atomic.Bool
	sprung  atomic.Int32
	calls   []*call
	ticket  firq.Ticket // of the first task of key's tenant
	ticket2 firq.Ticket // of the task that the method offers
	item    anyItem     // delivered and not Done
	book    anyBook
}

// runPanic is one case.
func runPanic(t *testing.T, newSched anyMaker, m method, where callback, how way, shards int) {
	w := &world{t: t, method: m, where: where, how: how, key: "v"}
	if where == key {
		w.key = []int{1}
	}
	if where == onEvicted {
		w.policy.Policy = firq.DropOldest
	}
	w.cfg = anyConfig{
		Shards: shards, MaxGlobal: 8, MaxPerTenant: 2, MaxInFlightPerTenant: 4,
		QuantumFor: func(k any) int64 {
			w.step(inQuantumFor, k == any("v"))
			return 1
		},
		MaxPerTenantFor: func(k any) int {
			w.step(inPerTenantFor, k == any("v"))
			return 0
		},
		MaxInFlightFor: func(k any) int {
			w.step(inInFlightFor, k == any("v"))
			return 0
		},
		BackpressureFor: func(k any) firq.Backpressure {
			w.step(inBackpressureFor, k == any("v"))
			return w.policy
		},
		OnDrop: func(_ any, payload int, why firq.DropReason) {
			w.book.ended(payload)
			w.step(onDropFor[why], true)
		},
	}
	if m.tweak != nil {
		m.tweak(w)
	}
	var err error
	if w.s, err = newSched(w.cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // the bubble's time
	defer cancel()
	w.ctx = ctx
	w.book.init()
	m.act(w)
	synctest.Wait()
	w.armed.Store(false)
	w.settle()
	w.judge()
	w.reuse()
	w.finish()
}

// step is called by the callbacks.
func (w *world) step(where callback, here bool) {
	if here && where == w.where && w.armed.CompareAndSwap(true, false) {
		w.sprung.Add(1)
		w.how.fail()
	}
}

// call is one call of the scheduler, which has a goroutine to itself.
type call struct {
	name           string
	over, returned bool
	panicked       any
}

// start starts a call and waits until it returns or blocks.
func (w *world) start(name string, f func()) *call {
	c := &call{name: name}
	w.calls = append(w.calls, c)
	go func() {
		defer func() {
			if !c.returned {
				c.panicked = recover()
			}
			c.over = true
		}()
		f()
		c.returned = true
	}()
	synctest.Wait()
	return c
}

// do is start for a call that must not wait.
func (w *world) do(name string, f func()) *call {
	w.t.Helper()
	c := w.start(name, f)
	if !c.over {
		w.abort("%s waits, and has no reason to", name)
	}
	return c
}

// abort fails the case, and ends all calls so that the bubble can end.
func (w *world) abort(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf(format, args...)
	w.armed.Store(false)
	go w.s.Close()
	synctest.Wait()
	time.Sleep(2 * time.Hour) // all contexts are over
	synctest.Wait()
	w.t.FailNow()
}

// waiting returns the calls that have not come back.
func (w *world) waiting() (names []string) {
	for _, c := range w.calls {
		if !c.over {
			names = append(names, c.name)
		}
	}
	return names
}

// settle dequeues until nothing is queued and all calls have returned.
func (w *world) settle() {
	w.item.Done()
	w.book.release()
	for range 100 {
		before := w.s.Len()
		w.do("the next TryDequeue", func() {
			if it, ok := w.s.TryDequeue(); ok {
				w.book.got(it)
			}
		})
		w.book.release()
		if w.s.Len() == before && len(w.waiting()) == 0 && before == 0 {
			return
		}
	}
	w.abort("%d tasks are left, and these still wait: %q", w.s.Len(), w.waiting())
}

// judge checks that user code failed if the method had to call it, and that its panic
// reached exactly one caller.
func (w *world) judge() {
	must, may := slices.Contains(w.method.calls, w.where), slices.Contains(w.method.perhaps, w.where)
	sprung := int(w.sprung.Load())
	if w.where == key {
		if must {
			sprung = 1 // by the language
		}
	} else if sprung == 0 && must || sprung > 0 && !must && !may {
		w.t.Errorf("%s was called %d times", w.where, sprung)
	}
	hit := 0
	for _, c := range w.calls {
		if c.returned {
			continue
		}
		hit++
		if fits := w.how.fits; fits == nil && c.panicked != nil || fits != nil && !fits(c.panicked) {
			w.t.Errorf("%s ended with %v", c.name, c.panicked)
		}
	}
	if hit != sprung {
		w.t.Errorf("it came to %d callers, want %d", hit, sprung)
	}
}

// reuse checks that every place and ticket can be used again, and that a sleeping consumer
// is woken.
func (w *world) reuse() {
	if w.book.closing {
		return
	}
	w.policy = firq.Backpressure{}
	most := min(w.cfg.MaxPerTenant, w.cfg.MaxGlobal)
	w.do("EnqueueWait for a free place", func() { w.wait("v", &w.ticket) })
	if w.cfg.DynamicThreshold == 0 {
		for i := 1; i < w.cfg.MaxGlobal; i++ {
			w.do("Enqueue of a free place", func() {
				k, tk := any(fmt.Sprint("other", i/most)), (*firq.Ticket)(nil)
				if i < most {
					k = "v"
				}
				if i == 1 {
					tk = &w.ticket2
				}
				if err := w.offer(k, firq.Task[int]{Ticket: tk}); err != nil {
					w.t.Errorf("place %d of %d: %v", i+1, w.cfg.MaxGlobal, err)
				}
			})
		}
		w.do("Enqueue without a place", func() {
			if err := w.offer("v", firq.Task[int]{}); !errors.Is(err, firq.ErrRejected) {
				w.t.Errorf("one task too many: %v", err)
			}
		})
	}
	w.settle()
	consumer := w.start("Dequeue of what comes later", func() { w.dequeue() })
	w.do("Enqueue for a consumer that sleeps", func() { _ = w.offer("v", firq.Task[int]{}) })
	if !consumer.over {
		w.abort("a consumer sleeps although there is a task")
	}
	w.settle()
}

// finish ends the scheduler and checks its books.
func (w *world) finish() {
	w.do("Shutdown of what is drained", func() {
		if err := w.s.Shutdown(w.ctx); err != nil && !(w.book.closing && errors.Is(err, firq.ErrClosed)) {
			w.t.Errorf("Shutdown: %v", err)
		}
	})
	w.do("Dequeue in the end", func() {
		if _, err := w.s.Dequeue(w.ctx); !errors.Is(err, firq.ErrClosed) {
			w.t.Errorf("Dequeue in the end: %v", err)
		}
	})
	w.book.check(w)
}
