package schedtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Random calls, compared with the model one by one.
var modelChecks = func() []check {
	var checks []check
	for _, sc := range scenarios {
		checks = append(checks, check{name: sc.name, run: func(t *testing.T, newSched maker) { compare(t, newSched, sc) }})
	}
	return checks
}()

// compare replays random sequences of calls. A failure is cut down to a short
// sequence first.
func compare(t *testing.T, newSched maker, sc scenario) {
	base := randomSeed(t, "calls")
	for i := range uint64(reps(60)) {
		seed := i // half of the seeds are the same each time
		if i%2 == 1 {
			seed = base + i
		}
		ops := sc.generate(rand.New(rand.NewPCG(seed, 7)), 400)
		at, err := replayAll(newSched, sc.cfg, ops)
		if err == nil {
			continue
		}
		ops, at, err = shorten(newSched, sc.cfg, ops[:min(at+1, len(ops))], at, err)
		var log strings.Builder
		for _, o := range ops[:min(at+1, len(ops))] {
			fmt.Fprintln(&log, "   ", o)
		}
		t.Fatalf("seed %d: after these calls\n%s%v", seed, log.String(), err)
	}
}

// shorten drops calls as long as what is left still fails, in ever smaller
// pieces.
func shorten(newSched maker, cfg config, ops []op, at int, err error) ([]op, int, error) {
	tries := 2000
	for size := len(ops) / 2; size > 0 && tries > 0; {
		smaller := false
		for from := 0; from < len(ops) && tries > 0; {
			fewer := slices.Delete(slices.Clone(ops), from, min(from+size, len(ops)))
			tries--
			if i, e := replayAll(newSched, cfg, fewer); e != nil {
				ops, at, err, smaller = fewer[:min(i+1, len(fewer))], i, e, true
			} else {
				from += size
			}
		}
		if !smaller || size > len(ops) {
			size /= 2
		}
	}
	return ops, at, err
}

// replay is one comparison in progress.
type replay struct {
	m       *model
	s       sched
	plans   map[string]int64
	tickets [16]firq.Ticket
	items   []item // delivered and perhaps not Done
	done    []bool
	last    item // of a TryDequeue right before
	drops   map[firq.DropReason]int
}

// replayAll runs the calls on a new scheduler and a new model. It returns the
// index of the first one that goes wrong (len(ops): the end), and what.
func replayAll(newSched maker, cfg config, ops []op) (int, error) {
	cfg.Shards, cfg.TenantIdle = 1, time.Hour
	r := &replay{plans: map[string]int64{}, drops: map[firq.DropReason]int{}}
	quantum := cfg.Quantum
	plan := func(tenant string) int64 {
		if q, ok := r.plans[tenant]; ok {
			return q
		}
		return max(quantum, 1)
	}
	cfg.QuantumFor = plan
	cfg.OnDrop = func(_ string, _ int, why firq.DropReason) { r.drops[why]++ }
	s, err := newSched(cfg)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	resolved, err := cfg.Resolve()
	if err != nil {
		return 0, err
	}
	r.s, r.m = s, newModel(resolved, plan)
	for i, o := range ops {
		if err := r.apply(o); err != nil {
			return i, err
		}
		least, most := r.m.bounds()
		if n := s.Len(); n < least || n > most {
			return i, fmt.Errorf("Len is %d, the model has %d", n, most)
		}
	}
	return len(ops), r.finish()
}

// finish drains everything and compares the counters.
func (r *replay) finish() error {
	for {
		if err := r.tryDequeue(); err != nil {
			return fmt.Errorf("while draining: %w", err)
		}
		if r.last.Payload == 0 {
			busy := false
			for i := range r.items {
				if !r.done[i] {
					r.finishOne(i)
					busy = true
				}
			}
			if !busy {
				break
			}
		}
	}
	got, want := r.s.Stats(), r.m.count
	want.QueueLen, want.MaxGlobal = 0, r.m.cfg.MaxGlobal
	want.Dropped = want.RejectedGlobal + want.RejectedTenant + want.DroppedPolicy
	got.QueueTime, got.TopTenants, got.Tenants = want.QueueTime, nil, want.Tenants
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		return fmt.Errorf("at the end Stats is\n    %s, the model's\n    %s", g, w)
	}
	if g, w := fmt.Sprint(r.drops), fmt.Sprint(r.m.drops); g != w {
		return fmt.Errorf("at the end OnDrop was called %s, in the model %s", g, w)
	}
	return nil
}
