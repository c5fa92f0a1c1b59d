package schedtest

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// Nothing is allocated per task in the steady state.
var memoryChecks = []check{
	{name: "no allocation per task", run: allocTask, alone: true},
	{name: "no allocation per batch", run: allocBatch, alone: true},
	{name: "no allocation per rejection", run: allocReject, alone: true},
	{name: "no allocation per eviction", run: allocEvict, alone: true},
	{name: "a backlog that is gone leaves no memory behind", run: memoryBacklog, alone: true},
}

// allocations fails if run allocates. The first runs do not count: they make what is kept
// for reuse.
func allocations(t *testing.T, what string, run func()) {
	t.Helper()
	// Not testing.AllocsPerRun: it rounds down, and one task in two would pass. The
	// runtime itself allocates now and then.
	warm, runs := 2000, 5000
	if race.Enabled && testing.Short() {
		warm, runs = 400, 1000
	}
	for range warm {
		run()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		run()
	}
	runtime.ReadMemStats(&after)
	most := uint64(runs / 50)
	if race.Enabled {
		most = uint64(runs / 2) // sync.Pool then drops some of what it is given
	}
	if n := after.Mallocs - before.Mallocs; n > most {
		t.Errorf("%s: %d allocations in %d runs, want 0", what, n, runs)
	}
}

func allocTask(t *testing.T, newSched maker) {
	for what, cfg := range map[string]config{
		"plain":               {},
		"one shard":           {Shards: 1},
		"LIFO":                {Order: firq.LIFO},
		"priorities across":   {PriorityScope: firq.PriorityAcrossTenants},
		"new tenants first":   {NewTenantsFirst: true},
		"in flight":           {MaxInFlightPerTenant: 2},
		"threshold":           {DynamicThreshold: 1},
		"a quantum per plan":  {QuantumFor: func(string) int64 { return 3 }},
		"a policy per tenant": {BackpressureFor: func(string) firq.Backpressure { return firq.Backpressure{} }},
		"with an age limit":   {MaxQueueAge: time.Hour},
	} {
		s := open(t, newSched, cfg)
		names := tenants(8)
		for i := range 100 {
			admit(t, s, names[i%8], task{})
		}
		ctx, i := context.Background(), 0
		allocations(t, what, func() {
			i++
			if err := s.Enqueue(names[i%8], task{Payload: i, Cost: 2, Priority: firq.Priority(i % 7)}); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			it, ok := s.TryDequeue()
			if !ok {
				t.Errorf("%s: nothing is delivered", what)
			}
			it.Charge(1)
			it.Done()
			if err := s.Enqueue(names[i%8], task{Payload: i}); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if it, err := s.Dequeue(ctx); err != nil {
				t.Errorf("%s: %v", what, err)
			} else {
				it.Done()
			}
		})
	}
}

func allocBatch(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	names := tenants(8)
	batch, dst := make([]task, 16), make([]item, 16)
	ctx, i := context.Background(), 0
	allocations(t, "batches of 16", func() {
		i++
		admitBatch(t, s, names[i%8], batch, len(batch), nil)
		if n, err := s.DequeueBatch(ctx, dst); n == 0 || err != nil {
			t.Errorf("DequeueBatch: %d, %v", n, err)
		}
	})
}

func allocReject(t *testing.T, newSched maker) {
	for want, cfg := range map[error]config{
		firq.ErrGlobalFull:      {MaxGlobal: 4},
		firq.ErrTenantFull:      {MaxPerTenant: 4},
		firq.ErrTenantThreshold: {MaxGlobal: 8, DynamicThreshold: 1},
		firq.ErrTooManyTenants:  {MaxTenants: 1},
	} {
		s := open(t, newSched, cfg)
		load(t, s, "a", 4)
		tenant := "a"
		if want == firq.ErrTooManyTenants {
			tenant = "b"
		}
		allocations(t, want.Error(), func() {
			if err := s.Enqueue(tenant, task{}); err != want {
				t.Errorf("Enqueue: %v, want %v", err, want)
			}
		})
		if want == firq.ErrGlobalFull {
			names, i := tenants(3000), 0
			allocations(t, "new tenants: "+want.Error(), func() {
				i++
				if err := s.Enqueue(names[i%3000], task{}); err != want {
					t.Errorf("Enqueue: %v, want %v", err, want)
				}
			})
		}
	}
}

func allocEvict(t *testing.T, newSched maker) {
	for _, p := range []firq.Policy{firq.DropOldest, firq.DropNewest} {
		s := open(t, newSched, config{MaxPerTenant: 10, Backpressure: policy(p)})
		load(t, s, "a", 10)
		i := 0
		allocations(t, "evicting", func() {
			i++
			if err := s.Enqueue("a", task{Payload: i}); err != nil {
				t.Errorf("Enqueue: %v", err)
			}
		})
	}
}

// memoryBacklog: a scheduler may keep the memory of a large backlog for the next one, but
// not for each tenant that ever had one.
func memoryBacklog(t *testing.T, newSched maker) {
	const n = 20_000
	s := open(t, newSched, config{Shards: 2, TenantIdle: time.Millisecond})
	round := func(i int) {
		name := "tenant-" + strconv.Itoa(i)
		for k := range n {
			admit(t, s, name, task{Payload: k})
		}
		for range n {
			take(t, s)
		}
		forgotten(t, s)
	}
	round(0)
	round(1)
	bounded(t, 8<<20, func() {
		for i := range reps(20) {
			round(2 + i)
		}
	})
}
