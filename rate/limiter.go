package rate

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/key"
	"github.com/firq-go/firq/internal/core/pad"
)

// Config says what each tenant may use. Its functions are called by many goroutines
// concurrently, never with a lock held, and may panic: the panic is the caller's, and the
// call has taken nothing.
type Config[K comparable] struct {
	// Limit is that of each tenant; zero: none.
	Limit
	// LimitFor gives each tenant its own Limit. It is asked at each call, and ten times a
	// second for a tenant with calls that wait, so a limit may change while the tenant uses
	// it: what is used stays the same number. Zero, or a
	// Limit that makes no sense: Limit. nil: Limit.
	LimitFor func(K) Limit
	// Now is the clock by which tokens come back. Calls that wait do so by the time of the
	// machine. nil: time.Now.
	Now func() time.Time
}

// Limiter is a Taker that counts in this process. Make it with New or Open; safe for
// concurrent use. It starts no goroutine, and needs no Close.
type Limiter[K comparable] struct {
	cfg     Config[K]
	limit   Limit // the default, resolved
	check   key.Check[K]
	begin   time.Time
	seed    maphash.Seed
	stripes []stripe[K] // a power of two of them
}

// stripe has the tenants of one remainder of the hash.
type stripe[K comparable] struct {
	mu      sync.Mutex
	tenants map[K]*account[K]
	ops     int // of Take and Charge, since some were looked at
	peak    int // the most tenants since the map was made
	_       pad.Pad
}

// account is a tenant that is remembered: one that owes something, or for which calls wait.
type account[K comparable] struct {
	bucket
	line *line // calls that wait; nil: none
}

// Open returns a Limiter, or an error that matches firq.ErrInvalidConfig and names the
// fields that make no sense.
func Open[K comparable](cfg Config[K]) (*Limiter[K], error) {
	limit, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	n := 64
	for n < 16*runtime.GOMAXPROCS(0) && n < 1024 {
		n *= 2
	}
	l := &Limiter[K]{cfg: cfg, limit: limit, check: key.New[K](), seed: maphash.MakeSeed(), stripes: make([]stripe[K], n)}
	for i := range l.stripes {
		l.stripes[i].tenants = map[K]*account[K]{}
	}
	l.begin = time.Now()
	if cfg.Now != nil {
		l.begin = cfg.Now()
	}
	return l, nil
}

// New is Open for a Config that is known to make sense: it panics if it does not.
func New[K comparable](cfg Config[K]) *Limiter[K] {
	l, err := Open(cfg)
	if err != nil {
		panic(err.Error())
	}
	return l
}

// Take is Taker's.
func (l *Limiter[K]) Take(ctx context.Context, tenant K, cost int64, maxWait time.Duration) (Result, error) {
	if err := l.checkCall(ctx, tenant); err != nil {
		return Result{}, err
	}
	if cost < 0 || maxWait < 0 {
		return Result{}, fmt.Errorf("%w: cost %d, maxWait %v: must not be negative", firq.ErrInvalidTask, cost, maxWait)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	limit := l.limitOf(tenant)
	if limit.PerSecond == 0 {
		return Result{}, nil
	}
	now := l.now()
	s := l.stripe(tenant)
	s.mu.Lock()
	a := s.tenants[tenant]
	if a == nil {
		a = s.join(tenant, now, limit.PerSecond)
	}
	if a.line != nil {
		a.serve(now, limit)
	}
	if a.line == nil && a.take(now, limit, cost) {
		s.sweep(now)
		spent, since := a.spent, a.since
		s.mu.Unlock()
		return limit.result(now, spent, since), nil
	}
	return l.wait(ctx, s, a, tenant, limit, cost, now, maxWait)
}

// Charge is Taker's.
func (l *Limiter[K]) Charge(ctx context.Context, tenant K, delta int64) error {
	if err := l.checkCall(ctx, tenant); err != nil {
		return err
	}
	limit := l.limitOf(tenant)
	if limit.PerSecond == 0 || delta == 0 {
		return nil
	}
	now := l.now()
	s := l.stripe(tenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.tenants[tenant]
	if a == nil {
		if delta < 0 {
			return nil // its burst is whole
		}
		a = s.join(tenant, now, limit.PerSecond)
	}
	if a.used(now, limit.PerSecond); delta > 0 {
		a.spent = add(a.spent, delta)
	} else {
		a.giveBack(now, -max(delta, -math.MaxInt64))
	}
	if a.line != nil {
		a.serve(now, limit)
		if a.line != nil {
			a.line.first.poke() // it may pass sooner than it thought
		}
	}
	s.sweep(now)
	return nil
}

// Len returns how many tenants are remembered: those that have used some of their burst,
// or for which calls wait. It looks at each.
func (l *Limiter[K]) Len() int {
	now, n := l.now(), 0
	for i := range l.stripes {
		s := &l.stripes[i]
		s.mu.Lock()
		s.forget(now, len(s.tenants), 0)
		n += len(s.tenants)
		s.mu.Unlock()
	}
	return n
}

// checkCall refuses calls that make no sense.
func (l *Limiter[K]) checkCall(ctx context.Context, tenant K) error {
	if ctx == nil {
		return fmt.Errorf("%w: ctx is nil", firq.ErrInvalidArgument)
	}
	return l.check.Tenant(tenant)
}

// limitOf returns the tenant's limit, resolved.
func (l *Limiter[K]) limitOf(tenant K) Limit {
	if l.cfg.LimitFor != nil {
		if limit, ok := l.cfg.LimitFor(tenant).resolve(); ok && limit.PerSecond > 0 {
			return limit
		}
	}
	return l.limit
}

// now returns the nanoseconds since begin.
func (l *Limiter[K]) now() int64 {
	if l.cfg.Now == nil {
		return int64(time.Since(l.begin)) // half the price of time.Now
	}
	return max(0, int64(l.cfg.Now().Sub(l.begin)))
}

func (l *Limiter[K]) stripe(tenant K) *stripe[K] {
	return &l.stripes[maphash.Comparable(l.seed, tenant)&uint64(len(l.stripes)-1)]
}

// join makes an account of a tenant whose burst is whole. Under mu.
func (s *stripe[K]) join(tenant K, now int64, rate float64) *account[K] {
	a := &account[K]{bucket: bucket{since: now, rate: rate}}
	s.tenants[tenant] = a
	s.peak = max(s.peak, len(s.tenants))
	s.ops += 7
	return a
}

// After sweepEvery calls a quarter as many tenants are looked at; a new tenant counts as
// many calls, so that two are looked at for each and those that come once do not pile up. One that was whole again at a call not
// longer than idle ago stays, as it may come again.
const (
	sweepEvery = 64
	idle       = int64(time.Second)
)

// sweep forgets some tenants whose bursts are whole. Under mu.
func (s *stripe[K]) sweep(now int64) {
	if s.ops++; s.ops >= sweepEvery {
		s.ops = 0
		s.forget(now, sweepEvery/4, idle)
	}
}

// forget looks at n tenants, beginning anywhere, as iterating over a map does. Under mu.
func (s *stripe[K]) forget(now int64, n int, idle int64) {
	for tenant, a := range s.tenants {
		if n--; n < 0 {
			break
		}
		if a.line == nil && now-a.since >= idle && tokens(a.rate, now-a.since) >= a.spent {
			delete(s.tenants, tenant)
		}
	}
	if s.peak > 1024 && len(s.tenants) < s.peak/8 { // a map does not shrink by itself
		tenants := make(map[K]*account[K], len(s.tenants))
		for tenant, a := range s.tenants {
			tenants[tenant] = a
		}
		s.tenants, s.peak = tenants, len(tenants)
	}
}
