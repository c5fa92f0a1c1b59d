package scenario

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAll(t *testing.T) {
	want := []string{
		"hot_tenant_sustained", "burst_massive", "mixed_priorities", "deadline_expiration", "capacity_pressure",
		"contended", "deep_backlog", "busy_neighbour", "one_processor", "one_processor_calls", "one_processor_hot", "half", "one_to_one", "calls_only", "batches", "overload", "single_hot_tenant", "many_tenants", "many_tenants_by_handle", "skewed_90", "zipf", "uncontended", "ping_pong",
	}
	got := Names()
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s is missing", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %v", got)
	}
	for _, s := range All() {
		if s.About == "" || s.More == "" || s.Producers < 1 || s.Consumers < 1 || s.Tenants < 1 || s.Batch < 1 || s.Window < 1 {
			t.Errorf("incomplete: %+v", s)
		}
		if s.Overload > 0 && (s.Service <= 0 || !s.FixedWork || !s.Reject) {
			t.Errorf("an overload of nothing, or that waits: %+v", s)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		only, skip []string
		want, err  string
	}{
		{nil, nil, strings.Join(Names(), " "), ""},
		{[]string{"zipf", "contended", "zipf"}, nil, "zipf contended", ""},
		{[]string{"zipf", "contended"}, []string{"zipf"}, "contended", ""},
		{nil, Names()[1:], "contended", ""},
		{nil, Names(), "", "no scenario is left"},
		{[]string{"zip"}, nil, "", `unknown scenario "zip"; there are contended, `},
		{nil, []string{"zip"}, "", `unknown scenario "zip"`},
	} {
		chosen, err := Choose(c.only, c.skip)
		var names []string
		for _, s := range chosen {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("Choose(%v, %v) = %s, %v", c.only, c.skip, got, err)
		}
	}
}

func TestOffered(t *testing.T) {
	s := Scenario{Consumers: 2, Overload: 3, Service: 20 * time.Microsecond}
	for processors, want := range map[int]float64{1: 150_000, 2: 300_000, 8: 300_000} {
		if got := s.Offered(processors); got < want-1 || got > want+1 {
			t.Errorf("%d processors: %v tasks/s, want %v", processors, got, want)
		}
	}
}

func TestHot(t *testing.T) {
	for _, c := range []struct {
		s    Scenario
		want int
	}{
		{Scenario{}, 0}, {Scenario{HotShare: 0.9}, 1}, {Scenario{HotProducers: 4}, 1}, {Scenario{HotShare: 0.9, HotTenants: 4}, 4},
	} {
		if got := c.s.Hot(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.s, got, c.want)
		}
	}
}

func TestOverrides(t *testing.T) {
	p := func(n int) *int { return &n }
	f := func(x float64) *float64 { return &x }
	by := func(name string) Scenario {
		s, err := Choose([]string{name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s[0]
	}
	s, err := Overrides{
		Producers: p(6), Consumers: p(3), Tenants: p(7), Batch: p(5), Shards: p(4), Capacity: p(100), Window: p(9),
	}.Apply(by("hot_tenant_sustained"))
	if err != nil || s.Producers != 6 || s.HotProducers != 3 || s.Consumers != 3 || s.Tenants != 7 || s.Batch != 5 ||
		s.Shards != 4 || s.Capacity != 100 || s.Window != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := (Overrides{Depth: p(7000), Skew: f(1.5)}).Apply(by("zipf")); err != nil || s.Window != 7000 || !s.Deep || s.Skew != 1.5 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := (Overrides{Producers: p(6), Batch: p(5)}).Apply(by("ping_pong")); err != nil || s.Producers != 1 || s.Batch != 1 {
		t.Errorf("ping_pong keeps its shape: %+v, %v", s, err)
	}
	for _, c := range []struct {
		o    Overrides
		name string
		want string
	}{
		{Overrides{Producers: p(0)}, "contended", "--producers: 0, must be 1 to"},
		{Overrides{Consumers: p(-1)}, "contended", "--consumers: -1"},
		{Overrides{Tenants: p(MaxCount + 1)}, "contended", "--tenants: 1048577"},
		{Overrides{Shards: p(-1)}, "contended", "--shards: -1"},
		{Overrides{Producers: p(1)}, "hot_tenant_sustained", "hot_tenant_sustained needs 2"},
		{Overrides{Tenants: p(1)}, "zipf", "zipf needs 2"},
		{Overrides{Depth: p(0)}, "contended", "--depth: 0, must be 1 to"},
		{Overrides{Depth: p(9)}, "burst_massive", "--depth: burst_massive keeps no backlog; leave it out"},
		{Overrides{Depth: p(9)}, "overload", "--depth: overload keeps no backlog"},
		{Overrides{Skew: f(1)}, "contended", "--skew: contended has none; leave it out"},
		{Overrides{Skew: f(0)}, "zipf", "--skew: 0, must be above 0, and 10 at most"},
		{Overrides{Skew: f(math.NaN())}, "zipf", "--skew: NaN"},
		{Overrides{Skew: f(10.5)}, "zipf", "--skew: 10.5"},
		{Overrides{Tenants: p(4)}, "overload", "overload needs 5"},
	} {
		if _, err := c.o.Apply(by(c.name)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
