package serve

import (
	"math"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/internal/core/drr"
)

// The tests' tenants are strings, their payloads numbers.
type (
	shared = Shared[string, int]
	shard  = Shard[string, int]
	tenant = Tenant[string, int]
	config = firq.Config[string, int]
)

func newShared(t *testing.T, cfg config) *shared {
	t.Helper()
	e, err := NewShared(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// host is what a queue calls when nothing waits elsewhere.
type host struct{}

func (host) Expired(*drr.Tenant[string, int], *drr.Task[int]) {}

func newShard(t *testing.T, cfg config) *shard { return shardOf(newShared(t, cfg)) }

func shardOf(e *shared) *shard {
	s := new(shard)
	s.Init(e, host{})
	return s
}

// add makes a tenant known, last used at now.
func add(s *shard, key string, now int64) *tenant {
	x := new(tenant)
	x.Init(key, 1)
	s.Add(x, now)
	return x
}

// serveOne pushes a task of the tenant and delivers what comes next.
func serveOne(t *testing.T, s *shard, x *tenant, now int64) firq.Item[string, int] {
	t.Helper()
	s.Push(x, &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Enqueued: now, Due: drr.NoDeadline})
	it, _ := deliver(t, s, now)
	return it
}

func deliver(t *testing.T, s *shard, now int64) (it firq.Item[string, int], token uint64) {
	t.Helper()
	for s.Queue.Ready() > 0 {
		if dt := s.NextOfAll(&it, now, math.MaxUint64); dt != nil {
			x := TenantOf(dt)
			it.Tenant = x.Key
			s.Delivered(it.Wait)
			if x.Delivered(now) {
				s.Rank(x)
			}
			return it, TokenOf(it.Priority) | s.Fly(x)
		}
	}
	t.Fatal("nothing to deliver")
	return it, 0
}

// A minute on the clock of a shard, which tests give by hand.
const minute = int64(time.Minute)

// Queue times are counted apart by processor, whatever its number, and Stats has all of them.
func TestQueueTimesByProcessor(t *testing.T) {
	s := newShard(t, config{})
	x := add(s, "a", 0)
	for i, processor := range []int{0, 1, 2, 3, 1 << 20} {
		s.ServedBy(processor)
		s.Push(x, &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
		deliver(t, s, int64(i+1)*1_000_000)
	}
	for i, want := range []uint64{3, 2} {
		one := hist.NewSnapshot()
		s.waits[i].AddTo(one)
		if got := one.QueueTime().Samples; got != want {
			t.Errorf("histogram %d has %d queue times, want %d", i, got, want)
		}
	}
	b := NewCounters[string]()
	s.AddTo(b)
	if q := s.shared.Stats(b, 0, 1).QueueTime; q.Samples != 5 || q.Max != 5*time.Millisecond {
		t.Errorf("%d queue times up to %v, want 5 up to 5ms", q.Samples, q.Max)
	}
}
