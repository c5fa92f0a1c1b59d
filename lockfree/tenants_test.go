package lockfree

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// MaxTenants is about what is in the map: a producer that missed a tenant and
// then finds that another one has just added it does not take a second place,
// not even for an instant.
func TestSameTenantTwice(t *testing.T) {
	s := build(t, config{MaxTenants: 1})
	var second <-chan error
	first, _ := s.tenants.Compute("a", func(*tenant[string, int], bool) (*tenant[string, int], bool) {
		second = start(func() error { _, err := s.lookUp("a", nil); return err })
		waits(t, "lookUp", second) // it missed the key, and waits for this entry
		if !s.addKnown() {
			t.Error("the place of the first tenant is taken by a call that adds none")
		}
		return newTenant(s.shards[0], "a", &s.shared.Defaults), false
	})
	if err := result(t, "lookUp", second); err != nil {
		t.Errorf("a known tenant: %v", err)
	}
	admit(t, s, "a", task{})
	if now, _ := s.tenants.Load("a"); now != first || s.known.Load() != 1 {
		t.Errorf("another tenant: %t, known %d", now != first, s.known.Load())
	}
}

// Producers that bring the same new tenant together are all admitted.
func TestSameTenantTogether(t *testing.T) {
	const producers = 4
	for range 300 {
		s := build(t, config{MaxTenants: 1})
		var wg sync.WaitGroup
		for range producers {
			wg.Go(func() {
				if err := s.Enqueue("a", task{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
	}
}

// A tenant that is dead and still in the map: a producer of its key gets a new one
// in its place, and the call that forgets the dead one leaves the new one alone.
func TestDeadTenantIsReplaced(t *testing.T) {
	s := build(t, config{MaxTenants: 1, TenantIdle: time.Nanosecond})
	old, err := s.lookUp("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	old.word.Or(deadBit) // forget was stopped before remove
	admitted := start(func() error { return s.Enqueue("a", task{Payload: 1}) })
	if err := result(t, "Enqueue", admitted); err != nil { // or it waits for room
		t.Fatal(err)
	}
	now, _ := s.tenants.Load("a")
	if now == old {
		t.Fatal("the dead tenant got a task")
	}
	refuse(t, s, "b", firq.ErrTooManyTenants)
	s.remove(old)
	if n := s.known.Load(); n != 1 || s.tenants.Size() != 1 {
		t.Errorf("known %d, %d in the map; want 1, 1", n, s.tenants.Size())
	}
	refuse(t, s, "b", firq.ErrTooManyTenants)
	take(t, s, 1)
	if n := s.Stats().Tenants; n != 0 || s.known.Load() != 0 {
		t.Errorf("%d tenants left, %d counted", n, s.known.Load())
	}
	admit(t, s, "b", task{})
}

// forgotten makes the tenant die as Sweep has it.
func forgotten(s *scheduler, t *tenant[string, int]) bool {
	t.shard.lock()
	defer t.shard.unlock()
	t.shard.register(t)
	return t.shard.forget(&t.Tenant)
}

// A producer that found the tenant before it was forgotten has to look it up
// again, at whatever step it learns of it.
func TestProducerOfDeadTenant(t *testing.T) {
	for _, x := range []struct {
		at   string
		goOn func(t *testing.T, s *scheduler, old *tenant[string, int])
	}{
		{"enter", func(t *testing.T, s *scheduler, old *tenant[string, int]) {
			d := mustTask(t, s, task{Payload: 1})
			if err := s.enter(old, "a", &d, nil, 0); err != nil {
				t.Error(err)
			}
		}},
		{"take", func(t *testing.T, s *scheduler, old *tenant[string, int]) {
			if _, _, took := old.reserve(1); took != tenantDead {
				t.Errorf("take: %d", took)
			}
			admit(t, s, "a", task{Payload: 1})
		}},
		{"put", func(t *testing.T, s *scheduler, old *tenant[string, int]) {
			d := mustTask(t, s, task{Payload: 1})
			if done, err := old.shard.enqueueLocked(old, &d, nil); done || err != nil {
				t.Errorf("put: %t, %v", done, err)
			}
			admit(t, s, "a", task{Payload: 1})
		}},
		{"replace", func(t *testing.T, s *scheduler, old *tenant[string, int]) {
			d := mustTask(t, s, task{Payload: 1})
			old.shard.lock()
			done, _, err := old.shard.replace(old, &d, false)
			old.shard.unlock()
			if done || err != nil {
				t.Errorf("replace: %t, %v", done, err)
			}
			admit(t, s, "a", task{Payload: 1})
		}},
	} {
		t.Run(x.at, func(t *testing.T) {
			s := build(t, config{MaxTenants: 1})
			old, err := s.lookUp("a", nil)
			if err != nil {
				t.Fatal(err)
			}
			if !forgotten(s, old) {
				t.Fatal("an idle tenant was not forgotten")
			}
			x.goOn(t, s, old)
			if now, _ := s.tenants.Load("a"); now == old || now == nil {
				t.Errorf("the tenant in the map: the dead one %t", now == old)
			}
			take(t, s, 1)
		})
	}
}

// A tenant with a ticket out is not forgotten, whether its task is on its way,
// void, or published and not drained; nor with a task queued.
func TestForgetRefuses(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{}, first)
		p := stopped(t, s, "a", task{Payload: 1})
		for _, x := range []struct {
			after string
			step  func()
		}{
			{"E1", func() {}},
			{"E3", func() {
				if err := p.charge(); err != nil {
					t.Fatal(err)
				}
			}},
			{"E4", func() { p.put() }},
			{"a drain", func() { touch(s); p.t.shard.lock(); p.t.shard.drainAll(p.t); p.t.shard.unlock() }},
		} {
			x.step()
			p.t.shard.lease.Lock()
			if p.t.shard.forget(&p.t.Tenant) {
				t.Errorf("forgotten after %s", x.after)
			}
			p.t.shard.lease.Unlock()
		}
		take(t, s, 1)
		q := stopped(t, s, "a", task{})
		q.t.word.Add(roomUnit) // the first half of void
		p.t.shard.lease.Lock()
		if q.t.shard.forget(&q.t.Tenant) {
			t.Error("forgotten with the slot of a void open")
		}
		p.t.shard.lease.Unlock()
		q.t.word.Add(^uint64(roomUnit - 1))
		q.void()
		if !forgotten(s, p.t) {
			t.Error("idle, and not forgotten")
		}
	})
}

// The place of a new tenant is taken in one step: of two that come at the same time one
// gets the last place.
func TestLastPlaceOfATenant(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s := build(t, config{MaxTenants: 1})
	const rounds = 20_000
	var begun [2]atomic.Int64
	var got [2][rounds]bool
	var all sync.WaitGroup
	for me := range 2 {
		all.Go(func() {
			for i := range int64(rounds) {
				if me == 0 {
					s.known.Store(0)
				}
				begun[me].Store(2*i + 1)
				for begun[1-me].Load() < 2*i+1 { // both are there
					runtime.Gosched()
				}
				got[me][i] = s.addKnown()
				begun[me].Store(2*i + 2)
				for begun[1-me].Load() < 2*i+2 {
					runtime.Gosched()
				}
			}
		})
	}
	all.Wait()
	for i := range rounds {
		if got[0][i] == got[1][i] {
			t.Fatalf("round %d: the last place is given to both, or to neither: %t", i, got[0][i])
		}
	}
	s.known.Store(0)
}
