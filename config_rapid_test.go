package firq_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

// configField is a numeric field of Config, as its documentation has it.
type configField struct {
	name      string
	most      int64
	byDefault int64 // what 0 stands for; 0: 0, or something that depends on others
	set       func(*config, int64)
	get       func(*config) int64
}

// number makes a configField of any integer type.
func number[N ~int | ~int64 | ~uint8](name string, most, byDefault int64, at func(*config) *N) configField {
	return configField{
		name: name, most: most, byDefault: byDefault,
		set: func(c *config, v int64) { *at(c) = N(v) },
		get: func(c *config) int64 { return int64(*at(c)) },
	}
}

var configFields = []configField{
	number("Shards", firq.MaxShards, 0, func(c *config) *int { return &c.Shards }),
	number("MaxGlobal", firq.MaxTasks, 65_536, func(c *config) *int { return &c.MaxGlobal }),
	number("MaxPerTenant", firq.MaxTasks, 0, func(c *config) *int { return &c.MaxPerTenant }),
	number("MaxTenants", math.MaxInt, 0, func(c *config) *int { return &c.MaxTenants }),
	number("MaxInFlightPerTenant", firq.MaxTasks, 0, func(c *config) *int { return &c.MaxInFlightPerTenant }),
	number("Quantum", math.MaxInt64, 1, func(c *config) *int64 { return &c.Quantum }),
	number("MaxQueueAge", math.MaxInt64, 0, func(c *config) *time.Duration { return &c.MaxQueueAge }),
	number("LowWater", math.MaxInt, 40, func(c *config) *int { return &c.LowWater }),
	number("HighWater", math.MaxInt, 80, func(c *config) *int { return &c.HighWater }),
	number("PriorityAging", math.MaxInt64, 0, func(c *config) *time.Duration { return &c.PriorityAging }),
	number("MaxFlows", firq.MaxTasks, 64, func(c *config) *int { return &c.MaxFlows }),
	number("FairnessSlack", math.MaxInt32, 1, func(c *config) *int { return &c.FairnessSlack }),
	number("TopTenants", 1<<20, 16, func(c *config) *int { return &c.TopTenants }),
	number("TenantIdle", math.MaxInt64, int64(time.Minute), func(c *config) *time.Duration { return &c.TenantIdle }),
	number("Order", 2, 0, func(c *config) *firq.Order { return &c.Order }),
	number("PriorityScope", 1, 0, func(c *config) *firq.PriorityScope { return &c.PriorityScope }),
	number("TargetWait", math.MaxInt64, 0, func(c *config) *time.Duration { return &c.TargetWait }),
	number("Interval", math.MaxInt64, int64(100*time.Millisecond), func(c *config) *time.Duration { return &c.Interval }),
}

// wrongFields lists the fields whose values make no sense, as errors name them.
func wrongFields(c *config) (wrong []string) {
	for _, f := range configFields {
		if v := f.get(c); v > f.most || v < 0 && f.name != "TopTenants" {
			wrong = append(wrong, f.name)
		}
	}
	if !(c.DynamicThreshold >= 0 && c.DynamicThreshold <= math.MaxFloat64) { // NaN neither
		wrong = append(wrong, "DynamicThreshold")
	}
	if c.Backpressure.Policy > firq.Wait {
		wrong = append(wrong, "Backpressure.Policy")
	}
	if w := c.Backpressure.Wait; w < 0 || w == 0 && c.Backpressure.Policy == firq.Wait {
		wrong = append(wrong, "Backpressure.Wait")
	}
	if c.TargetWait > 0 && c.Order != firq.FIFO {
		wrong = append(wrong, "TargetWait")
	}
	if high := cmp.Or(c.HighWater, 80); high > 0 && cmp.Or(c.LowWater, 40) > high {
		wrong = append(wrong, "LowWater")
	}
	return wrong
}

// checkError: an error is ErrInvalidConfig that names a wrong field, and there is
// one exactly if a field is wrong.
func checkError(err error, wrong []string) error {
	if err == nil && len(wrong) == 0 {
		return nil
	}
	begins := func(field string) bool {
		return strings.HasPrefix(err.Error(), firq.ErrInvalidConfig.Error()+": "+field+": ")
	}
	if err == nil || !errors.Is(err, firq.ErrInvalidConfig) || !slices.ContainsFunc(wrong, begins) {
		return fmt.Errorf("got the error %w, these are wrong: %v", err, wrong)
	}
	return nil
}

// checkResolve compares Resolve with the documentation of the fields.
func checkResolve(c config) error {
	got, err := c.Resolve()
	if bad := checkError(err, wrongFields(&c)); bad != nil || err != nil {
		return bad
	}
	want := c
	for _, f := range configFields {
		if f.get(&c) == 0 {
			f.set(&want, f.byDefault)
		}
	}
	want.MaxPerTenant = min(cmp.Or(c.MaxPerTenant, want.MaxGlobal), want.MaxGlobal)
	least := cmp.Or(c.Shards, min(runtime.GOMAXPROCS(0), firq.MaxShards))
	if c.PriorityScope == firq.PriorityAcrossTenants {
		least = 1
	}
	for want.Shards = 1; want.Shards < least; {
		want.Shards *= 2
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("resolved to %+v, want %+v", got, want)
	}
	again, err := got.Resolve()
	if err != nil || !reflect.DeepEqual(again, got) {
		return fmt.Errorf("resolved again: %+v, %w; want %+v", again, err, got)
	}
	return nil
}

// checkCore: a core says what Resolve says, and what it accepts works.
func checkCore[S firq.Scheduler[string, int]](c config, build func(config) (S, error)) error {
	s, err := build(c)
	if bad := checkError(err, wrongFields(&c)); bad != nil || err != nil {
		return bad
	}
	defer s.Close()
	want, _ := c.Resolve()
	if got := s.Stats().MaxGlobal; got != want.MaxGlobal {
		return fmt.Errorf("MaxGlobal %d, want %d", got, want.MaxGlobal)
	}
	if err := s.Enqueue("a", firq.Task[int]{Payload: 7, Cost: math.MaxInt64}); err != nil {
		return err
	}
	if c.MaxQueueAge == 0 || c.MaxQueueAge > time.Hour { // else it may have expired
		if it, ok := s.TryDequeue(); !ok || it.Payload != 7 {
			return fmt.Errorf("dequeued %+v, %t", it, ok)
		}
	}
	return s.Close()
}

func someConfig(t *rapid.T) (c config) {
	for _, f := range configFields {
		v := rapid.OneOf(
			rapid.Just(int64(0)), rapid.Int64Range(1, min(100, f.most)), rapid.SampledFrom([]int64{f.most - 1, f.most}),
		).Draw(t, f.name)
		f.set(&c, v)
	}
	c.DynamicThreshold = rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, math.MaxFloat64)).Draw(t, "DynamicThreshold")
	c.Backpressure.Policy = firq.Policy(rapid.IntRange(0, int(firq.Wait)).Draw(t, "Policy"))
	c.Backpressure.Wait = time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "Wait"))
	c.NewTenantsFirst = rapid.Bool().Draw(t, "NewTenantsFirst")
	return c
}

// spoil makes some fields wrong, by a little or by much.
func spoil(t *rapid.T, c *config) {
	for range rapid.IntRange(1, 3).Draw(t, "wrong fields") {
		switch i := rapid.IntRange(0, len(configFields)+2).Draw(t, "field"); i {
		case len(configFields):
			c.DynamicThreshold = rapid.SampledFrom([]float64{-5e-324, -1, math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "value")
		case len(configFields) + 1:
			c.Backpressure.Policy = firq.Policy(rapid.IntRange(int(firq.Wait)+1, 255).Draw(t, "value"))
		case len(configFields) + 2:
			c.Backpressure.Wait = time.Duration(rapid.Int64Max(0).Draw(t, "value"))
		default:
			f := configFields[i]
			v := rapid.OneOf(rapid.Just(int64(-1)), rapid.Int64Max(-1), rapid.Just(f.most+1)).Draw(t, "value")
			if f.set(c, v); f.get(c) != v {
				f.set(c, 0) // the type cannot hold it
			}
		}
	}
}

// Every config resolves as documented, once and for all, or names a wrong field.
func TestConfigResolves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			c := someConfig(t)
			if rapid.Bool().Draw(t, "spoiled") {
				spoil(t, &c)
			}
			if err := checkResolve(c); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Both cores accept exactly the configs that resolve.
func TestConfigCores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someConfig(t)
		c.Shards = min(c.Shards, 8) // how many there are does not matter here, only takes memory
		c.DynamicThreshold = min(c.DynamicThreshold, 4)
		if rapid.Bool().Draw(t, "spoiled") {
			spoil(t, &c)
		}
		if err := checkCore(c, lockfree.New[string, int]); err != nil {
			t.Fatal("lockfree: ", err)
		}
		if err := checkCore(c, baseline.New[string, int]); err != nil {
			t.Fatal("baseline: ", err)
		}
	})
}

// FuzzConfig is TestConfigResolves on numbers that the fuzzer thinks up: the
// numeric fields in order, eight bytes each, 0 where there are no more.
func FuzzConfig(f *testing.F) {
	f.Add(0.0, uint8(0), int64(0), []byte{})
	f.Add(0.5, uint8(3), int64(1), binary.LittleEndian.AppendUint64(nil, firq.MaxShards+1))
	f.Add(-1.0, uint8(4), int64(-1), []byte("12345678abcdefgh"))
	f.Add(math.NaN(), uint8(0), int64(0), []byte{})
	f.Add(math.Inf(1), uint8(0), int64(0), []byte{})
	f.Fuzz(func(t *testing.T, threshold float64, policy uint8, wait int64, numbers []byte) {
		c := config{DynamicThreshold: threshold}
		c.Backpressure = firq.Backpressure{Policy: firq.Policy(policy), Wait: time.Duration(wait)}
		for _, f := range configFields {
			if len(numbers) < 8 {
				break
			}
			f.set(&c, int64(binary.LittleEndian.Uint64(numbers)))
			numbers = numbers[8:]
		}
		if err := checkResolve(c); err != nil {
			t.Fatal(err)
		}
	})
}
