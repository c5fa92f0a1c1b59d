package load

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/internal/core/cpu"
)

// errRunner: the other shapes have a goroutine that dequeues.
var errRunner = errors.New("a contestant that runs its tasks itself can only do the shape " + string(scenario.Flow))

// desks gives the workers of a contest.Runner a consumer each while they handle
// a task: the workers are the contestant's, and the counters of a consumer are
// plain. Taking a desk costs one CAS on a line that its processor used last, far
// less than what the pools themselves do per task.
type desks struct {
	consumers []*consumer
	taken     []desk
}

// desk belongs to the consumer of the same index.
type desk struct {
	held atomic.Bool
	_    [127]byte
}

func newDesks(consumers []*consumer) *desks {
	return &desks{consumers, make([]desk, len(consumers))}
}

// handle is what a worker does with a task. There are as many desks as workers,
// so that one is free, or is about to be.
func (d *desks) handle(it *contest.Item) {
	n := len(d.consumers)
	for i, tried := cpu.Hint()%n, 1; ; tried++ {
		if at := &d.taken[i].held; !at.Load() && at.CompareAndSwap(false, true) {
			d.consumers[i].take(it)
			at.Store(false)
			return
		}
		if i++; i == n {
			i = 0
		}
		if tried%n == 0 {
			runtime.Gosched()
		}
	}
}
