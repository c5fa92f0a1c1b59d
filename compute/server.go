package compute

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/key"
)

// Server answers calls from its cache, from the execution of their key that is under
// way, or by executing. Make it with New; it must not be copied. All methods are safe for
// concurrent use; the package's comment says which of them wait for what.
type Server[T, K comparable, V any] struct {
	// Immutable after New.
	exec     Exec[T, K, V]
	cfg      Config[T, K, V]
	keeps    bool                  // there is a cache
	own      *cache[T, K, V]       // nil: there is another, or none
	other    *customCache[T, K, V] // Config.Cache
	queueAll bool                  // every permit goes through the gate's queue
	tenants  key.Check[T]
	names    key.Check[K]
	seed     maphash.Seed
	clock    clock.Clock
	base     time.Time        // when it was made
	shards   []shard[T, K, V] // a power of two
	groups   groups[T]
	adaptive *gate.Adaptive // nil: the limit is fixed

	times times
	life  life

	hits, stale *xsync.Counter // the other counters are in the shards

	gaveUp, closed                     atomic.Uint64
	refusedGlobal, refusedTenant       atomic.Uint64
	refusedTimeout, refusedWaiters     atomic.Uint64
	panics, abandoned, behind, spilled atomic.Uint64
	unheard                            unheard // failures behind
}

// New returns a Server that makes results by exec. A config that makes no sense is an
// error that matches firq.ErrInvalidConfig and names the field; a nil exec is
// firq.ErrInvalidArgument. It starts no goroutine; close it with Shutdown or Close.
func New[T, K comparable, V any](exec Exec[T, K, V], cfg Config[T, K, V]) (*Server[T, K, V], error) {
	if exec == nil {
		return nil, fmt.Errorf("%w: exec is nil", firq.ErrInvalidArgument)
	}
	cfg, err := cfg.check()
	if err != nil {
		return nil, err
	}
	s := &Server[T, K, V]{
		exec: exec, cfg: cfg,
		keeps:    cfg.keeps(),
		queueAll: cfg.Gate.MaxInFlightPerTenant != 0 || cfg.Gate.MaxInFlightFor != nil,
		tenants:  key.New[T](),
		names:    key.New[K](),
		seed:     maphash.MakeSeed(),
		clock:    clock.New(),
		base:     time.Now(),
		shards:   make([]shard[T, K, V], max(64, 1<<bits.Len(uint(8*runtime.GOMAXPROCS(0)-1)))),
	}
	s.hits, s.stale = xsync.NewCounter(), xsync.NewCounter()
	for i := range s.shards {
		s.shards[i].s, s.shards[i].loose = s, map[*flight[T, K, V]]struct{}{}
	}
	switch {
	case !s.keeps:
	case cfg.Cache != nil:
		s.other = &customCache[T, K, V]{cache: cfg.Cache, now: s.clock.Now, tenants: map[T]forgot{}, most: mostForgotten}
	default:
		s.own = newCache[T, K, V](&cfg, s.seed, &s.clock)
	}
	if err := s.groups.init(cfg.Limit, cfg.Groups, cfg.Gate, cfg.Spill); err != nil {
		return nil, err
	}
	if cfg.Adaptive != nil {
		if s.adaptive, err = gate.NewAdaptive(&s.groups, *cfg.Adaptive); err != nil {
			return nil, fmt.Errorf("firq: compute: Adaptive: %w", err)
		}
	}
	s.life.init(s.end)
	return s, nil
}

// end is called once, when everything is over, or by Close.
func (s *Server[T, K, V]) end() {
	s.groups.close()
	if s.own != nil {
		s.own.stop()
	}
}

func (s *Server[T, K, V]) hash(k *Key[T, K]) uint64 { return maphash.Comparable(s.seed, *k) }

// Do answers a call. It returns the result, or the error of the execution that it was
// to come from, or
//
//   - ctx.Err(), if ctx ends first;
//   - what matches firq.ErrRejected, if there was no slot for it in time: the errors of
//     gate.Gate.Acquire, and ErrTooManyWaiters;
//   - firq.ErrClosed after Shutdown or Close;
//   - ErrCycle, if an execution makes the call and would wait for itself;
//   - *PanicError, if the execution panicked, or called runtime.Goexit (on the goroutine of this call:
//     then it ends);
//   - firq.ErrInvalidTask if the tenant is not equal to itself (NaN), or the cost is
//     negative; firq.ErrInvalidArgument if ctx is nil.
//
// It returns when ctx ends at the latest, but for the call on whose goroutine exec runs
// (without Config.Detach): that returns when exec does, with its value, or ctx.Err().
// A hit does not look at ctx.
//
// If Config.Cost, Config.Clone, a function of Config.Gate or a method of ctx panics, or
// the tenant or the key cannot be compared, then so does Do, and leaves nothing behind.
func (s *Server[T, K, V]) Do(ctx context.Context, tenant T, key K) (V, error) {
	o, k := plain[T, K, V](), Key[T, K]{tenant, key}
	h, e, source, _, err := s.find(ctx, &k, &o)
	switch {
	case err != nil:
		var none V
		return none, err
	case source == None:
		a := s.miss(ctx, k, h, &o, e)
		return a.val, a.err
	}
	v, err := s.copied(e)
	s.countKept(source)
	return v, err
}

// DoInfo is Do with options, and says how the call was answered.
func (s *Server[T, K, V]) DoInfo(ctx context.Context, tenant T, key K, o ...DoOption) (V, Info, error) {
	opts, err := gather[T, K, V](o)
	if err != nil {
		a := none[V](err)
		return a.val, a.info, a.err
	}
	a := s.do(ctx, Key[T, K]{tenant, key}, &opts)
	return a.val, a.info, a.err
}

func (s *Server[T, K, V]) do(ctx context.Context, k Key[T, K], o *options[T, K, V]) answer[V] {
	h, e, source, now, err := s.find(ctx, &k, o)
	switch {
	case err != nil:
		return none[V](err)
	case source == None:
		return s.miss(ctx, k, h, o, e)
	}
	a := s.kept(e, source, now)
	s.countKept(source)
	return a
}

// find returns the key's hash, and what is kept of it: source says what kind of answer that
// is, None that it is none, nil or not.
func (s *Server[T, K, V]) find(ctx context.Context, k *Key[T, K], o *options[T, K, V]) (h uint64, e *Entry[V], source Source, now int64, err error) {
	if ctx == nil {
		return 0, nil, None, 0, errNilContext
	}
	if s.life.closing.Load() {
		s.closed.Add(1)
		return 0, nil, None, 0, firq.ErrClosed
	}
	h = s.hash(k)
	if !s.keeps || o.noCache {
		return h, nil, None, 0, nil
	}
	if e = s.lookup(h, k); e == nil {
		return h, nil, None, 0, nil
	}
	now = s.clock.Now()
	if now < e.fresh {
		if s.due(e, now) {
			s.refresh(ctx, k, h, o, e, now)
		}
		return h, e, Hit, now, nil
	}
	if !o.noStale && s.serves(e, now) {
		s.refresh(ctx, k, h, o, e, now)
		return h, e, Stale, now, nil
	}
	return h, e, None, now, nil
}

// copied returns what an entry answers: a copy, or its error.
func (s *Server[T, K, V]) copied(e *Entry[V]) (v V, err error) {
	if err = e.error(); err == nil {
		v = s.clone(e.val)
	}
	return v, err
}

// kept is the answer of an entry.
func (s *Server[T, K, V]) kept(e *Entry[V], source Source, now int64) answer[V] {
	a := answer[V]{info: Info{Source: source, Age: s.ageOf(e, now), Group: -1}}
	if source == Stale && !isStale(e, now, s.cfg.Stale) {
		_, a.info.Err = e.failure()
	}
	a.val, a.err = s.copied(e)
	return a
}

// counted counts an answer and returns it.
func (s *Server[T, K, V]) counted(h uint64, a answer[V]) answer[V] {
	s.count(s.shard(h), a.info.Source, a.err)
	return a
}

func (s *Server[T, K, V]) clone(v V) V {
	if s.cfg.Clone == nil {
		return v
	}
	return s.cfg.Clone(v)
}

// miss answers a call for which nothing was kept.
func (s *Server[T, K, V]) miss(ctx context.Context, k Key[T, K], h uint64, o *options[T, K, V], seen *Entry[V]) answer[V] {
	if err := s.tenants.Tenant(k.Tenant); err != nil {
		return none[V](err)
	}
	if !s.life.enter() {
		s.closed.Add(1)
		return none[V](firq.ErrClosed)
	}
	defer s.life.leave()
	a := s.make(ctx, k, h, o, seen)
	switch {
	case a.info.Source == Hit: // a copy
	case a.err != nil:
		a = s.instead(k, h, o, a)
	default:
		a.val = s.clone(a.val)
	}
	return s.counted(h, a)
}

// make joins what is being made, or makes it.
func (s *Server[T, K, V]) make(ctx context.Context, k Key[T, K], h uint64, o *options[T, K, V], seen *Entry[V]) answer[V] {
	odd := s.names.Tenant(k.Key) != nil
	if odd || s.cfg.NoCoalesce {
		return s.alone(k, h, o, !odd).lead(ctx, time.Time{})
	}
	is := s.takePart(&want[T, K, V]{k, h, seen}, o)
	switch {
	case is.err != nil:
		return none[V](is.err)
	case is.kept != nil:
		return s.kept(is.kept, Hit, s.clock.Now())
	case is.leads:
		return is.f.lead(ctx, time.Time{})
	}
	return is.f.follow(ctx)
}

// instead is what answers a call for which a failed: what is kept, if StaleIfError says
// so, and it was not the call that ended.
func (s *Server[T, K, V]) instead(k Key[T, K], h uint64, o *options[T, K, V], a answer[V]) answer[V] {
	failed := a.info.Source != None || isAny(a.err, firq.ErrRejected)
	if !failed || s.cfg.StaleIfError == 0 || !s.keeps || o.noCache || o.noStale {
		return a
	}
	e := s.lookup(h, &k) // not what was seen before: that may have been forgotten
	now := s.clock.Now()
	if e == nil || !isStale(e, now, s.cfg.StaleIfError) {
		return a
	}
	return answer[V]{val: s.clone(e.val), info: Info{Source: Stale, Age: s.ageOf(e, now), Group: -1, Err: a.err}}
}
