package schedtest

import (
	"context"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// door is how producers enqueue: what the contract says of a key holds for its handle.
type door int

const (
	byKey door = iota
	byHandle
	byEither // task by task
	nDoors
)

// doors draws a door for each scheduler that a check makes, from the seed of the run.
type doors struct {
	seed uint64
	made atomic.Uint64
}

// randomSeed returns FIRQ_SEED, or another seed in each run, and logs which: what is random is drawn from it.
func randomSeed(t *testing.T, what string) uint64 {
	seed := uint64(time.Now().UnixNano())
	if e := os.Getenv("FIRQ_SEED"); e != "" {
		n, err := strconv.ParseUint(e, 10, 64)
		if err != nil {
			t.Fatalf("FIRQ_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("%s at random; FIRQ_SEED=%d draws the same", what, seed)
	return seed
}

// of returns the doors of one check. They depend on its name and the seed, not on which
// checks run in parallel.
func (d *doors) of(check string) *doors {
	seed := d.seed
	for _, c := range []byte(check) {
		seed = scatter(seed ^ uint64(c))
	}
	return &doors{seed: seed}
}

// behind wraps each scheduler that newSched makes, so that calls go through the door that d draws.
func behind[K comparable](d *doors, newSched func(firq.Config[K, int]) (firq.Scheduler[K, int], error)) func(firq.Config[K, int]) (firq.Scheduler[K, int], error) {
	return func(cfg firq.Config[K, int]) (firq.Scheduler[K, int], error) {
		s, err := newSched(cfg)
		if err != nil {
			return nil, err
		}
		seed := scatter(d.seed + d.made.Add(1))
		switch door(seed % uint64(nDoors)) {
		case byHandle:
			return &atDoor[K]{Scheduler: s, all: true}, nil
		case byEither:
			return &atDoor[K]{Scheduler: s, seed: seed}, nil
		}
		return s, nil
	}
}

// scatter is the finalizer of splitmix64 (Steele, Lea, Flood 2014).
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// atDoor is a scheduler whose Enqueue methods go by handle, for every task or for those that
// a hash of seed and payload selects: goroutines that enqueue share no state for the choice.
// It keeps handles in use, as producers do.
type atDoor[K comparable] struct {
	firq.Scheduler[K, int]
	all     bool
	seed    uint64
	handles sync.Map // string to firq.Handle; only keys that any map takes
	kept    atomic.Int64
}

// mostKept limits the handles that an atDoor keeps, as some checks measure memory.
const mostKept = 1000

func (s *atDoor[K]) byHandle(payload int) bool {
	return s.all || scatter(s.seed^uint64(payload))&1 == 0
}

func (s *atDoor[K]) handle(k K) firq.Handle[K, int] {
	name, ok := any(k).(string)
	if !ok {
		return s.Tenant(k)
	}
	if h, ok := s.handles.Load(name); ok {
		return h.(firq.Handle[K, int])
	}
	if s.kept.Add(1) > mostKept {
		return s.Tenant(k)
	}
	h, _ := s.handles.LoadOrStore(name, s.Tenant(k))
	return h.(firq.Handle[K, int])
}

func (s *atDoor[K]) Enqueue(k K, t firq.Task[int]) error {
	if s.byHandle(t.Payload) {
		return s.handle(k).Enqueue(t)
	}
	return s.Scheduler.Enqueue(k, t)
}

func (s *atDoor[K]) EnqueueWait(ctx context.Context, k K, t firq.Task[int]) error {
	if s.byHandle(t.Payload) {
		return s.handle(k).EnqueueWait(ctx, t)
	}
	return s.Scheduler.EnqueueWait(ctx, k, t)
}

func (s *atDoor[K]) EnqueueBatch(k K, ts []firq.Task[int]) (int, error) {
	if len(ts) > 0 && s.byHandle(ts[0].Payload) {
		return s.handle(k).EnqueueBatch(ts)
	}
	return s.Scheduler.EnqueueBatch(k, ts)
}
