package shardsel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cell is what a shard has published.
type cell struct {
	tag   uint64
	ready bool
}

func roundsOf(slack int, cells ...cell) *Rounds {
	r := NewRounds(len(cells), slack)
	for i, c := range cells {
		r.Publish(i, c.tag, c.ready)
	}
	return r
}

// anyReady reports whether some shard has something to serve.
func (r *Rounds) anyReady() bool {
	for i := range r.cells {
		if r.Ready(i) {
			return true
		}
	}
	return false
}

func TestPublish(t *testing.T) {
	r := NewRounds(3, 1)
	if r.anyReady() {
		t.Error("a new shard is ready")
	}
	for _, c := range []cell{{0, true}, {7, true}, {7, false}, {math.MaxInt64, true}, {0, false}} {
		r.Publish(1, c.tag, c.ready)
		if c.ready && r.Tag(1) != c.tag || r.Ready(1) != c.ready {
			t.Errorf("published %v, there is %d, %t", c, r.Tag(1), r.Ready(1))
		}
		if r.anyReady() != c.ready {
			t.Errorf("some ready = %t", r.anyReady())
		}
		if r.Tag(0) != 0 || r.Ready(0) || r.Tag(2) != 0 || r.Ready(2) {
			t.Error("the neighbours have changed")
		}
	}
	if r.Publish(1, 1<<63, true); r.Tag(1) != 0 || !r.Ready(1) {
		t.Errorf("the round after the last one became %d, %t", r.Tag(1), r.Ready(1))
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
		before, _ := r.Version()
		r.Publish(x.shard, x.c.tag, x.c.ready)
		after, sure := r.Version()
		if got := after != before; got != x.counts || !sure {
			t.Errorf("shard %d to %v: another version: %t, sure: %t", x.shard, x.c, got, sure)
		}
	}
}

const none = uint64(math.MaxUint64)

// A shard may be served up to the lead after the smallest tag of the others that
// have work, and without limit if there are none.
func TestLimit(t *testing.T) {
	for _, x := range []struct {
		what  string
		slack int
		cells []cell
		want  []uint64
	}{
		{"all idle", 3, []cell{{3, false}, {9, false}}, []uint64{none, none}},
		{"alone", 3, []cell{{3, true}, {9, false}}, []uint64{none, 4}},
		{"alone of three", 3, []cell{{3, true}, {9, false}, {1, false}}, []uint64{none, 4, 4}},
		{"slack 1: 1 and 0", 1, []cell{{3, true}, {9, true}}, []uint64{10, 3}},
		{"slack 2: 1 and 1", 2, []cell{{3, true}, {9, true}}, []uint64{10, 4}},
		{"slack 3: 2 and 1", 3, []cell{{3, true}, {9, true}}, []uint64{11, 4}},
		{"equal tags", 1, []cell{{6, true}, {6, true}, {6, true}}, []uint64{7, 6, 6}},
		{"the smallest last", 1, []cell{{9, true}, {6, true}, {3, true}}, []uint64{4, 4, 6}},
		{"the smallest first", 1, []cell{{3, true}, {9, true}, {6, true}}, []uint64{7, 3, 3}},
		{"an idle shard holds nobody back", 1, []cell{{0, false}, {9, true}, {12, true}}, []uint64{10, 13, 9}},
		{"the largest slack", math.MaxInt32, []cell{{5, true}, {5, true}}, []uint64{5 + 1<<30, 4 + 1<<30}},
		{"across the last round there is", 3, []cell{{math.MaxInt64, true}, {8, true}}, []uint64{10, 0}},
		{"two rounds before the last", 3, []cell{{math.MaxInt64 - 2, true}, {8, true}}, []uint64{10, math.MaxInt64 - 1}},
	} {
		v := roundsOf(x.slack, x.cells...)
		for i, want := range x.want {
			if got := v.Limit(i); got != want {
				t.Errorf("%s: Limit(%d) = %d, want %d", x.what, i, got, want)
			}
		}
	}
}

// Whatever the tags, some shard that has work may be served, or none could go
// on.
func TestLimitLetsOneShardGo(t *testing.T) {
	for slack := 1; slack < 5; slack++ {
		for a := range uint64(12) {
			for b := range uint64(12) {
				r := roundsOf(slack, cell{a, true}, cell{b, true}, cell{5, true})
				v, some := r, false
				for i := range 3 {
					some = some || r.Tag(i) <= v.Limit(i)
				}
				if !some {
					t.Errorf("slack %d, tags %d, %d, 5: no shard may be served", slack, a, b)
				}
			}
		}
	}
}

// The current round is the furthest that a tenant was served in, whatever the tags; it
// does not go back.
func TestCurrent(t *testing.T) {
	r := roundsOf(1, cell{90, true}, cell{95, true}, cell{0, false})
	for _, x := range []struct{ round, want uint64 }{
		{0, 0}, {4, 4}, {9, 9}, {7, 9}, {3, 9}, {9, 9}, {10, 10},
		{1 << 61, 1 << 61}, {1 << 62, 1 << 62}, {1<<63 - 1, 1<<63 - 1}, {1 << 62, 1<<63 - 1}, {1 << 63, 0}, {1<<63 - 1, 0}, {3, 3},
	} {
		if got := r.Served(x.round); got != x.want || r.Current() != x.want {
			t.Errorf("served in round %d: %d, Current = %d, want %d", x.round, got, r.Current(), x.want)
		}
	}
	if r.Tag(0) != 90 || r.Tag(1) != 95 || r.Ready(2) || !r.Ready(0) {
		t.Error("Served has changed what was published")
	}
}

// A shard that may pass takes the current round along, unless no other shard has work.
func TestPass(t *testing.T) {
	for _, c := range []struct {
		what       string
		other      uint64 // tag; 99: it has no work
		round      uint64
		may, alone bool
		current    uint64
	}{
		{"in time", 8, 9, true, false, 9},
		{"not in time", 8, 10, false, false, 5},
		{"long ago", 8, 3, true, false, 5},
		{"alone", 99, 10, true, true, 5},
	} {
		r := NewRoundsAt(2, 2, 5)
		r.Publish(0, c.other, c.other != 99)
		if may, alone := r.Pass(1, c.round); may != c.may || alone != c.alone {
			t.Errorf("%s: may %t, alone %t", c.what, may, alone)
		}
		if r.Current() != c.current || r.Settled() != c.current {
			t.Errorf("%s: the current round is %d, want %d", c.what, r.Current(), c.current)
		}
	}
}

// A consumer that finds no shard ready at an unchanged version knows that there was an
// instant at which none was. Here one of two shards is ready at any instant.
func TestVersionTellsAnInstant(t *testing.T) {
	r := roundsOf(1, cell{0, true}, cell{0, false})
	start := time.Now()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; i&1023 != 0 || !over.Load() && time.Since(start) < time.Second; i++ {
			next := (i + 1) & 1
			r.Publish(next, uint64(i), true)
			r.Publish(1-next, uint64(i), false)
		}
		over.Store(true)
	})
	for !over.Load() {
		before, sure := r.Version()
		if !sure || r.anyReady() {
			continue
		}
		if after, _ := r.Version(); after == before {
			t.Error("no shard ready at one version, though one always is")
			break
		}
	}
	over.Store(true)
	wg.Wait()
}

// A shard is in time if it has something to serve in a round up to its limit.
func TestInTime(t *testing.T) {
	for _, x := range []struct {
		what  string
		cells []cell
		want  []bool
	}{
		{"all idle", []cell{{3, false}, {9, false}}, []bool{false, false}},
		{"alone", []cell{{9, true}, {3, false}}, []bool{true, false}},
		{"equal tags", []cell{{6, true}, {6, true}}, []bool{true, true}},
		{"as far ahead as may be", []cell{{7, true}, {6, true}}, []bool{true, true}},
		{"further", []cell{{8, true}, {6, true}}, []bool{false, true}},
		{"the second one ahead", []cell{{6, true}, {7, true}}, []bool{true, false}},
	} {
		r := roundsOf(1, x.cells...)
		for i, want := range x.want {
			if got := r.InTime(i); got != want {
				t.Errorf("%s: InTime(%d) = %t", x.what, i, got)
			}
		}
	}
}
