package serve

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// With MaxTenants, a shard counts the tenants that can make room: those that have nothing
// queued. A task takes its tenant out, whichever way it comes, and puts it back once it is
// served.
func TestIdleTenantsAreCounted(t *testing.T) {
	for name, push := range map[string]func(s *shard, x *tenant){
		"task": func(s *shard, x *tenant) {
			s.Push(x, &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
		},
		"plain task": func(s *shard, x *tenant) {
			payload := 1
			s.Queue.PushPlain(&x.Tenant, &payload, 1, 0)
			s.Pushed(x, 1)
		},
		"a task that is lent": func(s *shard, x *tenant) {
			s.Queue.Lend(&x.Tenant, []drr.Slot[int]{{Cost: 1}}, 0, 1)
			s.Pushed(x, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShard(t, config{MaxTenants: 4})
			x := add(s, "x", 0)
			add(s, "y", 0)
			check := func(idle int) {
				t.Helper()
				s.PublishIdle()
				if told := int(s.idleWord.word.Load() & idleMask); s.nIdle != idle || told != idle {
					t.Errorf("%d tenants are idle, producers see %d; want %d", s.nIdle, told, idle)
				}
			}
			check(2)
			push(s, x)
			check(1)
			if s.ForgetLongest(func(y *tenant) bool { return y == x }) {
				t.Error("a tenant with a task is forgotten")
			}
			deliver(t, s, 0)
			check(2)
		})
	}
}

// A delivery is a use of the tenant, whichever way it goes: so what it owes is not forgotten
// with it before TenantIdle has passed from then on.
func TestDeliveryIsUse(t *testing.T) {
	for name, high := range map[string]bool{"any": true, "plain": false} {
		s := newShard(t, config{TenantIdle: 1000})
		x := add(s, "x", 0)
		task := &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline}
		if high {
			task.Priority = firq.PriorityHigh
		}
		s.Push(x, task)
		deliver(t, s, 900)
		kept := func(*tenant) bool { t.Errorf("%s: forgotten 100 after its last delivery", name); return false }
		for more := s.SweepSome(1000, true, 8, kept); more; more = s.SweepSome(1000, false, 8, kept) {
		}
		forgotten := false
		s.SweepSome(1900, true, 8, func(*tenant) bool { forgotten = true; return true })
		if !forgotten {
			t.Errorf("%s: not forgotten after TenantIdle", name)
		}
	}
}
