package schedtest

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Invalid input gets an error that names it, and zero values mean the defaults.
var inputChecks = []check{
	{name: "a Config that makes no sense", run: inputConfig},
	{name: "a Config that does", run: inputGoodConfig},
	{name: "the zero Config works", run: inputZero},
	{name: "a Task that makes no sense", run: inputTask},
	{name: "a batch with one bad task", run: inputBatch},
	{name: "a nil context", run: inputContext},
	{name: "an empty destination", run: inputDestination},
	{name: "a policy that makes no sense from BackpressureFor", run: inputPolicy},
	{name: "an item has what was enqueued", run: inputItem},
	{name: "tenants may have any name", run: inputTenant},
}

func inputConfig(t *testing.T, newSched maker) {
	for _, bad := range []struct {
		field string
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
		{"DynamicThreshold", config{DynamicThreshold: -0.5}},
		{"DynamicThreshold", config{DynamicThreshold: math.NaN()}},
		{"DynamicThreshold", config{DynamicThreshold: math.Inf(1)}},
		{"Quantum", config{Quantum: -1}},
		{"Backpressure.Policy", config{Backpressure: firq.Backpressure{Policy: firq.Wait + 1}}},
		{"Backpressure.Wait", config{Backpressure: firq.Backpressure{Policy: firq.Wait}}},
		{"Backpressure.Wait", config{Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: -1}}},
		{"MaxQueueAge", config{MaxQueueAge: -1}},
		{"Order", config{Order: firq.AdaptiveLIFO + 1}},
		{"LowWater", config{LowWater: -1}},
		{"HighWater", config{HighWater: -1}},
		{"LowWater", config{LowWater: 11, HighWater: 10}},
		{"LowWater", config{LowWater: firq.DefaultHighWater + 1}},
		{"PriorityScope", config{PriorityScope: firq.PriorityAcrossTenants + 1}},
		{"PriorityAging", config{PriorityAging: -1}},
		{"MaxFlows", config{MaxFlows: -1}},
		{"MaxFlows", config{MaxFlows: firq.MaxTasks + 1}},
		{"FairnessSlack", config{FairnessSlack: -1}},
		{"TenantIdle", config{TenantIdle: -1}},
	} {
		s, err := newSched(bad.cfg)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), bad.field) {
			t.Errorf("%s: error %v, want ErrInvalidConfig that names it", bad.field, err)
		}
	}
}

func inputGoodConfig(t *testing.T, newSched maker) {
	for _, cfg := range []config{
		{Shards: 1}, {Shards: 3}, {Shards: firq.MaxShards}, {MaxGlobal: 1}, {MaxPerTenant: 1},
		{MaxGlobal: firq.MaxTasks}, // limits are not allocated ahead
		{MaxGlobal: 10, MaxPerTenant: 1000}, {MaxTenants: 1}, {MaxInFlightPerTenant: 1},
		{DynamicThreshold: 1e9}, {Quantum: math.MaxInt64}, {MaxQueueAge: math.MaxInt64},
		{Order: firq.AdaptiveLIFO, LowWater: 5, HighWater: 5}, {PriorityAging: 1}, {PriorityAging: math.MaxInt64},
		{MaxFlows: 1}, {MaxFlows: firq.MaxTasks}, {FairnessSlack: math.MaxInt32}, {TopTenants: -5}, {TenantIdle: 1}, {TenantIdle: math.MaxInt64},
		{Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: math.MaxInt64}},
		{Backpressure: firq.Backpressure{Wait: time.Second}},
	} {
		s := open(t, newSched, cfg)
		admit(t, s, "a", task{Payload: 7})
		if it := take(t, s); it.Payload != 7 {
			t.Errorf("%+v: delivered %+v, want payload 7", cfg, it)
		}
	}
}

func inputZero(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	if st := s.Stats(); st.MaxGlobal != firq.DefaultMaxGlobal {
		t.Errorf("Stats().MaxGlobal is %d, want %d", st.MaxGlobal, firq.DefaultMaxGlobal)
	}
	for i := range firq.DefaultMaxGlobal {
		admit(t, s, "a", task{Payload: i})
	}
	refuse(t, s, "a", task{}, firq.ErrGlobalFull)
	for i := range firq.DefaultMaxGlobal {
		if it := take(t, s); it.Payload != i {
			t.Fatalf("delivered %d, want %d", it.Payload, i)
		}
	}
	idle(t, s)
}

func inputTask(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	for _, bad := range []struct {
		field string
		task  task
	}{
		{"Cost", task{Cost: -1}},
		{"Cost", task{Cost: math.MinInt64}},
		{"Priority", task{Priority: firq.PriorityCritical + 1}},
		{"Priority", task{Priority: 255}},
	} {
		for what, err := range map[string]error{
			"Enqueue":     s.Enqueue("a", bad.task),
			"EnqueueWait": s.EnqueueWait(patient(t), "a", bad.task),
		} {
			if !errors.Is(err, firq.ErrInvalidTask) || !strings.Contains(err.Error(), bad.field) {
				t.Errorf("%s(%+v): %v, want ErrInvalidTask that names %s", what, bad.task, err, bad.field)
			}
		}
	}
	length(t, s, 0)
	if st := s.Stats(); st.Enqueued != 0 || st.Dropped != 0 {
		t.Errorf("Enqueued %d, Dropped %d after invalid tasks only", st.Enqueued, st.Dropped)
	}
}

func inputBatch(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	n, err := s.EnqueueBatch("a", []task{{Payload: 1}, {Payload: 2}, {Payload: 3, Cost: -1}, {Payload: 4}})
	if n != 2 || !errors.Is(err, firq.ErrInvalidTask) {
		t.Fatalf("EnqueueBatch: %d, %v, want 2, ErrInvalidTask", n, err)
	}
	same(t, "the prefix", drain(t, s), "a1 a2")
}

func inputContext(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	var none context.Context
	_, dequeue := s.Dequeue(none)
	_, batch := s.DequeueBatch(none, make([]item, 1))
	for what, err := range map[string]error{
		"Dequeue":      dequeue,
		"DequeueBatch": batch,
		"EnqueueWait":  s.EnqueueWait(none, "a", task{}),
		"Shutdown":     s.Shutdown(none),
	} {
		if !errors.Is(err, firq.ErrInvalidArgument) {
			t.Errorf("%s(nil): %v, want ErrInvalidArgument", what, err)
		}
	}
	admit(t, s, "a", task{}) // the failed Shutdown did not stop it
	take(t, s)
}

func inputDestination(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	admit(t, s, "a", task{Payload: 1})
	for _, dst := range [][]item{nil, {}, make([]item, 0, 8)} {
		if n, err := s.DequeueBatch(patient(t), dst); n != 0 || !errors.Is(err, firq.ErrInvalidArgument) {
			t.Errorf("DequeueBatch into nothing: %d, %v, want 0, ErrInvalidArgument", n, err)
		}
	}
	same(t, "nothing was lost", drain(t, s), "a1")
}

func inputPolicy(t *testing.T, newSched maker) {
	for _, bad := range []firq.Backpressure{{Policy: 99}, {Policy: firq.Wait}, {Policy: firq.Wait, Wait: -1}} {
		s := open(t, newSched, config{MaxPerTenant: 1, BackpressureFor: func(string) firq.Backpressure { return bad }})
		admit(t, s, "a", task{Payload: 1})
		if err := s.Enqueue("a", task{Payload: 2}); err == nil {
			t.Errorf("%+v: a task above the limit was accepted", bad)
		}
		same(t, "what was queued", drain(t, s), "a1")
	}
}

func inputItem(t *testing.T, newSched maker) {
	deadline := time.Now().Add(time.Hour)
	s := open(t, newSched, config{})
	admit(t, s, "a", task{Payload: 1, Cost: 5, Priority: firq.PriorityHigh, Deadline: deadline})
	it := take(t, s)
	if it.Tenant != "a" || it.Payload != 1 || it.Cost != 5 || it.Priority != firq.PriorityHigh || !it.Deadline.Equal(deadline) {
		t.Errorf("delivered %+v", it)
	}
	admit(t, s, "b", task{Payload: 2})
	it, err := s.Dequeue(patient(t))
	if err != nil || it.Tenant != "b" || it.Payload != 2 || it.Cost != 1 || it.Priority != firq.PriorityNormal || !it.Deadline.IsZero() {
		t.Errorf("delivered %+v, %v", it, err)
	}
	admit(t, s, "c", task{Payload: 3})
	elapse(5 * time.Millisecond)
	if it := take(t, s); it.Wait < 5*time.Millisecond || it.Wait > time.Minute {
		t.Errorf("Wait is %v after at least 5ms", it.Wait)
	}
}

func inputTenant(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	names := []string{"", " ", "\x00", "\xff\xfe", "ünï", strings.Repeat("long", 10_000)}
	for i, name := range names {
		admit(t, s, name, task{Payload: i})
	}
	for i, name := range names {
		if it := take(t, s); it.Tenant != name || it.Payload != i {
			t.Fatalf("item %d is %q's %d", i, it.Tenant, it.Payload)
		}
	}
}
