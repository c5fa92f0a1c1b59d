package shardsel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cell is what a shard says of itself.
type cell struct {
	round uint64
	ready bool
}

func roundsOf(slack int, cells ...cell) *Rounds {
	r := NewRounds(len(cells), slack)
	for i, c := range cells {
		r.Publish(i, c.round, c.ready)
	}
	return r
}

func TestPublish(t *testing.T) {
	r := NewRounds(3, 1)
	if r.AnyReady() {
		t.Error("a new shard is ready")
	}
	for _, c := range []cell{{0, true}, {7, true}, {7, false}, {1 << 39, true}, {0, false}} {
		r.Publish(1, c.round, c.ready)
		if r.Round(1) != c.round || r.Ready(1) != c.ready {
			t.Errorf("published %v, there is %d, %t", c, r.Round(1), r.Ready(1))
		}
		if r.AnyReady() != c.ready {
			t.Errorf("AnyReady = %t", r.AnyReady())
		}
		if r.Round(0) != 0 || r.Ready(0) || r.Round(2) != 0 || r.Ready(2) {
			t.Error("the neighbours have changed")
		}
	}
}

// The version counts how often a shard became ready, and nothing else.
func TestVersion(t *testing.T) {
	r := NewRounds(2, 1)
	for _, x := range []struct {
		shard  int
		c      cell
		counts bool
	}{
		{0, cell{0, false}, false}, // as it was
		{0, cell{0, true}, true},
		{0, cell{0, true}, false}, // as it was
		{0, cell{1, true}, false}, // a round further
		{1, cell{5, true}, true},
		{0, cell{1, false}, false},
		{0, cell{2, false}, false},
		{0, cell{2, true}, true},
	} {
		before := r.Version()
		r.Publish(x.shard, x.c.round, x.c.ready)
		if got := r.Version() != before; got != x.counts {
			t.Errorf("shard %d to %v: another version: %t", x.shard, x.c, got)
		}
	}
}

func TestLimit(t *testing.T) {
	const none = uint64(math.MaxUint64)
	for _, x := range []struct {
		slack int
		cells []cell
		want  uint64
	}{
		{3, []cell{{3, false}, {9, false}}, none},           // nobody to be fair to
		{1, []cell{{3, true}, {9, true}}, 3},                // lead 0
		{2, []cell{{3, true}, {9, true}}, 3},                // still 0
		{3, []cell{{3, true}, {9, true}}, 4},                // lead 1
		{9, []cell{{3, true}, {9, true}}, 7},                // lead 4
		{9, []cell{{3, false}, {9, true}}, 13},              // an idle shard holds nobody back
		{3, []cell{{0, true}}, 1},                           // the first round
		{math.MaxInt32, []cell{{5, true}}, 5 + (1<<31-2)/2}, // the largest slack
	} {
		if got := roundsOf(x.slack, x.cells...).Limit(); got != x.want {
			t.Errorf("slack %d, %v: Limit = %d, want %d", x.slack, x.cells, got, x.want)
		}
	}
}

// The slowest ready shard may always be served, or nobody could go on.
func TestLimitLetsTheSlowestGo(t *testing.T) {
	for slack := 1; slack < 5; slack++ {
		for round := range uint64(20) {
			r := roundsOf(slack, cell{round, true}, cell{round + 7, true})
			if r.Limit() < round {
				t.Errorf("slack %d: the slowest is in round %d, the limit is %d", slack, round, r.Limit())
			}
		}
	}
}

func TestJoin(t *testing.T) {
	for _, x := range []struct {
		what  string
		cells []cell // shard 0 joins
		want  uint64
	}{
		{"alone", []cell{{4, false}}, 4},
		{"at the slowest ready shard's round", []cell{{4, false}, {9, true}, {12, true}}, 9},
		{"never before its own", []cell{{10, false}, {9, true}, {12, true}}, 10},
		{"idle shards do not count while one is ready", []cell{{0, false}, {90, false}, {12, true}}, 12},
		{"all idle: the furthest", []cell{{4, false}, {9, false}, {7, false}}, 9},
		{"all idle, itself the furthest", []cell{{11, false}, {9, false}}, 11},
		{"its own readiness does not count", []cell{{4, true}, {9, true}}, 9},
		{"new shards", []cell{{0, false}, {0, true}}, 0},
	} {
		if got := roundsOf(1, x.cells...).Join(0); got != x.want {
			t.Errorf("%s: %v: Join = %d, want %d", x.what, x.cells, got, x.want)
		}
	}
}

// A shard that slept while the others went on for long is not owed the rounds
// that it missed: once it has joined, the limit does not fall behind.
func TestSleeperIsOwedNothing(t *testing.T) {
	r := roundsOf(3, cell{0, false}, cell{1_000, true})
	before := r.Limit()
	r.Publish(0, r.Join(0), true)
	if got := r.Limit(); got != before {
		t.Errorf("the limit went from %d to %d", before, got)
	}
}

// Who finds no shard ready at an unchanged version knows that there was an
// instant at which none was. Here one of two shards is ready at any instant.
func TestVersionTellsAnInstant(t *testing.T) {
	r := roundsOf(1, cell{0, true}, cell{0, false})
	start := time.Now()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; i&1023 != 0 || !over.Load() && time.Since(start) < time.Second/2; i++ {
			next := (i + 1) & 1
			r.Publish(next, uint64(i), true)
			r.Publish(1-next, uint64(i), false)
		}
		over.Store(true)
	})
	for !over.Load() {
		before := r.Version()
		if !r.AnyReady() && r.Version() == before {
			t.Error("no shard ready at one version, though one always is")
			break
		}
	}
	over.Store(true)
	wg.Wait()
}
