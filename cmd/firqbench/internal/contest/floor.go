package contest

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/core/park"
)

// floor is what a queue with strict limits per tenant cannot do without, and
// nothing else: the tenant's entry is looked up, a place of the tenant and one of
// the whole are reserved, the clock is read, the task goes through a ring; on the
// way out the clock is read again, the queue time recorded, and the places are
// given back. What a scheduler takes longer is the price of what it does besides.
//
// It is not fair: a ring is first in, first out, and a tenant is in
// whichever ring it was given at first sight. Deadlines, costs, priorities and
// tickets are carried along and ignored, tenants are never forgotten.
//
// Progress: Enqueue is lock-free for a known tenant. A dequeue takes one ring at a
// time by TryLock and passes by rings that are taken. A producer that is stopped
// between its ticket and its slot hides what came after it in its ring.
type floor struct {
	tenants   *xsync.MapOf[string, *floorTenant]
	rings     []*ring       // a power of two of them; immutable
	next      atomic.Uint32 // where the next new tenant goes
	perTenant int64         // the limit of a tenant; immutable
	global    int64         // the limit of all; immutable
	waits     *hist.Histogram
	parker    *park.Parker
	closed    atomic.Bool

	_      pad.Pad
	queued atomic.Int64 // places taken of global
	_      pad.Pad
}

// floorTenant is what is known of a tenant.
type floorTenant struct {
	name   string
	ring   *ring
	queued atomic.Int64 // places taken of perTenant
}

func newFloor(cfg Config) (Queue, error) {
	cfg, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	f := &floor{
		tenants: xsync.NewMapOf[string, *floorTenant](), waits: hist.New(),
		perTenant: int64(cfg.MaxPerTenant), global: int64(cfg.MaxGlobal),
	}
	for range cfg.Shards {
		f.rings = append(f.rings, newRing(cfg.MaxGlobal))
	}
	f.parker = park.New(func() bool { return f.ready() || f.closed.Load() })
	return f, nil
}

// take reserves up to n of what limit leaves free.
func take(word *atomic.Int64, n, limit int64) int64 {
	for {
		held := word.Load()
		n := min(n, limit-held)
		if n <= 0 {
			return 0
		}
		if word.CompareAndSwap(held, held+n) {
			return n
		}
	}
}

// ring returns the ring of a number that may be anything.
func (f *floor) ring(i int) *ring { return f.rings[i&(len(f.rings)-1)] }

func (f *floor) lookUp(tenant string) *floorTenant {
	if t, ok := f.tenants.Load(tenant); ok {
		return t
	}
	t, _ := f.tenants.LoadOrCompute(tenant, func() *floorTenant {
		return &floorTenant{name: tenant, ring: f.ring(int(f.next.Add(1)))}
	})
	return t
}

// reserve takes up to n places, and says why it took fewer.
func (f *floor) reserve(t *floorTenant, n int64) (int64, error) {
	own := take(&t.queued, n, f.perTenant)
	got := take(&f.queued, own, f.global)
	if got < own {
		t.queued.Add(got - own)
		return got, firq.ErrGlobalFull
	}
	switch {
	case own == n:
		return got, nil
	case f.queued.Load() >= f.global: // both limits at the same time: as the contract has it
		return got, firq.ErrGlobalFull
	}
	return got, firq.ErrTenantFull
}

func (f *floor) Enqueue(tenant string, t Task) error {
	if err := t.Validate(); err != nil {
		return err
	}
	ft := f.lookUp(tenant)
	if _, err := f.reserve(ft, 1); err != nil {
		return err
	}
	ft.ring.put(ft.ring.draw(1), ft, &t, Now())
	f.parker.Notify()
	return nil
}

// EnqueueWait polls: scenarios wait outside of the contestants, so that this is
// no part of what is measured.
func (f *floor) EnqueueWait(ctx context.Context, tenant string, t Task) error {
	for {
		err := f.Enqueue(tenant, t)
		if err != firq.ErrGlobalFull && err != firq.ErrTenantFull {
			return err
		}
		if ctx.Err() != nil {
			return firq.ErrTimeout
		}
		runtime.Gosched()
	}
}

func (f *floor) EnqueueBatch(tenant string, ts []Task) (int, error) {
	for i := range ts {
		if err := ts[i].Validate(); err != nil {
			n, full := f.enqueueValid(tenant, ts[:i])
			if full != nil {
				err = full
			}
			return n, err
		}
	}
	return f.enqueueValid(tenant, ts)
}

func (f *floor) enqueueValid(tenant string, ts []Task) (int, error) {
	if len(ts) == 0 {
		return 0, nil
	}
	ft := f.lookUp(tenant)
	n, err := f.reserve(ft, int64(len(ts)))
	if n > 0 {
		now, ticket := Now(), ft.ring.draw(uint64(n))
		for i := range ts[:n] {
			ft.ring.put(ticket+uint64(i), ft, &ts[i], now)
		}
		f.parker.Notify()
	}
	return int(n), err
}

// pop fills dst from one ring, the caller's processor's first; 0: nothing was
// found in a ring that was free.
func (f *floor) pop(dst []Item) int {
	start := cpu.Hint()
	for i := range f.rings {
		r := f.ring(start + i)
		if !r.ready() || !r.mu.TryLock() {
			continue
		}
		n := r.pop(dst)
		r.mu.Unlock()
		if n > 0 {
			f.queued.Add(int64(-n))
			for _, it := range dst[:n] {
				f.waits.Record(it.Wait)
			}
			return n
		}
	}
	return 0
}

func (f *floor) ready() bool {
	for _, r := range f.rings {
		if r.ready() {
			return true
		}
	}
	return false
}

func (f *floor) TryDequeue() (Item, bool) {
	var one [1]Item
	for {
		if f.pop(one[:]) == 1 {
			return one[0], true
		}
		if !f.ready() {
			return Item{}, false
		}
		runtime.Gosched() // another goroutine is at it
	}
}

func (f *floor) Dequeue(ctx context.Context) (Item, error) {
	var one [1]Item
	_, err := f.DequeueBatch(ctx, one[:])
	return one[0], err
}

func (f *floor) DequeueBatch(ctx context.Context, dst []Item) (int, error) {
	var w park.Waiter
	for {
		if n := f.pop(dst); n > 0 {
			f.parker.Found(&w)
			return n, nil
		}
		switch {
		case f.ready():
			runtime.Gosched()
		case f.closed.Load() && !f.ready(): // in this order: nothing comes after closed
			f.parker.Found(&w)
			return 0, firq.ErrClosed
		default:
			if err := f.parker.Sleep(ctx, &w); err != nil {
				return 0, err
			}
		}
	}
}

// Shutdown lets consumers end when they find nothing more. It does not wait for
// them.
func (f *floor) Shutdown(context.Context) error {
	f.closed.Store(true)
	f.parker.WakeAll()
	return nil
}

// Close is Shutdown: what is queued is forgotten with the floor itself.
func (f *floor) Close() error { return f.Shutdown(context.Background()) }
