package serve

import (
	"fmt"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// sweeping is a shard with the default TenantIdle of a minute, and what it has
// forgotten and was asked about.
type sweeping struct {
	*shard
	asked, gone map[string]int
	refuse      bool
}

func newSweeping(t *testing.T, cfg config) *sweeping {
	s := &sweeping{newShard(t, cfg), map[string]int{}, map[string]int{}, false}
	return s
}

func (s *sweeping) forget(x *tenant) bool {
	s.asked[x.Key]++
	if s.refuse {
		return false
	}
	s.gone[x.Key]++
	return true
}

// all sweeps until the round is over.
func (s *sweeping) all(now int64) {
	for more := s.SweepSome(now, true, 3, s.forget); more; {
		more = s.SweepSome(now, false, 3, s.forget)
	}
}

func (s *sweeping) check(t *testing.T, names ...string) {
	t.Helper()
	if len(s.gone) != len(names) {
		t.Errorf("forgotten: %v, want %v", s.gone, names)
	}
	for _, name := range names {
		if s.gone[name] != 1 {
			t.Errorf("%s was forgotten %d times", name, s.gone[name])
		}
	}
	n := 0
	for _, r := range []ring[string, int]{s.rest, s.idle} {
		for x := r.at; x != nil; {
			if x.next.prev != x || s.gone[x.Key] > 0 {
				t.Fatalf("%s: broken link, or forgotten", x.Key)
			}
			n++
			if x = x.next; x == r.at {
				break
			}
		}
	}
	if n != s.tenants {
		t.Errorf("%d tenants in the rings, %d counted", n, s.tenants)
	}
}

// Only a tenant that has nothing queued, nothing in flight, and was not used for so long.
func TestSweepForgetsTheIdle(t *testing.T) {
	s := newSweeping(t, config{MaxInFlightPerTenant: 2})
	queued, flying, used := add(s.shard, "queued", 0), add(s.shard, "flying", 0), add(s.shard, "used", 0)
	add(s.shard, "idle", 0)
	add(s.shard, "idle too", 0)
	add(s.shard, "fresh", 1)
	serveOne(t, s.shard, flying, 0)
	it := serveOne(t, s.shard, used, 1) // at minute it was used a minute less 1 ns ago
	_ = it
	if !s.Done(used, used.token(0), 1) {
		t.Fatal("Done failed")
	}
	s.Push(queued, &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
	s.all(minute)
	s.check(t, "idle", "idle too")
	if len(s.asked) != 2 {
		t.Errorf("asked about %v: the others are in use", s.asked)
	}
	s.all(minute + 1)
	s.check(t, "idle", "idle too", "fresh", "used")
	deliver(t, s.shard, minute)
	s.Done(queued, queued.token(0), 0)
	s.Done(flying, flying.token(0), 0)
	queued.lastUsed = 0
	s.all(minute + 2)
	s.check(t, "idle", "idle too", "fresh", "used", "queued", "flying")
	s.all(9 * minute) // no tenant left
}

// token is the one of the delivery in a slot.
func (x *Tenant[K, T]) token(slot int) uint64 {
	return uint64(x.flights.slots[slot])<<32 | uint64(slot)
}

// forget may refuse; then the tenant stays and is asked again in the next round.
func TestSweepRefused(t *testing.T) {
	s := newSweeping(t, config{})
	add(s.shard, "a", 0)
	add(s.shard, "b", 0)
	s.refuse = true
	s.all(minute)
	s.check(t)
	s.refuse = false
	s.all(minute)
	s.check(t, "a", "b")
	if s.asked["a"] != 2 || s.asked["b"] != 2 {
		t.Errorf("asked: %v, want twice each", s.asked)
	}
}

// A call looks at a few tenants of one shard, so that no hold of a lock is long; a
// sweep takes as many calls as needed, goes over all shards, and begins every half
// TenantIdle. A shard whose lock is taken is tried again.
func TestSweepAFewAtATime(t *testing.T) {
	const tenants = SweepStep + 5
	e := newShared(t, config{Shards: 2})
	e.sweeps.next.Store(minute)
	shards := [2]*sweeping{}
	for i := range shards {
		shards[i] = &sweeping{shardOf(e), map[string]int{}, map[string]int{}, false}
		for k := range tenants {
			add(shards[i].shard, fmt.Sprint(k), 0)
		}
	}
	taken := false
	sweep := func(now int64) {
		e.Sweep(now, func(i int, start bool) (looked, more bool) {
			if taken {
				return false, false
			}
			return true, shards[i].SweepSome(now, start, SweepStep, shards[i].forget)
		})
	}
	looked := func() [2]int { return [2]int{len(shards[0].asked), len(shards[1].asked)} }
	if e.SweepDue(minute - 1) {
		t.Error("due before its time")
	}
	if sweep(minute - 1); looked() != [2]int{} {
		t.Error("swept before its time")
	}
	for calls, want := range [][2]int{{SweepStep, 0}, {tenants, 0}, {tenants, SweepStep}, {tenants, tenants}} {
		taken = true
		sweep(minute)
		if taken = false; !e.SweepDue(minute) {
			t.Fatalf("after %d calls nothing is due", calls)
		}
		if sweep(minute); looked() != want {
			t.Fatalf("after %d calls %v tenants were looked at, want %v", calls+1, looked(), want)
		}
	}
	for _, s := range shards {
		if s.tenants != 0 || s.rest.at != nil {
			t.Errorf("%d tenants left", s.tenants)
		}
	}
	add(shards[1].shard, "late", 0)
	if e.SweepDue(minute + minute/2 - 1) {
		t.Error("a new sweep before half of TenantIdle is over")
	}
	sweep(minute + minute/2)
	if sweep(minute + minute/2); shards[1].asked["late"] != 1 {
		t.Error("no new sweep after half of TenantIdle")
	}
}

// A tenant that is added during a round does not prolong it, and is looked at in the next.
func TestSweepEnds(t *testing.T) {
	s := newSweeping(t, config{})
	for i := range 10 {
		add(s.shard, fmt.Sprint("old", i), 0)
	}
	more := s.SweepSome(minute, true, 4, s.forget)
	for i := 0; more && i < 100; i++ {
		add(s.shard, fmt.Sprint("new", i), 0)
		more = s.SweepSome(minute, false, 1, s.forget)
	}
	if more || len(s.gone) != 10 {
		t.Errorf("goes on = %t, forgotten: %v", more, s.gone)
	}
	if s.gone["new0"] != 0 {
		t.Error("a tenant that came during the round was looked at")
	}
}

// Looking everywhere is due at most once per eighth of TenantIdle, for one caller.
func TestSweepAllDue(t *testing.T) {
	e := newShared(t, config{TenantIdle: time.Hour})
	e.lastSweep.Store(e.Clock.Now() - int64(time.Hour)/8)
	if !e.SweepAllDue() || e.SweepAllDue() {
		t.Error("due once after an eighth of TenantIdle, then not immediately again")
	}
	e.lastSweep.Store(e.Clock.Now() - int64(time.Hour)/8 + minute)
	if e.SweepAllDue() {
		t.Error("due too early")
	}
}
