package schedtest

import (
	"strconv"
	"testing"

	"github.com/firq-go/firq"
)

// DynamicThreshold keeps room for quiet tenants (Choudhury and Hahne 1998).
var thresholdChecks = []check{
	{name: "alone it settles at alpha over 1 plus alpha", run: thresholdAlone},
	{name: "cold tenants are admitted beside a hot one", run: sharded(thresholdCold)},
	{name: "without it they are not", run: thresholdOff},
	{name: "it follows what is free", run: thresholdFollows},
	{name: "filled by many together", run: thresholdRace},
}

// fill enqueues until the answer is an error, and returns how many were
// accepted before.
func fill(t *testing.T, s sched, tenant string, want error) int {
	t.Helper()
	for n := 0; ; n++ {
		if err := s.Enqueue(tenant, task{Payload: n}); err == want {
			return n
		} else if err != nil {
			t.Fatalf("task %d: %v, want %v in the end", n, err, want)
		}
	}
}

func thresholdAlone(t *testing.T, newSched maker) {
	for _, c := range []struct {
		alpha      float64
		most, want int
	}{
		{1, 100, 50}, {0.5, 90, 30}, {2, 90, 60}, {4, 1000, 800}, {1, 1, 1}, {0.01, 10, 1}, {1000, 10, 10},
	} {
		for _, shards := range []int{1, 8} {
			s := open(t, newSched, config{Shards: shards, MaxGlobal: c.most, DynamicThreshold: c.alpha})
			limit := firq.ErrTenantThreshold
			if c.want == c.most {
				limit = firq.ErrGlobalFull
			}
			if n := fill(t, s, "hot", limit); n != c.want {
				t.Errorf("alpha %v, capacity %d: the tenant holds %d, want %d", c.alpha, c.most, n, c.want)
			}
			if st := s.Stats(); st.RejectedGlobal+st.RejectedTenant != 1 {
				t.Errorf("RejectedGlobal %d + RejectedTenant %d, want 1 in all", st.RejectedGlobal, st.RejectedTenant)
			}
		}
	}
}

func thresholdCold(t *testing.T, newSched maker, shards int) {
	const most = 200
	s := open(t, newSched, config{Shards: shards, MaxGlobal: most, DynamicThreshold: 1})
	if n := fill(t, s, "hot", firq.ErrTenantThreshold); n != most/2 {
		t.Fatalf("the hot tenant holds %d, want %d", n, most/2)
	}
	for i := range most / 2 {
		if i%10 == 0 {
			refuse(t, s, "hot", task{}, firq.ErrTenantThreshold)
		}
		admit(t, s, "cold"+strconv.Itoa(i), task{})
	}
	refuse(t, s, "one more", task{}, firq.ErrGlobalFull)
}

func thresholdOff(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 20})
	if n := fill(t, s, "hot", firq.ErrGlobalFull); n != 20 {
		t.Errorf("a tenant alone holds %d, want all 20", n)
	}
}

func thresholdFollows(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxGlobal: 90, DynamicThreshold: 1})
	if n := fill(t, s, "a", firq.ErrTenantThreshold); n != 45 {
		t.Fatalf("a alone holds %d, want 45", n)
	}
	// 45 are free: b is admitted while what it holds is less than 45 minus that.
	if n := fill(t, s, "b", firq.ErrTenantThreshold); n != 23 {
		t.Fatalf("b holds %d with a's 45, want 23", n)
	}
	drain(t, s)
	if n := fill(t, s, "b", firq.ErrTenantThreshold); n != 45 {
		t.Fatalf("b alone holds %d, want 45", n)
	}
}

// thresholdRace: a core compares two numbers that may both be changing. While no consumer
// runs, the free capacity only falls, so that the result is still known within a few.
func thresholdRace(t *testing.T, newSched maker) {
	const most = 60
	for round := range reps(50) {
		s := open(t, newSched, config{Shards: 8, MaxGlobal: most, DynamicThreshold: 1})
		together(4, func(int) {
			for range most {
				_ = s.Enqueue("hot", task{})
			}
		})
		// Each of the four may act on numbers that the others have just changed.
		if n := s.Len(); n < most/2 || n > most/2+3 {
			t.Fatalf("round %d: the hot tenant holds %d, want %d", round, n, most/2)
		}
		load(t, s, "cold", 1)
	}
}
