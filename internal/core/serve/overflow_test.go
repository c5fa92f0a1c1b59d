package serve

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

var limits = []error{firq.ErrGlobalFull, firq.ErrTenantFull, firq.ErrTenantThreshold, firq.ErrTooManyTenants}

func with(p firq.Policy) config {
	return config{Backpressure: firq.Backpressure{Policy: p, Wait: time.Minute}}
}

// counted returns how many rejections of each kind there were: global, tenant,
// timeout.
func counted(e *shared) [3]uint64 {
	st := e.Stats(NewCounters[string](), 0, 1)
	return [3]uint64{st.RejectedGlobal, st.RejectedTenant, st.TimeoutRejected}
}

// Reject returns the limit's error as it is and counts it; it tries nothing.
func TestOverflowReject(t *testing.T) {
	e := newShared(t, config{})
	for _, full := range limits {
		c := coreOf(nil)
		if err := e.Overflow(c, "a", drr.Task[int]{}, full); err != full || c.calls.Load() != 0 || c.replaced != nil {
			t.Errorf("%v: %v, %d tries, %v", full, err, c.calls.Load(), c.replaced)
		}
	}
	if got := counted(e); got != [3]uint64{1, 3, 0} {
		t.Errorf("counted %v", got)
	}
}

// What is no limit is no matter of policy.
func TestOverflowOtherErrors(t *testing.T) {
	for p := firq.Reject; p <= firq.Wait; p++ {
		e := newShared(t, with(p))
		for _, err := range []error{firq.ErrClosed, ErrTicketInUse} {
			c := coreOf(nil)
			if got := e.Overflow(c, "a", drr.Task[int]{}, err); got != err || c.calls.Load() != 0 || c.replaced != nil {
				t.Errorf("policy %d, %v: %v", p, err, got)
			}
		}
		if got := counted(e); got != [3]uint64{} {
			t.Errorf("counted %v", got)
		}
	}
}

// The two dropping policies evict at the right end; with nothing to evict they
// reject with what Replace says.
func TestOverflowDrop(t *testing.T) {
	for p, newest := range map[firq.Policy]bool{firq.DropOldest: false, firq.DropNewest: true} {
		e := newShared(t, with(p))
		c := coreOf(nil)
		if err := e.Overflow(c, "a", drr.Task[int]{}, firq.ErrTenantFull); err != nil || !slices.Equal(c.replaced, []bool{newest}) {
			t.Errorf("policy %d: %v, replaced %v", p, err, c.replaced)
		}
		c.replace = firq.ErrGlobalFull
		if err := e.Overflow(c, "a", drr.Task[int]{}, firq.ErrTenantFull); err != firq.ErrGlobalFull {
			t.Errorf("policy %d, nothing to evict: %v", p, err)
		}
		c.replace, c.replaced = firq.ErrClosed, nil
		if err := e.Overflow(c, "a", drr.Task[int]{}, firq.ErrTenantFull); err != firq.ErrClosed {
			t.Errorf("policy %d, closed in between: %v", p, err)
		}
		c.replaced = nil
		if err := e.Overflow(c, "a", drr.Task[int]{}, firq.ErrTooManyTenants); err != firq.ErrTooManyTenants || c.replaced != nil {
			t.Errorf("policy %d, too many tenants: %v, replaced %v", p, err, c.replaced)
		}
		if got := counted(e); got != [3]uint64{1, 1, 0} {
			t.Errorf("policy %d: counted %v", p, got)
		}
	}
}

// Wait waits for as long as it says, and then it is a timeout.
func TestOverflowWait(t *testing.T) {
	bubble(t, with(firq.Wait), func(t *testing.T, e *shared) {
		start := time.Now()
		err := e.Overflow(coreOf(firq.ErrGlobalFull), "a", drr.Task[int]{}, firq.ErrGlobalFull)
		if err != firq.ErrTimeout {
			t.Errorf("%v, want ErrTimeout as it is", err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("after %v, want a minute", d)
		}
		if e.Waiters.Waiting() {
			t.Error("still in the queue")
		}
		second := firq.ErrClosed
		go func() {
			c := coreOf(firq.ErrTenantFull, nil)
			second = e.Overflow(c, "a", drr.Task[int]{}, firq.ErrTenantFull)
		}()
		synctest.Wait()
		time.Sleep(time.Minute - 1)
		e.Waiters.Released("a", 1)
		synctest.Wait()
		if second != nil {
			t.Errorf("woken in time: %v", second)
		}
		if got := counted(e); got != [3]uint64{0, 0, 1} {
			t.Errorf("counted %v", got)
		}
	})
}

// BackpressureFor decides per tenant; nonsense from it is an error that names it.
func TestBackpressureFor(t *testing.T) {
	e := newShared(t, config{BackpressureFor: func(k string) firq.Backpressure {
		switch k {
		case "drop":
			return firq.Backpressure{Policy: firq.DropOldest}
		case "nonsense":
			return firq.Backpressure{Policy: firq.Wait}
		}
		return firq.Backpressure{}
	}})
	c := coreOf(nil)
	if err := e.Overflow(c, "drop", drr.Task[int]{}, firq.ErrTenantFull); err != nil || len(c.replaced) != 1 {
		t.Errorf("drop: %v, %v", err, c.replaced)
	}
	if err := e.Overflow(c, "other", drr.Task[int]{}, firq.ErrTenantFull); err != firq.ErrTenantFull || len(c.replaced) != 1 {
		t.Errorf("other: %v, %v", err, c.replaced)
	}
	if err := e.Overflow(c, "nonsense", drr.Task[int]{}, firq.ErrTenantFull); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Errorf("nonsense: %v", err)
	}
}

// A rejection allocates nothing.
func TestRejectAllocatesNothing(t *testing.T) {
	e, c := newShared(t, config{}), coreOf(nil)
	if n := testing.AllocsPerRun(100, func() { _ = e.Overflow(c, "a", drr.Task[int]{}, firq.ErrTenantFull) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEnqueueWaitBadInput(t *testing.T) {
	e, c := newShared(t, config{}), coreOf(nil)
	if err := e.EnqueueWait(nil, c, "a", firq.Task[int]{}); err != ErrNilContext { //nolint:staticcheck // what is tested
		t.Errorf("nil context: %v", err)
	}
	if err := e.EnqueueWait(background, c, "a", firq.Task[int]{Cost: -1}); !errors.Is(err, firq.ErrInvalidTask) {
		t.Errorf("negative cost: %v", err)
	}
	if c.calls.Load() != 0 {
		t.Error("the core was asked")
	}
}
