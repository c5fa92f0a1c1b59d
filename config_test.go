package firq_test

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

type config = firq.Config[string, int]

// invalidConfigs has at least one entry per field that can be wrong.
var invalidConfigs = []struct {
	field string // as the error names it
	cfg   config
}{
	{"Shards", config{Shards: -1}},
	{"Shards", config{Shards: firq.MaxShards + 1}},
	{"MaxGlobal", config{MaxGlobal: -1}},
	{"MaxGlobal", config{MaxGlobal: firq.MaxTasks + 1}},
	{"MaxPerTenant", config{MaxPerTenant: -1}},
	{"MaxPerTenant", config{MaxPerTenant: firq.MaxTasks + 1}},
	{"MaxTenants", config{MaxTenants: -1}},
	{"MaxInFlightPerTenant", config{MaxInFlightPerTenant: -1}},
	{"MaxInFlightPerTenant", config{MaxInFlightPerTenant: firq.MaxTasks + 1}},
	{"DynamicThreshold", config{DynamicThreshold: -0.5}},
	{"DynamicThreshold", config{DynamicThreshold: math.NaN()}},
	{"DynamicThreshold", config{DynamicThreshold: math.Inf(1)}},
	{"DynamicThreshold", config{DynamicThreshold: math.Inf(-1)}},
	{"Quantum", config{Quantum: -1}},
	{"Quantum", config{Quantum: math.MinInt64}},
	{"Backpressure.Policy", config{Backpressure: firq.Backpressure{Policy: firq.Wait + 1, Wait: time.Second}}},
	{"Backpressure.Wait", config{Backpressure: firq.Backpressure{Policy: firq.Wait}}},
	{"Backpressure.Wait", config{Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: -1}}},
	{"Backpressure.Wait", config{Backpressure: firq.Backpressure{Policy: firq.Reject, Wait: -1}}},
	{"MaxQueueAge", config{MaxQueueAge: -1}},
	{"TargetWait", config{TargetWait: -1}},
	{"TargetWait", config{TargetWait: 1, Order: firq.LIFO}},
	{"TargetWait", config{TargetWait: 1, Order: firq.AdaptiveLIFO}},
	{"Interval", config{Interval: -1}},
	{"Order", config{Order: firq.AdaptiveLIFO + 1}},
	{"LowWater", config{LowWater: -1}},
	{"LowWater", config{LowWater: 51, HighWater: 50}},
	{"LowWater", config{LowWater: firq.DefaultHighWater + 1}},
	{"LowWater", config{HighWater: firq.DefaultLowWater - 1}}, // the default is above it
	{"HighWater", config{HighWater: -1}},
	{"PriorityScope", config{PriorityScope: firq.PriorityAcrossTenants + 1}},
	{"PriorityAging", config{PriorityAging: -1}},
	{"MaxFlows", config{MaxFlows: -1}},
	{"MaxFlows", config{MaxFlows: firq.MaxTasks + 1}},
	{"FairnessSlack", config{FairnessSlack: -1}},
	{"TopTenants", config{TopTenants: 1<<20 + 1}},
	{"TenantIdle", config{TenantIdle: -1}},
}

func TestConfigInvalid(t *testing.T) {
	for _, tt := range invalidConfigs {
		_, err := tt.cfg.Resolve()
		if !errors.Is(err, firq.ErrInvalidConfig) {
			t.Errorf("%s: got %v, want ErrInvalidConfig (%+v)", tt.field, err, tt.cfg)
			continue
		}
		if want := firq.ErrInvalidConfig.Error() + ": " + tt.field + ": "; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %q, want it to begin with %q", err, want)
		}
		if errors.Is(err, firq.ErrRejected) {
			t.Errorf("%s: %v is ErrRejected, as if trying again could help", tt.field, err)
		}
	}
}

// The error of a config names every field that is wrong, and no other.
func TestConfigNamesAll(t *testing.T) {
	_, err := config{Shards: -1, MaxGlobal: 10, Quantum: -2, DynamicThreshold: -1, LowWater: 90, Order: 9, Backpressure: firq.Backpressure{Policy: firq.Wait}}.Resolve()
	want := []string{"Shards", "Quantum", "DynamicThreshold", "LowWater", "Order", "Backpressure.Wait"}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) || !errors.Is(err, firq.ErrInvalidConfig) {
		t.Fatalf("%d fields are wrong: %v", len(want), err)
	}
	for i, field := range want {
		if begin := firq.ErrInvalidConfig.Error() + ": " + field + ": "; !strings.HasPrefix(lines[i], begin) {
			t.Errorf("got %q, want it to begin with %q", lines[i], begin)
		}
	}
}

func TestConfigInvalidFairnessSlack64(t *testing.T) {
	slack := int64(math.MaxInt32) + 1
	if int64(int(slack)) != slack {
		return // int has 32 bits: the value does not exist
	}
	_, err := config{FairnessSlack: int(slack)}.Resolve()
	if !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), "FairnessSlack") {
		t.Errorf("FairnessSlack %d: got %v, want ErrInvalidConfig that names it", slack, err)
	}
}

// TestConfigEveryField fails when a field is added without a test here.
func TestConfigEveryField(t *testing.T) {
	seen := map[string]bool{ // no value of these is wrong
		"QuantumFor": true, "MaxPerTenantFor": true, "MaxInFlightFor": true, "BackpressureFor": true, "NewTenantsFirst": true, "OnDrop": true,
	}
	for _, tt := range invalidConfigs {
		name, _, _ := strings.Cut(tt.field, ".")
		seen[name] = true
	}
	for i, typ := 0, reflect.TypeFor[config](); i < typ.NumField(); i++ {
		if name := typ.Field(i).Name; !seen[name] {
			t.Errorf("Config.%s: which values are invalid? Add it to invalidConfigs", name)
		}
	}
}

func TestConfigDefaults(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	got, err := config{}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := config{
		Shards: 4, MaxGlobal: 65_536, MaxPerTenant: 65_536, Quantum: 1, LowWater: 40, HighWater: 80,
		MaxFlows: 64, FairnessSlack: 1, TopTenants: 16, TenantIdle: time.Minute, Interval: 100 * time.Millisecond,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestConfigKeeps says that what is set stays as it is, limits included.
func TestConfigKeeps(t *testing.T) {
	for _, cfg := range []config{
		{
			Shards: 8, MaxGlobal: 1000, MaxPerTenant: 10, MaxTenants: 7, MaxInFlightPerTenant: 3, DynamicThreshold: 0.5,
			Quantum: 5, Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Second}, MaxQueueAge: time.Hour,
			Interval: 1, Order: firq.AdaptiveLIFO, LowWater: 50, HighWater: 50,
			PriorityAging: time.Second, NewTenantsFirst: true, MaxFlows: 3, FairnessSlack: 2, TopTenants: 1, TenantIdle: 1,
		},
		{
			Shards: firq.MaxShards, MaxGlobal: firq.MaxTasks, MaxPerTenant: firq.MaxTasks, MaxTenants: math.MaxInt,
			MaxInFlightPerTenant: firq.MaxTasks, DynamicThreshold: math.MaxFloat64, Quantum: math.MaxInt64,
			Backpressure: firq.Backpressure{Policy: firq.DropNewest, Wait: math.MaxInt64}, MaxQueueAge: math.MaxInt64,
			TargetWait: math.MaxInt64, Interval: math.MaxInt64, LowWater: 1, HighWater: math.MaxInt, PriorityAging: math.MaxInt64,
			MaxFlows: firq.MaxTasks, FairnessSlack: math.MaxInt32,
			TopTenants: 1 << 20, TenantIdle: math.MaxInt64,
		},
	} {
		got, err := cfg.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, cfg) {
			t.Errorf("got  %+v\nwant %+v", got, cfg)
		}
	}
}

func TestConfigShards(t *testing.T) {
	for given, want := range map[int]int{
		1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 7: 8, 8: 8, 9: 16, 1000: 1024, 1023: 1024, 1024: 1024,
	} {
		got, err := config{Shards: given}.Resolve()
		if err != nil || got.Shards != want {
			t.Errorf("Shards %d: got %d, %v, want %d", given, got.Shards, err, want)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for procs, want := range map[int]int{1: 1, 2: 2, 5: 8, firq.MaxShards + 1: firq.MaxShards} {
		runtime.GOMAXPROCS(procs)
		got, err := config{}.Resolve()
		if err != nil || got.Shards != want {
			t.Errorf("GOMAXPROCS %d: got %d shards, %v, want %d", procs, got.Shards, err, want)
		}
	}
}

func TestConfigRelations(t *testing.T) {
	got, err := config{MaxGlobal: 10}.Resolve()
	if err != nil || got.MaxPerTenant != 10 {
		t.Errorf("MaxPerTenant 0: got %d, %v, want MaxGlobal, 10", got.MaxPerTenant, err)
	}
	got, err = config{MaxGlobal: 10, MaxPerTenant: 11}.Resolve()
	if err != nil || got.MaxPerTenant != 10 {
		t.Errorf("MaxPerTenant 11: got %d, %v, want MaxGlobal, 10", got.MaxPerTenant, err)
	}
	got, err = config{PriorityScope: firq.PriorityAcrossTenants, Shards: 8}.Resolve()
	if err != nil || got.Shards != 1 || got.PriorityScope != firq.PriorityAcrossTenants {
		t.Errorf("PriorityAcrossTenants: got %d shards, %v, want 1: one order for all", got.Shards, err)
	}
	got, err = config{TopTenants: -5}.Resolve()
	if err != nil || got.TopTenants > 0 {
		t.Errorf("TopTenants -5: got %d, %v, want off", got.TopTenants, err)
	}
}

func TestBackpressureValidate(t *testing.T) {
	for _, b := range []firq.Backpressure{
		{}, {Policy: firq.DropOldest}, {Policy: firq.DropNewest}, {Policy: firq.Wait, Wait: 1}, {Policy: firq.Reject, Wait: 1},
	} {
		if err := b.Validate(); err != nil {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

func TestDropReasonString(t *testing.T) {
	for r, want := range map[firq.DropReason]string{
		firq.DropExpired: "expired", firq.DropEvicted: "evicted", firq.DropCancelled: "cancelled",
		firq.DropClosed: "closed", firq.DropOverload: "overload", 0: "DropReason(0)", 6: "DropReason(6)", 255: "DropReason(255)",
	} {
		if got := r.String(); got != want {
			t.Errorf("DropReason(%d): got %q, want %q", uint8(r), got, want)
		}
	}
}
