// Package metricstest has sources of metrics for the tests of the exporters: one of
// each part of firq, with another number in each field.
package metricstest

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/metrics"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/watchdog"
	"github.com/firq-go/firq/worker"
)

// Source stands for any part of firq. It returns the value that was last set, and counts the calls.
type Source[S any] struct {
	Says  S
	Calls atomic.Int64
}

// Of returns a Source that returns s.
func Of[S any](s S) *Source[S] { return &Source[S]{Says: s} }

// Stats is the method of schedulers, gates, pools, compute servers and Systems.
func (s *Source[S]) Stats() S {
	s.Calls.Add(1)
	return s.Says
}

// Traffic is the method of middlewares.
func (s *Source[S]) Traffic() S { return s.Stats() }

// Status is the method of watchdogs.
func (s *Source[S]) Status() S { return s.Stats() }

// RedisSource is a queue on Redis.
type RedisSource struct {
	Source[metrics.RedisStats]
	Err  error // what its server answers instead
	Away error // what it answers to QueueTimes
}

// Engine is one that only has a name.
func (*RedisSource) Engine() queue.Engine { return engine{} }

type engine struct{ queue.Engine }

func (engine) Traits() queue.Traits { return queue.Traits{Name: "redis"} }

// Stats fails if the caller would wait for ever.
func (s *RedisSource) Stats(ctx context.Context) (metrics.RedisStats, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return metrics.RedisStats{}, errors.New("a call that may take for ever")
	}
	return s.Source.Stats(), s.Err
}

// QueueTimes has a sample of a second, and one that is longer than all bounds but the last.
func (s *RedisSource) QueueTimes(ctx context.Context) (buckets []firq.Bucket, sum time.Duration, err error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, 0, errors.New("a call that may take for ever")
	}
	if s.Away != nil {
		return nil, 0, s.Away
	}
	return []firq.Bucket{{UpperBound: time.Second, Count: 1}, {UpperBound: math.MaxInt64, Count: 1}}, 621 * time.Second, nil
}

// Cores make schedulers that are closed when the test ends.
var Cores = map[string]func(*testing.T, firq.Config[string, string]) firq.Scheduler[string, string]{
	"lockfree": func(t *testing.T, cfg firq.Config[string, string]) firq.Scheduler[string, string] {
		s, err := lockfree.New(cfg)
		return opened(t, s, err)
	},
	"baseline": func(t *testing.T, cfg firq.Config[string, string]) firq.Scheduler[string, string] {
		s, err := baseline.New(cfg)
		return opened(t, s, err)
	},
}

func opened(t *testing.T, s firq.Scheduler[string, string], err error) firq.Scheduler[string, string] {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Queue returns the numbers of a scheduler.
func Queue() firq.Stats[string] {
	return firq.Stats[string]{
		Enqueued: 101, Dequeued: 102, Expired: 103, Cancelled: 104, Closed: 105,
		Dropped: 106, RejectedGlobal: 107, RejectedTenant: 108, TimeoutRejected: 109, DroppedPolicy: 110,
		QueueLen: 111, MaxGlobal: 112, InFlight: 113, Tenants: 114, QueueSaturation: 0.115,
		QueueTime: firq.QueueTime{
			Sum: 116 * time.Second, P50: 117, P95: 118 * time.Millisecond, P99: 119 * time.Millisecond, P999: 120,
			Max: 121 * time.Second, Samples: 122,
			Buckets: []firq.Bucket{{UpperBound: time.Microsecond, Count: 100}, {UpperBound: 2 * time.Microsecond}, {UpperBound: time.Hour, Count: 22}},
		},
		TopTenants: []firq.TenantCount[string]{{Tenant: "a", Dequeued: 60}, {Tenant: "b", Dequeued: 30, Lag: 12.5}, {Tenant: "c", Dequeued: 12}},
		Overload:   123, Lag: firq.Lag[string]{Max: 12.5, Tenant: "b"},
	}
}

// Gate returns the numbers of a gate.
func Gate() gate.Stats[string] {
	return gate.Stats[string]{Limit: 201, InUse: 202, Waiting: 203, Aside: 206, Immediate: 204, Forgone: 207, TimedOut: 205, Queue: Queue()}
}

// Traffic returns the numbers of a middleware.
func Traffic() gate.Traffic {
	return gate.Traffic{InFlight: 301, Waiting: 302, Reading: 307, Served: 303, Skipped: 304, Rejected: map[string]uint64{"global_full": 305, "timeout": 306, "closed": 0}}
}

// Pool returns the numbers of a pool of workers.
func Pool() worker.Stats {
	local, times := hist.NewLocal(), hist.NewSnapshot()
	for _, d := range []time.Duration{time.Microsecond, 1500 * time.Millisecond, 1500 * time.Millisecond} {
		local.Record(d)
	}
	local.AddTo(times)
	return worker.Stats{
		Name: "mail", Started: 401, Finished: 402, Failed: 403, Panicked: 404, Slow: 405, TimedOut: 406, Stuck: 407,
		Running: 408, StuckNow: 409, Workers: 410, HandlerTime: times,
	}
}

// Watchdog returns the numbers of a watchdog. The name of one of its queues is not UTF-8.
func Watchdog() watchdog.Status {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return watchdog.Status{
		Running: true, Level: watchdog.Critical, Since: time.Unix(1_700_000_000, 500_000_000), Reports: 501, Missed: 502,
		Findings: []watchdog.Finding{
			{Signal: watchdog.QueueWait, Name: "a", Level: watchdog.Critical},
			{Signal: watchdog.QueueWait, Name: "b", Level: watchdog.Critical},
			{Signal: watchdog.ProbeError, Name: "db", Level: watchdog.Warning},
		},
		Sample: watchdog.Sample{
			Start: time.Unix(1, 0), End: time.Unix(2, 0), TimerLateness: ms(503),
			Scheduling: watchdog.Latency{P50: ms(504), Tail: ms(505), Max: ms(506), Samples: 507},
			Goroutines: 508, Runnable: 509, Processors: 510,
			Queues: []watchdog.QueueSample{
				{Name: "a", Len: 511, Delivered: 512, Expired: 513, Wait: watchdog.Latency{P50: ms(514), Tail: ms(515), Max: ms(516)}, Stalled: ms(517)},
				{Name: "b\xff", Len: 521},
			},
			Probes: []watchdog.ProbeSample{{Name: "db", Time: ms(531), Calls: 532, Err: errors.New("no")}, {Name: "disk", Time: ms(541)}},
		},
	}
}

// Redis returns the numbers of a queue on Redis.
func Redis() metrics.RedisStats {
	return metrics.RedisStats{
		Enqueued: 601, Requeued: 602, Acked: 603, Cancelled: 604, Expired: 605, Dead: 606, Purged: 607, Delivered: 608, Nacked: 609,
		Released: 610, LeaseExpired: 611, LeaseLost: 612, Duplicates: 613, Rejected: 614, Queued: 615, Delayed: 616, InFlight: 617,
		DeadLetters: 618, Tenants: 619, Oldest: 620 * time.Second, Paused: true, Held: 623,
	}
}

// Fleet returns the numbers of a member of a fleet.
func Fleet() metrics.FleetStats {
	return metrics.FleetStats{
		Limit: 801, InUse: 802, Idle: 803, Waiting: 804, Members: 805, Immediate: 806, Turns: 807, Reused: 808, Alone: 809,
		RejectedGlobal: 810, RejectedTenant: 811, TimedOut: 812, Lost: 813, Syncs: 814, Failed: 815,
	}
}

// Node is a node of a cluster.
type Node struct{ Source[metrics.ClusterStats] }

// Recorded returns two calls, of methods with one name once that is valid, and an activation.
func (*Node) Recorded() (calls map[string]map[string]*hist.Snapshot, activations map[string]*hist.Snapshot) {
	of := func(took time.Duration) *hist.Snapshot {
		h, s := hist.NewLocal(), hist.NewSnapshot()
		h.Record(took)
		h.AddTo(s)
		return s
	}
	return map[string]map[string]*hist.Snapshot{"cart": {"Add\xfe": of(time.Second), "Add\xff": of(2 * time.Second)}},
		map[string]*hist.Snapshot{"cart": of(3 * time.Second)}
}

// Cluster returns the numbers of a node of a cluster.
func Cluster() metrics.ClusterStats {
	return metrics.ClusterStats{
		Activations: 901, Activated: 902, Passivated: 903, Fenced: 904, Moved: 905, Sent: 906, Handled: 907, Lost: 908, Retried: 909, Saves: 910,
	}
}

// Compute returns the numbers of a compute server.
func Compute() compute.Stats[string] {
	return compute.Stats[string]{
		Hits: 701, Stale: 702, Coalesced: 703, Executed: 704, Refused: 705 + 706 + 707 + 708, GaveUp: 709, Closed: 710,
		RefusedGlobal: 705, RefusedTenant: 706, RefusedTimeout: 707, RefusedWaiters: 708,
		Executions: 711, Succeeded: 712, Failed: 713, Panics: 714, Abandoned: 715, Behind: 716, Spilled: 717,
		Limit: 718, Executing: 719, Waiting: 720, Flights: 721, Entries: 722, Weight: 723,
		ExecTime: firq.QueueTime{
			Buckets: []firq.Bucket{
				{UpperBound: time.Microsecond, Count: 1}, {UpperBound: time.Second}, {UpperBound: 2 * time.Second, Count: 2},
			},
			Sum: 3*time.Second + time.Microsecond, Samples: 3, Max: 1500 * time.Millisecond,
		},
	}
}

// System returns the numbers of a System of actors.
func System() actor.Stats {
	return actor.Stats{
		Actors: 601, Waiting: 602, Accepted: 603, Handled: 604, DeadLetters: 605, Cancelled: 606, Refused: 607,
		Restarts: 608, Abandoned: 609, Deadlocks: 610, Handoffs: 611,
	}
}

// Recorder has another number for each label.
func Recorder() *actor.Recorder {
	r := actor.NewRecorder()
	times := func(n int, f func()) {
		for range n {
			f()
		}
	}
	r.Turn("room", 700, 1500*time.Millisecond, time.Microsecond, actor.TurnIdle)
	times(2, func() { r.Turn("room", 0, 0, time.Millisecond, actor.TurnSlice) })
	times(3, func() { r.Turn("user", 1, time.Second, time.Millisecond, actor.TurnLost) })
	times(4, func() { r.Failed("room", errors.New("x")) })
	times(5, func() { r.Restarted("room") })
	r.Abandoned("room", 6)
	times(7, func() { r.Refused("user", actor.ErrMailboxFull) })
	times(8, func() { r.Timeout("user", "Hear", actor.Cancel) })
	return r
}
