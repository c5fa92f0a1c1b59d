package lockfree

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// How long TestStress goes on; FIRQ_STRESS says otherwise, as in 30s or 1h.
const (
	stressTime  = time.Second
	stressShort = 100 * time.Millisecond
	stressHangs = 15 * time.Second // then one schedule hangs
)

// Random calls of everything, from 4 producers and up to 4 consumers, on random
// configs, one short schedule after the other. Config and calls follow from a
// seed; what the operating system makes of them does not.
//
//	FIRQ_STRESS=10m                go on for so long
//	FIRQ_SEED=17                   begin with that seed
//	FIRQ_SEED=17 FIRQ_STRESS=30s   that seed, again and again
//
// GOMAXPROCS, where the environment sets it, is that of every schedule.
func TestStress(t *testing.T) {
	lasts := stressTime
	if testing.Short() {
		lasts = stressShort
	}
	again := os.Getenv("FIRQ_STRESS")
	if again != "" {
		var err error
		if lasts, err = time.ParseDuration(again); err != nil {
			t.Fatalf("FIRQ_STRESS: %v", err)
		}
	}
	seed, step := uint64(time.Now().UnixNano()), uint64(1)
	if e := os.Getenv("FIRQ_SEED"); e != "" {
		var err error
		if seed, err = strconv.ParseUint(e, 10, 64); err != nil {
			t.Fatalf("FIRQ_SEED: %v", err)
		}
		if again != "" {
			step = 0
		}
	}
	schedules := 0
	for start := time.Now(); schedules == 0 || time.Since(start) < lasts; seed += step {
		stress(t, seed)
		if schedules++; t.Failed() {
			t.Fatalf("after %d schedules; again: FIRQ_SEED=%d FIRQ_STRESS=30s go test -race -run '^TestStress$' ./lockfree", schedules, seed)
		}
	}
	t.Logf("%d schedules, the last with seed %d", schedules, seed-step)
}

// load is the payload of a stress test's task.
type load struct{ producer, tenant, seq, id int }

const (
	stressProducers = 4
	stressTasks     = 120 // of each producer
	stressTenants   = 3
)

// schedule is one run of a stress test.
type schedule struct {
	*testing.T
	s                              *Scheduler[int, load]
	seed                           uint64
	consumers                      int
	tickets, deadlines, priorities bool
	ledger                         ledger
}

// random returns the source of chance of one goroutine of the schedule.
func (r *schedule) random(of int) *rand.Rand { return rand.New(rand.NewPCG(r.seed, uint64(of))) }

func (r *schedule) errorf(format string, args ...any) {
	r.Helper()
	c := &r.s.shared.Config
	r.Errorf("seed %d, %d processors, Shards %d, MaxGlobal %d, MaxPerTenant %d, MaxInFlightPerTenant %d, MaxTenants %d, "+
		"TenantIdle %v, DynamicThreshold %v, PriorityScope %d, %v, %d consumers: %s",
		r.seed, runtime.GOMAXPROCS(0), c.Shards, c.MaxGlobal, c.MaxPerTenant, c.MaxInFlightPerTenant, c.MaxTenants,
		c.TenantIdle, c.DynamicThreshold, c.PriorityScope, c.Backpressure, r.consumers, fmt.Sprintf(format, args...))
}

// stress runs the schedule of a seed and checks it.
func stress(t *testing.T, seed uint64) {
	r := &schedule{T: t, seed: seed}
	rnd := r.random(0)
	processors := oneOf(rnd, 1, 2, 4, 16)
	if os.Getenv("GOMAXPROCS") != "" {
		processors = 0 // as it is
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	cfg := randomConfig(rnd)
	cfg.OnDrop = r.dropped
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.s = s
	r.tickets, r.deadlines, r.priorities = rnd.IntN(2) == 0, rnd.IntN(2) == 0, rnd.IntN(3) == 0
	r.consumers = 1 + rnd.IntN(4)
	watchdog := time.AfterFunc(stressHangs, func() {
		r.errorf("hangs; state %d, %d queued, %d consumers asleep", s.life.State(), s.Len(), s.parker.Parked())
		buf := make([]byte, 1<<20)
		panic(fmt.Sprintf("seed %d hangs\n%s", seed, buf[:runtime.Stack(buf, true)]))
	})
	defer watchdog.Stop()

	var producers, others sync.WaitGroup
	for i := range stressProducers {
		producers.Go(func() { r.produce(i, r.random(1+i)) })
	}
	for i := range r.consumers {
		others.Go(func() { r.consume(r.random(100 + i)) })
	}
	inspected := make(chan struct{})
	others.Go(func() { r.inspect(inspected, r.random(200)) })
	end := rnd.IntN(3)
	if end != 0 {
		time.Sleep(time.Duration(rnd.IntN(300)) * time.Microsecond)
	}
	switch end {
	case 1:
		s.Close()
		r.ledger.closed.Store(true)
	case 2:
		r.shutdown()
	}
	producers.Wait()
	if end == 0 {
		r.shutdown()
	}
	close(inspected)
	others.Wait()
	r.finish()
}

func (r *schedule) shutdown() {
	if err := r.s.Shutdown(context.Background()); err != nil {
		r.errorf("Shutdown: %v", err)
	}
}

func oneOf[V any](rnd *rand.Rand, of ...V) V { return of[rnd.IntN(len(of))] }

// randomConfig returns a config in which limits are often reached.
func randomConfig(rnd *rand.Rand) firq.Config[int, load] {
	cfg := firq.Config[int, load]{
		Shards:    oneOf(rnd, 1, 2, 4),
		MaxGlobal: oneOf(rnd, 1+rnd.IntN(6), 20+rnd.IntN(40)),
	}
	one := func(in int) bool { return rnd.IntN(in) == 0 }
	if one(2) {
		cfg.MaxPerTenant = 1 + rnd.IntN(12)
	}
	if one(3) {
		cfg.MaxInFlightPerTenant = 1 + rnd.IntN(2)
	}
	if one(3) {
		cfg.MaxInFlightFor = func(int) int { return rand.IntN(4) }
	}
	if one(6) {
		cfg.TargetWait, cfg.Interval = 20*time.Microsecond, 100*time.Microsecond
	}
	if one(3) {
		cfg.MaxTenants = 1 + rnd.IntN(stressTenants)
	}
	if one(3) {
		cfg.TenantIdle = time.Nanosecond
	}
	if one(4) {
		cfg.DynamicThreshold = 1
	}
	if one(4) {
		cfg.NewTenantsFirst = true
	}
	if one(6) {
		cfg.PriorityScope = firq.PriorityAcrossTenants
	}
	if one(4) {
		cfg.QuantumFor = func(k int) int64 { return int64(k + 1) }
	}
	cfg.Backpressure = oneOf(rnd,
		firq.Backpressure{},
		firq.Backpressure{Policy: firq.DropOldest},
		firq.Backpressure{Policy: firq.DropNewest},
		firq.Backpressure{Policy: firq.Wait, Wait: time.Millisecond})
	return cfg
}
