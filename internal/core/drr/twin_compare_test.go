package drr

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/firq-go/firq/internal/proof/race"
)

// compare returns the first difference between the Queue and the model.
func (w *twin) compare() error {
	if !slices.Equal(w.expired, w.m.expired) {
		return fmt.Errorf("expired %v, want %v", w.expired, w.m.expired)
	}
	for _, payload := range w.expired {
		if err := w.ended(payload); err != nil {
			return err
		}
	}
	w.expired, w.m.expired = nil, nil
	if err := invariants(w.q, w.tenants); err != nil {
		return err
	}
	if w.q.Lingering() != (!w.m.ready() && slices.ContainsFunc(w.m.lists[:], modelList.lingers)) {
		return fmt.Errorf("lingering: %v", w.q.Lingering())
	}
	for key, t := range w.tenants {
		if err := w.compareTenant(t, w.m.tenants[key]); err != nil {
			return fmt.Errorf("tenant %d: %w", key, err)
		}
	}
	for i := range w.q.lists {
		l, ml := &w.q.lists[i], &w.m.lists[i]
		if got, want := keys(&l.fresh), modelKeys(ml.fresh); !slices.Equal(got, want) {
			return fmt.Errorf("list %d: fresh %v, want %v", i, got, want)
		}
		if got, want := keys(&l.freed), modelKeys(ml.freed); !slices.Equal(got, want) {
			return fmt.Errorf("list %d: freed %v, want %v", i, got, want)
		}
		if got, want := keys(&l.active), modelKeys(ml.active); !slices.Equal(got, want) {
			return fmt.Errorf("list %d: active %v, want %v", i, got, want)
		}
		if l.clock() != ml.round || l.left != len(ml.toVisit) || l.used != ml.used {
			return fmt.Errorf("list %d: round %d, %d left, used %t, want %d, %d, %t", i, l.clock(), l.left, l.used, ml.round, len(ml.toVisit), ml.used)
		}
	}
	return nil
}

func (w *twin) compareTenant(t *Tenant[int, int], mt *modelTenant) error {
	got, want := t.Len(), mt.queued()
	if got != want {
		return fmt.Errorf("%d tasks, want %d", got, want)
	}
	if t.Active() != mt.active() || t.Blocked() != mt.blocked {
		return fmt.Errorf("active %v, blocked %v, want %v, %v", t.Active(), t.Blocked(), mt.active(), mt.blocked)
	}
	var err error
	w.q.eachSeat(t, func(s *seat[int, int]) {
		mf := mt.seats[s.level]
		if s.deficit != mf.deficit || s.inTurn != mf.inTurn || s.where != mf.where {
			err = fmt.Errorf("seat %d: deficit %d, in turn %v, place %d, want %d, %v, %d",
				s.level, s.deficit, s.inTurn, s.where, mf.deficit, mf.inTurn, mf.where)
		}
		if e := w.compareFlows(s, mt); err == nil {
			err = e
		}
	})
	return err
}

// lingers reports whether a seat without a task is at the head.
func (l modelList) lingers() bool {
	all := l.inOrder()
	return len(all) > 0 && all[0].empty()
}

func keys(l *seats[int, int]) (keys []int) {
	for s := range l.all {
		keys = append(keys, s.tenant.Key)
	}
	return keys
}

func modelKeys(seats []*modelSeat) (keys []int) {
	for _, s := range seats {
		keys = append(keys, s.tenant.key)
	}
	return keys
}

// randomOps returns n random bytes made from seed.
func randomOps(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	ops := make([]byte, n)
	for i := range ops {
		ops[i] = byte(r.Uint32())
	}
	return ops
}

// TestAgainstModel compares every config with the model on random operations.
func TestAgainstModel(t *testing.T) {
	race.OneGoroutine(t)
	seeds := uint64(4)
	if race.Enabled && testing.Short() {
		seeds = 2
	}
	for shape := range configs {
		for seed := range seeds {
			tenants := 1 + int(seed*seed)%9
			if err := newTwin(shape, tenants, randomOps(seed, 2500)).run(); err != nil {
				t.Fatalf("config %d, %d tenants, seed %d: %v", shape, tenants, seed, err)
			}
		}
	}
}

// TestAgainstModelWithPurge has enough tenants for purge to have something to do.
func TestAgainstModelWithPurge(t *testing.T) {
	race.OneGoroutine(t)
	for shape := range configs {
		seed := uint64(1000 + shape)
		w := newTwin(shape, 80, randomOps(seed, 700))
		for len(w.ops) == 700 {
			for range 90 { // each tenant gets a task, then most lose theirs
				if err := w.push(); err != nil {
					t.Fatal(err)
				}
			}
			for range 100 {
				if err := w.remove(); err != nil {
					t.Fatalf("config %d, seed %d: %v", shape, seed, err)
				}
			}
			if err := w.compare(); err != nil {
				t.Fatalf("config %d, seed %d: %v", shape, seed, err)
			}
			w.ops = append(w.ops, w.ops...)
		}
		if err := w.run(); err != nil {
			t.Fatalf("config %d, seed %d: %v", shape, seed, err)
		}
	}
}

// FuzzQueue is TestAgainstModel on bytes that the fuzzer thinks up: the config,
// the number of tenants, then operations.
func FuzzQueue(f *testing.F) {
	for shape := range byte(configs) {
		f.Add(append([]byte{shape, shape % 5}, randomOps(uint64(shape), 60)...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 || len(data) > 4000 {
			return
		}
		if err := newTwin(int(data[0])%configs, 1+int(data[1])%6, data[2:]).run(); err != nil {
			t.Fatal(err)
		}
	})
}
