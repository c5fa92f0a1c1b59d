package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang/groupcache"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/firq-go/firq/compute"
)

// The systems.
const (
	ours       = "compute"
	pool       = "pool+otter+singleflight"
	groupCache = "groupcache"
	loading    = "otter loading"
	semaphored = "otter+singleflight+semaphore"
	otterAlone = "otter v2"
	// Of the cache alone.
	plainOtter  = "otter v2 without expiry" // which keeps less
	otterInStep = "otter v2 in step"        // which never has more than it may
)

// key is whose result is asked for, and which: the same struct in all systems that take
// one.
type key = compute.Key[uint64, uint64]

// work makes the result of a key.
type work func(ctx context.Context, k key) (uint64, error)

// system answers calls.
type system interface {
	do(ctx context.Context, k key) (uint64, error)
	close()
}

// setup is what a system is made for.
type setup struct {
	slots int // executions at the same time
	size  int // entries that are kept; 0: nothing is
	work  work
}

const ttl = time.Hour

func makeSystem(name string, s setup) (system, error) {
	switch name {
	case ours:
		return newOurs(s)
	case pool:
		return newPool(s)
	case semaphored:
		return newSemaphored(s)
	case groupCache:
		return newGroupCache(s), nil
	case loading:
		return newLoading(s)
	}
	return nil, fmt.Errorf("no system %q", name)
}

type server struct {
	*compute.Server[uint64, uint64, uint64]
}

func newOurs(s setup) (system, error) {
	cfg := compute.Config[uint64, uint64, uint64]{Limit: s.slots}
	if s.size > 0 {
		cfg.TTL, cfg.Size = ttl, s.size
	}
	out, err := compute.New(func(ctx context.Context, c compute.Call[uint64, uint64]) (uint64, error) {
		return s.work(ctx, key{Tenant: c.Tenant, Key: c.Key})
	}, cfg)
	return server{out}, err
}

func (s server) do(ctx context.Context, k key) (uint64, error) { return s.Do(ctx, k.Tenant, k.Key) }
func (s server) close()                                        { _ = s.Close() }

// poolSystem is what many services have: a cache, calls of one key made one, and a number of
// workers behind a channel.
type poolSystem struct {
	cache   *otter.Cache[key, uint64] // nil: nothing is kept
	flights singleflight.Group
	jobs    chan job
	workers sync.WaitGroup
	work    work
}

type job struct {
	ctx   context.Context
	key   key
	reply chan reply
}

type reply struct {
	v   uint64
	err error
}

// poolQueue is how many jobs the channel takes.
const poolQueue = 800

func newPool(s setup) (system, error) {
	p := &poolSystem{jobs: make(chan job, poolQueue), work: s.work}
	if s.size > 0 {
		c, err := newOtter[key](s.size, true)
		if err != nil {
			return nil, err
		}
		p.cache = c
	}
	for range s.slots {
		p.workers.Go(func() {
			for j := range p.jobs {
				v, err := p.work(j.ctx, j.key)
				j.reply <- reply{v, err}
			}
		})
	}
	return p, nil
}

func newOtter[K comparable](size int, expires bool) (*otter.Cache[K, uint64], error) {
	return otterOf(otterOptions[K](size, expires))
}

func otterOf[K comparable](o *otter.Options[K, uint64]) (*otter.Cache[K, uint64], error) {
	return otter.New(o)
}

func otterOptions[K comparable](size int, expires bool) *otter.Options[K, uint64] {
	o := &otter.Options[K, uint64]{MaximumSize: size}
	if expires {
		o.ExpiryCalculator = otter.ExpiryWriting[K, uint64](ttl)
	}
	return o
}

func (p *poolSystem) do(ctx context.Context, k key) (uint64, error) {
	if p.cache != nil {
		if v, ok := p.cache.GetIfPresent(k); ok {
			return v, nil
		}
	}
	v, err, _ := p.flights.Do(name(k), func() (any, error) {
		j := job{ctx, k, make(chan reply, 1)}
		select {
		case p.jobs <- j:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select {
		case r := <-j.reply:
			if r.err == nil && p.cache != nil {
				p.cache.Set(k, r.v)
			}
			return r.v, r.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	if err != nil {
		return 0, err
	}
	return v.(uint64), nil
}

func (p *poolSystem) close() {
	close(p.jobs)
	p.workers.Wait()
	if p.cache != nil {
		p.cache.StopAllGoroutines()
	}
}

// name is a key as a string, for what takes no other.
func name(k key) string {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], k.Tenant)
	binary.LittleEndian.PutUint64(b[8:], k.Key)
	return string(b[:])
}

// groupSystem is groupcache alone, without peers; it has no limit, no TTL and no tenants.
type groupSystem struct{ g *groupcache.Group }

var groups atomic.Int64 // groups cannot be deleted, and each needs its own name

func newGroupCache(s setup) system {
	const each = 16 + 8 // bytes of a key and of a value
	g := groupcache.NewGroup(strconv.FormatInt(groups.Add(1), 10), int64(s.size)*each,
		groupcache.GetterFunc(func(ctx context.Context, name string, dest groupcache.Sink) error {
			k := key{Tenant: binary.LittleEndian.Uint64([]byte(name[:8])), Key: binary.LittleEndian.Uint64([]byte(name[8:]))}
			v, err := s.work(ctx, k)
			if err != nil {
				return err
			}
			return dest.SetBytes(binary.LittleEndian.AppendUint64(nil, v))
		}))
	return groupSystem{g}
}

func (g groupSystem) do(ctx context.Context, k key) (uint64, error) {
	var v groupcache.ByteView
	if err := g.g.Get(ctx, name(k), groupcache.ByteViewSink(&v)); err != nil {
		return 0, err
	}
	var b [8]byte
	v.Copy(b[:])
	return binary.LittleEndian.Uint64(b[:]), nil
}

func (groupSystem) close() {}

// loadingSystem is otter that loads by itself; it has no limit of executions.
type loadingSystem struct {
	cache  *otter.Cache[key, uint64]
	loader otter.Loader[key, uint64]
}

func newLoading(s setup) (system, error) {
	c, err := newOtter[key](s.size, true)
	return loadingSystem{c, otter.LoaderFunc[key, uint64](s.work)}, err
}

func (l loadingSystem) do(ctx context.Context, k key) (uint64, error) {
	return l.cache.Get(ctx, k, l.loader)
}
func (l loadingSystem) close() { l.cache.StopAllGoroutines() }
