package serve

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/firq-go/firq"
)

// end is how a call ended that user code may have ended.
type end struct {
	returned, panicked bool
	value              any // of the panic
}

// endOf runs f in its own goroutine.
func endOf(f func()) (e end) {
	var over sync.WaitGroup
	over.Add(1)
	go func() {
		defer over.Done()
		defer func() {
			if !e.returned {
				e.value = recover()
				e.panicked = e.value != nil
			}
		}()
		f()
		e.returned = true
	}()
	over.Wait()
	return e
}

// aborts are the ways in which user code does not return.
var aborts = map[string]func(){
	"panic":  func() { panic("user code") },
	"nil":    func() { panic(nil) },
	"error":  func() { var e *end; e.returned = true },
	"goexit": runtime.Goexit,
}

// Admit does not return, at the second try (announced, in line) or at the third
// (woken): no producer is left in line, and the place that it was woken for goes to the
// next one.
func TestAwaitWhenAdmitDoesNotReturn(t *testing.T) {
	for name, abort := range aborts {
		for _, full := range []error{firq.ErrGlobalFull, firq.ErrTenantFull, firq.ErrTenantThreshold} {
			for try := int32(1); try <= 3; try++ {
				t.Run(name, func(t *testing.T) {
					bubble(t, config{}, func(t *testing.T, e *shared) {
						bad := coreOf(full)
						bad.abort = func(call int32) {
							if call == try {
								abort()
							}
						}
						var ended end
						go func() {
							ended = endOf(func() { _ = e.EnqueueWait(background, bad, "a", firq.Task[int]{}) })
							ended.returned = true // the goroutine has come back
						}()
						synctest.Wait()
						if try < 3 == e.Waiters.Waiting() {
							t.Fatalf("abort at try %d: Waiting is %t", try, e.Waiters.Waiting())
						}
						good := wait(t, e, background, coreOf(full, full, nil))
						e.Waiters.Released("a", 1)
						good.ended(3, nil)
						if !ended.returned || bad.calls.Load() != try {
							t.Errorf("over: %t, after %d tries, want %d", ended.returned, bad.calls.Load(), try)
						}
					})
				})
			}
		}
	}
}

// drops returns n drops with payloads from 1.
func drops(n int) *Drops[string, int] {
	d := new(Drops[string, int])
	for i := range n {
		d.list = append(d.list, drop[string, int]{"a", i + 1, firq.DropExpired})
	}
	return d
}

// Whatever OnDrop does, it is called once for each drop, in order, and the first of its
// panics goes on.
func TestNotifyDropsCallsForAll(t *testing.T) {
	for name, abort := range aborts {
		t.Run(name, func(t *testing.T) {
			var told []int
			e := newShared(t, config{OnDrop: func(_ string, payload int, _ firq.DropReason) {
				told = append(told, payload)
				switch payload {
				case 2:
					abort()
				case 4:
					panic("a later one")
				case 5:
					runtime.Goexit()
				}
			}})
			d := drops(6)
			ended := endOf(func() { e.NotifyDrops(d) })
			if !slices.Equal(told, []int{1, 2, 3, 4, 5, 6}) {
				t.Errorf("told %v", told)
			}
			if ended.returned || ended.panicked != (name != "goexit") || ended.value == "a later one" {
				t.Errorf("%+v", ended)
			}
			if len(d.list) != 0 || d.next != 0 {
				t.Error("it was not made ready for the next")
			}
		})
	}
}

// What OnDrop panics with in a call that has items to return waits for the next
// call, one for one. If it ends the goroutine, the items are Done.
func TestNotifyServed(t *testing.T) {
	for name, abort := range aborts {
		t.Run(name, func(t *testing.T) {
			e := newShared(t, config{OnDrop: func(string, int, firq.DropReason) { abort() }})
			var done doneLog
			items := make([]firq.Item[string, int], 2)
			for i := range items {
				items[i].Bind(&done, uint64(i))
			}
			first := endOf(func() { e.NotifyServed(drops(2), items) })
			if name == "goexit" {
				if first.returned || first.panicked || !slices.Equal(done, doneLog{0, 1}) {
					t.Errorf("%+v, Done %v", first, done)
				}
				e.Rethrow()
				return
			}
			second := endOf(func() { e.NotifyServed(drops(1), items) })
			if !first.returned || !second.returned || len(done) != 0 {
				t.Errorf("%+v, %+v, Done %v", first, second, done)
			}
			for range 2 {
				if x := endOf(e.Rethrow); !x.panicked || name == "panic" && x.value != "user code" {
					t.Errorf("Rethrow: %+v", x)
				}
			}
			e.Rethrow()
			e.NotifyServed(nil, items)
		})
	}
}

// doneLog records which items are Done.
type doneLog []uint64

func (s *doneLog) SettleDone(token uint64)    { *s = append(*s, token) }
func (s *doneLog) SettleCharge(uint64, int64) {}

// Many steps that do not return do not need a stack each.
func TestRunAllOfMany(t *testing.T) {
	for _, abort := range []func(){aborts["panic"], aborts["goexit"]} {
		left := 20_000
		endOf(func() {
			RunAll(func() bool {
				if left--; left == 0 {
					return false
				}
				abort()
				return true
			})
		})
		if left != 0 {
			t.Errorf("%d left", left)
		}
	}
}
