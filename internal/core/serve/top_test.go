package serve

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/firq-go/firq"
)

// ranking returns what Stats says of the shards.
func ranking(e *shared, shards ...*shard) []firq.TenantCount[string] {
	b := NewCounters[string]()
	for _, s := range shards {
		s.AddTo(b)
	}
	return e.Stats(b, 0, 1).TopTenants
}

// With no more tenants than places it is exact, at any moment.
func TestTopIsExactForFew(t *testing.T) {
	const size = 8
	s := newShard(t, config{TopTenants: size})
	rng := rand.New(rand.NewPCG(3, 4))
	want := map[string]uint64{}
	var all []*tenant
	for i := range size {
		all = append(all, add(s, fmt.Sprint("t", i), 0))
	}
	for range 2_000 {
		x := all[min(rng.IntN(size), rng.IntN(size))]
		serveOne(t, s, x, minute)
		want[x.Key]++
	}
	s2 := newShard(t, config{TopTenants: size})
	serveOne(t, s2, add(s2, "once", 0), minute)
	if got := ranking(s2.shared, s2); len(got) != 1 || got[0].Dequeued != 1 {
		t.Errorf("after one delivery: %v", got)
	}
	got := ranking(s.shared, s)
	if len(got) != size {
		t.Fatalf("%d rows, want %d", len(got), size)
	}
	for i, row := range got {
		if row.Dequeued != want[row.Tenant] {
			t.Errorf("%s: %d, want %d", row.Tenant, row.Dequeued, want[row.Tenant])
		}
		if i > 0 && got[i-1].Dequeued < row.Dequeued {
			t.Errorf("row %d has less than row %d", i-1, i)
		}
	}
}

// With many tenants it is bounded, and a tenant that is served much is in it, however late
// it comes.
func TestTopOfMany(t *testing.T) {
	const size, many = 4, 500
	s := newShard(t, config{TopTenants: size})
	for i := range many {
		serveOne(t, s, add(s, fmt.Sprint("small", i), 0), minute)
		if len(s.top.tenants) > size {
			t.Fatalf("%d tenants are kept, want %d at most", len(s.top.tenants), size)
		}
	}
	var big []string
	for i := range size {
		x := add(s, fmt.Sprint("big", i), 0)
		for range 130 + 70*i { // 64 apart and more: where the ranking is sure
			serveOne(t, s, x, minute)
		}
		big = append(big, x.Key)
	}
	slices.Reverse(big)
	var got []string
	for _, row := range ranking(s.shared, s) {
		got = append(got, row.Tenant)
	}
	if !slices.Equal(got, big) {
		t.Errorf("ranking %v, want %v", got, big)
	}
	inTop := 0
	for x := s.rest.at.next; ; x = x.next {
		if x.delivered&ranked != 0 {
			inTop++
		}
		if x == s.rest.at {
			break
		}
	}
	if inTop != size {
		t.Errorf("%d tenants think that they are ranked, want %d", inTop, size)
	}
}

// However much the ranked have, a tenant that overtakes them gets in, at a multiple of 64.
func TestTopOvertakes(t *testing.T) {
	s := newShard(t, config{TopTenants: 1})
	first, second := add(s, "first", 0), add(s, "second", 0)
	for range 200 {
		serveOne(t, s, first, minute)
	}
	for n := uint64(1); n <= 256; n++ {
		serveOne(t, s, second, minute)
		want := firq.TenantCount[string]{Tenant: "first", Dequeued: 200}
		if n == 256 {
			want = firq.TenantCount[string]{Tenant: "second", Dequeued: 256}
		}
		if got := ranking(s.shared, s); !slices.Equal(got, []firq.TenantCount[string]{want}) {
			t.Fatalf("200 against %d: %v", n, got)
		}
	}
}

func TestTopOff(t *testing.T) {
	s := newShard(t, config{TopTenants: -1})
	serveOne(t, s, add(s, "a", 0), minute)
	if got := ranking(s.shared, s); len(got) != 0 {
		t.Errorf("%v with the ranking off", got)
	}
}

// Over several shards the rows are merged, a tenant that was forgotten and came
// back has one, and the number holds for all together.
func TestTopOfAllShards(t *testing.T) {
	e := newShared(t, config{TopTenants: 2})
	one, two := shardOf(e), shardOf(e)
	deliverTo := func(s *shard, key string, n int) {
		x := add(s, key, 0)
		for range n {
			serveOne(t, s, x, minute)
		}
	}
	deliverTo(one, "a", 3)
	deliverTo(one, "a", 4) // again: the first was forgotten
	deliverTo(two, "b", 5)
	deliverTo(two, "c", 6)
	want := []firq.TenantCount[string]{{Tenant: "a", Dequeued: 7}, {Tenant: "c", Dequeued: 6}}
	if got := ranking(e, one, two); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Shards are asked one after the other, while tenants come and go. No more than
// MaxTenants are ever said to be known.
func TestStatsTenants(t *testing.T) {
	for most, want := range map[int]int{0: 3, 2: 2, 3: 3} {
		e := newShared(t, config{MaxTenants: most})
		counters := NewCounters[string]()
		for _, keys := range [][]string{{"a", "b"}, {"c"}} {
			s := shardOf(e)
			for _, key := range keys {
				add(s, key, 0)
			}
			s.AddTo(counters)
		}
		if got := e.Stats(counters, 0, 1).Tenants; got != want {
			t.Errorf("MaxTenants %d: %d tenants, want %d", most, got, want)
		}
	}
}
