package ring

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is after what time a test gives up on values that do not come.
const patience = 5 * time.Second

// stamped is a value of the concurrent test: its producer, its number there,
// and the time on a common clock at which the producer began.
type stamped struct {
	producer, n int
	begun       int64
}

// slowPush is Push by a producer that is stopped between ticket and publishing
// now and then, and waits for room until the test is over.
func slowPush(r *MPSC[stamped], v stamped, over *atomic.Bool) {
	for !over.Load() {
		t := r.tail.Load()
		if r.Room(t) <= 0 {
			runtime.Gosched()
			continue
		}
		if r.tail.CompareAndSwap(t, t+1) {
			if v.n%5 == 0 {
				runtime.Gosched()
			}
			r.Put(ticket(t, 0), v)
			return
		}
	}
}

// Producers against one consumer: nothing is lost or taken twice, and a value
// whose Put returned before another one's ticket was drawn is taken before it;
// the values of one producer are a case of that.
func TestConcurrent(t *testing.T) {
	const producers, per = 4, 4_000
	eachStart(t, func(t *testing.T, first uint32) {
		r := newRing[stamped](8, first)
		var clock atomic.Int64
		var over atomic.Bool
		var ended [producers][per]int64 // each written by its producer
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() {
				for n := range per {
					v := stamped{p, n, clock.Load()}
					if p%2 == 0 {
						slowPush(r, v, &over)
					} else {
						for !r.Push(v) && !over.Load() {
							runtime.Gosched()
						}
					}
					ended[p][n] = clock.Add(1)
				}
			})
		}
		var order []stamped
		start := time.Now()
		for len(order) < producers*per && time.Since(start) < patience {
			got := pass(r)
			if order = append(order, got...); len(got) == 0 {
				runtime.Gosched()
			}
		}
		over.Store(true)
		wg.Wait()
		if len(order) != producers*per {
			t.Fatalf("%d values came, want %d", len(order), producers*per)
		}
		if extra := pass(r); len(extra) != 0 || r.Ready() {
			t.Errorf("%d values too many, Ready = %t", len(extra), r.Ready())
		}
		var next [producers]int
		latest := int64(-1) // the latest begin among those taken so far
		for _, v := range order {
			if v.n != next[v.producer] {
				t.Fatalf("producer %d: value %d came, want %d", v.producer, v.n, next[v.producer])
			}
			next[v.producer]++
			if end := ended[v.producer][v.n]; end <= latest {
				t.Fatalf("a value that was in at %d was taken after one begun at %d", end, latest)
			}
			latest = max(latest, v.begun)
		}
	})
}

// Ready may be asked by any goroutine, at any time, and a published value is seen.
func TestReadyConcurrent(t *testing.T) {
	r := newRing[int](4, 1<<TicketBits-100)
	const values = 5_000
	var published, taken atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range values {
			for !r.Push(i) {
				runtime.Gosched()
			}
			published.Add(1)
		}
	})
	wg.Go(func() {
		for taken.Load() < values {
			in := published.Load()
			out := taken.Load() // counted before each pass, so never behind
			if ready := r.Ready(); !ready && in > out && taken.Load() == out {
				t.Errorf("%d in, %d taken, and not Ready", in, out)
				return
			}
			runtime.Gosched()
		}
	})
	for n := int64(0); n < values; {
		taken.Store(min(n+4, values)) // at most this many once this pass is over
		n += int64(len(pass(r)))
		taken.Store(n)
		runtime.Gosched()
	}
	wg.Wait()
}
