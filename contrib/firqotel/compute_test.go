package firqotel_test

import (
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/contrib/firqotel"
)

var _ firqotel.ComputeSource[string] = (*compute.Server[string, int, []byte])(nil)

const computeCollected = `
firq.compute.requests {call} sum monotonic=true [firq.scheduler=api,firq.source=hit] 701
firq.compute.requests {call} sum monotonic=true [firq.scheduler=api,firq.source=stale] 702
firq.compute.requests {call} sum monotonic=true [firq.scheduler=api,firq.source=coalesced] 703
firq.compute.requests {call} sum monotonic=true [firq.scheduler=api,firq.source=executed] 704
firq.compute.requests {call} sum monotonic=true [firq.scheduler=api,firq.source=none] 4245
firq.compute.refused {call} sum monotonic=true [firq.reason=global,firq.scheduler=api] 705
firq.compute.refused {call} sum monotonic=true [firq.reason=tenant,firq.scheduler=api] 706
firq.compute.refused {call} sum monotonic=true [firq.reason=timeout,firq.scheduler=api] 707
firq.compute.refused {call} sum monotonic=true [firq.reason=waiters,firq.scheduler=api] 708
firq.compute.gave_up {call} sum monotonic=true [firq.scheduler=api] 709
firq.compute.closed {call} sum monotonic=true [firq.scheduler=api] 710
firq.compute.executions {execution} sum monotonic=true [firq.scheduler=api] 711
firq.compute.succeeded {execution} sum monotonic=true [firq.scheduler=api] 712
firq.compute.failed {execution} sum monotonic=true [firq.scheduler=api] 713
firq.compute.panicked {execution} sum monotonic=true [firq.scheduler=api] 714
firq.compute.abandoned {execution} sum monotonic=true [firq.scheduler=api] 715
firq.compute.behind {execution} sum monotonic=true [firq.scheduler=api] 716
firq.compute.spilled {execution} sum monotonic=true [firq.scheduler=api] 717
firq.compute.exec_sum s sum monotonic=true [firq.scheduler=api] 3.000001
firq.compute.exec s histogram CumulativeTemporality [firq.scheduler=api] count=3 sum=3.000001 max=1.5 bounds=[1e-06 1 2] counts=[1 0 2 0]
firq.compute.limit {execution} sum monotonic=false [firq.scheduler=api] 718
firq.compute.executing {execution} sum monotonic=false [firq.scheduler=api] 719
firq.compute.waiting {call} sum monotonic=false [firq.scheduler=api] 720
firq.compute.flights {key} sum monotonic=false [firq.scheduler=api] 721
firq.compute.entries {entry} sum monotonic=false [firq.scheduler=api] 722
firq.compute.weight 1 sum monotonic=false [firq.scheduler=api] 723
`
