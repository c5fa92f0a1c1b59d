package rate

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// No goroutine outlives the tests: a Limiter starts none.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var background = context.Background()

// clock is a Config.Now that moves when it is told to.
type clock struct{ ns atomic.Int64 }

func (c *clock) Now() time.Time          { return time.Unix(1, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// manual returns a limiter with such a clock.
func manual(perSecond float64, burst int64) (*Limiter[string], *clock) {
	c := new(clock)
	return New(Config[string]{Limit: Limit{perSecond, burst}, Now: c.Now}), c
}

// takes fails unless a Take that does not wait passes, or does not.
func takes(t *testing.T, l Taker[string], tenant string, cost int64, passes bool) Result {
	t.Helper()
	r, err := l.Take(background, tenant, cost, 0)
	if (err == nil) != passes || err != nil && err != ErrLimited {
		t.Fatalf("Take of %d: %+v, %v; want it to pass: %t", cost, r, err, passes)
	}
	return r
}

// charges fails if a Charge does.
func charges(t *testing.T, l Taker[string], tenant string, delta int64) {
	t.Helper()
	if err := l.Charge(background, tenant, delta); err != nil {
		t.Fatal(err)
	}
}

// call is a Take in its own goroutine.
type call struct {
	r    Result
	err  error
	at   time.Time // when it returned
	done atomic.Bool
}

// start starts a Take, and returns when it waits or has returned. In a bubble.
func start(ctx context.Context, l Taker[string], tenant string, cost int64, maxWait time.Duration) *call {
	c := new(call)
	go func() {
		c.r, c.err = l.Take(ctx, tenant, cost, maxWait)
		c.at = time.Now()
		c.done.Store(true)
	}()
	synctest.Wait()
	return c
}

// ends fails unless the call has ended with err.
func (c *call) ends(t *testing.T, err error) {
	t.Helper()
	synctest.Wait()
	if !c.done.Load() || c.err != err {
		t.Fatalf("ended: %t, %+v, error %v; want %v", c.done.Load(), c.r, c.err, err)
	}
}

// waits fails if the call has ended.
func (c *call) waits(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if c.done.Load() {
		t.Fatalf("it does not wait: %+v, %v", c.r, c.err)
	}
}
