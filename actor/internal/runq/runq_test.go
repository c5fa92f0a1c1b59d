package runq

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Used by one goroutine, shards serve as one heap would: the smallest start tag of all first,
// entries that have used less before others with that tag, and no entry before the virtual time.
func TestShardsOrder(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		q := New[*int](16)
		if len(q.all) != maxShards {
			t.Fatal(len(q.all))
		}
		type item struct {
			key int64 // the doubled tag, plus 1 if it was not among those that have used less
			a   *int
		}
		in := map[*int]item{}
		for range 1000 {
			if rnd.IntN(5) > 1 {
				tag, v := rnd.Int64N(2000), q.Now()
				k := item{max(tag, v) << 1, new(int)}
				if tag >= v {
					k.key++
				}
				in[k.a] = k
				if !q.Put(Entry[*int]{Of: k.a, Tag: tag}) {
					t.Fatal("it is closed")
				}
				continue
			}
			e, ok := q.Get(0)
			if ok != (len(in) > 0) || q.Any() != (len(in) > 1) {
				t.Fatal(ok, q.Any(), len(in))
			}
			if !ok {
				continue
			}
			got := in[e.Of]
			for _, k := range in {
				if k.key < got.key {
					t.Fatalf("seed %d: %d before %d", seed, got.key, k.key)
				}
			}
			if e.Tag != got.key>>1 || q.Now() < e.Tag {
				t.Fatalf("seed %d: tag %d of %d, it is %d", seed, e.Tag, got.key, q.Now())
			}
			delete(in, e.Of)
		}
		if n := len(q.Close()); n != len(in) || q.Put(Entry[*int]{}) || q.Any() {
			t.Error(n, len(in), q.Any())
		}
	}
}

// Only entries that were chosen before the first entry came overtake it: a get that began after
// it was put in, and ended before it was taken, has returned no entry with a greater tag. Nothing
// is lost, and nothing comes twice.
func TestShardsConcurrent(t *testing.T) {
	const each = 150
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		q := New[*int](16)
		var clock atomic.Int64
		type life struct{ put, begin, end, tag int64 }
		var mu sync.Mutex
		lives := map[*int]*life{}
		var left atomic.Int64
		left.Store(4 * each)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(round), uint64(g)))
				for range each {
					a := new(int)
					q.Put(Entry[*int]{Of: a, Tag: q.Now() + rnd.Int64N(100)})
					at := clock.Add(1)
					mu.Lock()
					if lives[a] == nil {
						lives[a] = &life{}
					}
					lives[a].put = at
					mu.Unlock()
				}
			})
			wg.Go(func() {
				for left.Load() > 0 {
					begin := clock.Add(1)
					e, ok := q.Get(0)
					end := clock.Add(1)
					if !ok {
						runtime.Gosched()
						continue
					}
					left.Add(-1)
					mu.Lock()
					l := lives[e.Of]
					if l == nil {
						l = &life{}
						lives[e.Of] = l
					}
					if l.end != 0 {
						t.Error("it came twice")
					}
					l.begin, l.end, l.tag = begin, end, e.Tag
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(lives) != 4*each || q.Any() {
			t.Fatalf("%d of %d, or something is left", len(lives), 4*each)
		}
		for _, x := range lives {
			for _, g := range lives {
				if g.begin > x.put && g.end < x.begin && g.tag > x.tag {
					t.Fatalf("round %d: %+v was passed by %+v", round, x, g)
				}
			}
		}
	}
}

// A get that has chosen a shard, and finds under its lock that another get has taken the head,
// looks at all shards again.
func TestShardsLookAgain(t *testing.T) {
	q := New[*int](16)
	for i := range 64 {
		q.Put(Entry[*int]{Of: new(int), Tag: int64(i)})
	}
	_, i := q.first()
	sh := &q.all[i]
	sh.mu.Lock()
	got := make(chan Entry[*int])
	go func() { e, _ := q.Get(0); got <- e }()
	blocked(t, "(*Queue[...]).Get")
	best, at := int64(none), i
	for at == i { // until another shard's head is first
		sh.heap.get()
		sh.publish()
		best, at = q.first()
	}
	sh.mu.Unlock()
	if e := <-got; e.Tag != best>>1 {
		t.Errorf("it took %d of shard %d, and not %d of shard %d", e.Tag, i, best>>1, at)
	}
}

// blocked waits until a goroutine waits for a lock in the function.
func blocked(t *testing.T, function string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); runtime.Gosched() {
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "[sync.Mutex.Lock") && strings.Contains(g, function+"(") {
				return
			}
		}
	}
	t.Fatalf("no goroutine waits for a lock in %s", function)
}
