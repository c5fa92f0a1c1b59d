package firqotel_test

import (
	"strings"
	"testing"

	"github.com/firq-go/firq/contrib/firqotel"
	"github.com/firq-go/firq/metrics/metricstest"
)

const actorCollected = `
firq.actor.abandoned {handler} sum monotonic=false [firq.kind=room,firq.scheduler=api] 6
firq.actor.abandoned {handler} sum monotonic=false [firq.kind=user,firq.scheduler=api] 0
firq.actor.abandonments {handler} sum monotonic=true [firq.scheduler=api] 609
firq.actor.accepted {message} sum monotonic=true [firq.scheduler=api] 603
firq.actor.actors {actor} sum monotonic=false [firq.scheduler=api] 601
firq.actor.cancelled {message} sum monotonic=true [firq.scheduler=api] 606
firq.actor.dead_letters {message} sum monotonic=true [firq.scheduler=api] 605
firq.actor.deadlocks {call} sum monotonic=true [firq.scheduler=api] 610
firq.actor.failures {incarnation} sum monotonic=true [firq.kind=room,firq.scheduler=api] 4
firq.actor.failures {incarnation} sum monotonic=true [firq.kind=user,firq.scheduler=api] 0
firq.actor.handled {message} sum monotonic=true [firq.scheduler=api] 604
firq.actor.handoffs {slot} sum monotonic=true [firq.scheduler=api] 611
firq.actor.messages {message} sum monotonic=true [firq.kind=room,firq.scheduler=api] 700
firq.actor.messages {message} sum monotonic=true [firq.kind=user,firq.scheduler=api] 3
firq.actor.processor_time s sum monotonic=true [firq.kind=room,firq.scheduler=api] 1.5
firq.actor.processor_time s sum monotonic=true [firq.kind=user,firq.scheduler=api] 3
firq.actor.refused {message} sum monotonic=true [firq.kind=room,firq.reason=context,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=room,firq.reason=deadlock,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=room,firq.reason=full,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=room,firq.reason=other,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=room,firq.reason=stale,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=room,firq.reason=stopped,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=user,firq.reason=context,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=user,firq.reason=deadlock,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=user,firq.reason=full,firq.scheduler=api] 7
firq.actor.refused {message} sum monotonic=true [firq.kind=user,firq.reason=other,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=user,firq.reason=stale,firq.scheduler=api] 0
firq.actor.refused {message} sum monotonic=true [firq.kind=user,firq.reason=stopped,firq.scheduler=api] 0
firq.actor.rejected {message} sum monotonic=true [firq.scheduler=api] 607
firq.actor.restarted {incarnation} sum monotonic=true [firq.scheduler=api] 608
firq.actor.restarts {incarnation} sum monotonic=true [firq.kind=room,firq.scheduler=api] 5
firq.actor.restarts {incarnation} sum monotonic=true [firq.kind=user,firq.scheduler=api] 0
firq.actor.timeouts {handler} sum monotonic=true [firq.kind=user,firq.method=Hear,firq.mode=cancel,firq.scheduler=api] 8
firq.actor.turns {turn} sum monotonic=true [firq.end=idle,firq.kind=room,firq.scheduler=api] 1
firq.actor.turns {turn} sum monotonic=true [firq.end=idle,firq.kind=user,firq.scheduler=api] 0
firq.actor.turns {turn} sum monotonic=true [firq.end=lost,firq.kind=room,firq.scheduler=api] 0
firq.actor.turns {turn} sum monotonic=true [firq.end=lost,firq.kind=user,firq.scheduler=api] 3
firq.actor.turns {turn} sum monotonic=true [firq.end=slice,firq.kind=room,firq.scheduler=api] 2
firq.actor.turns {turn} sum monotonic=true [firq.end=slice,firq.kind=user,firq.scheduler=api] 0
firq.actor.turns {turn} sum monotonic=true [firq.end=throughput,firq.kind=room,firq.scheduler=api] 0
firq.actor.turns {turn} sum monotonic=true [firq.end=throughput,firq.kind=user,firq.scheduler=api] 0
firq.actor.wait s histogram CumulativeTemporality [firq.scheduler=api] count=6 sum=0.005001 max=0.001 counts=[1 0 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]
firq.actor.waiting {message} sum monotonic=false [firq.scheduler=api] 602
`

// Without a Recorder there is what Stats says.
func TestActorsWithoutRecorder(t *testing.T) {
	p := newPipeline(t)
	r, err := firqotel.RegisterActors(metricstest.Of(metricstest.System()), nil, firqotel.Options[string]{MeterProvider: p, Producer: p.producer})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(p.collect(t), "\n")
	if !strings.Contains(got, "firq.actor.actors") || strings.Contains(got, "firq.kind") {
		t.Error(got)
	}
	if err := r.Unregister(); err != nil {
		t.Error(err)
	}
}
