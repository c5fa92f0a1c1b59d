package drr

import (
	"math"
	"testing"

	"github.com/firq-go/firq"
)

// serves checks what is delivered next, and that nothing is after that.
func (p *pantry) serves(t *testing.T, want ...int) {
	t.Helper()
	for i, payload := range want {
		if _, task, v := within(p.q, 0, math.MaxUint64); v != Delivered || task.Payload != payload {
			t.Fatalf("number %d: verdict %d, task %d; want %d", i, v, task.Payload, payload)
		}
	}
	if _, task, v := within(p.q, 0, math.MaxUint64); v != Empty {
		t.Fatalf("verdict %d, task %d; want nothing", v, task.Payload)
	}
}

// A newly active tenant goes first, too, if it comes in when the queue asks for what waits
// elsewhere for the tenant that was served its last task.
func TestFillBringsInNewcomer(t *testing.T) {
	p := newPantry(Config{NewFirst: true}, 10, 10)
	push(p.q, p.tenants[0], plainTask(1, 20)) // not immediately: it goes through the active list
	within(p.q, 0, math.MaxUint64)
	p.waits[0] = []arrival{{of: 1, task: plainTask(2, 1)}, {of: 0, task: plainTask(3, 1)}}
	p.serves(t, 2, 3)
}

// What comes in may be the first task with a priority: from then on each look at a tenant
// asks for what waits elsewhere, also the next one of the same call.
func TestFillMakesEager(t *testing.T) {
	p := newPantry(Config{}, 10, 10)
	push(p.q, p.tenants[0], plainTask(1, 10))
	push(p.q, p.tenants[1], plainTask(2, 1))
	mustNext(t, p.q, 0)
	urgent := plainTask(3, 1)
	urgent.Priority = firq.PriorityHigh
	p.waits[1] = []arrival{{of: 1, task: urgent}}                        // its Enqueue has returned before that of
	p.waits[0] = []arrival{{of: 0, task: plainTask(4, 10), urges: true}} // which is too costly for this turn
	p.serves(t, 3, 2, 4)
}

// A tenant that is blocked when its tasks come in is not served, whichever way the queue goes.
func TestFillBlocks(t *testing.T) {
	for _, lazy := range []bool{true, false} {
		p := newPantry(Config{}, 10, 10)
		p.q.Lazy(lazy)
		push(p.q, p.tenants[0], plainTask(1, 1))
		push(p.q, p.tenants[1], plainTask(2, 1))
		mustNext(t, p.q, 0)
		p.waits[0] = []arrival{{of: 0, task: plainTask(3, 1), blocks: true}, {of: 0, task: plainTask(4, 1)}}
		p.serves(t, 2)
		if p.q.Ready() != 0 || p.q.Len() != 2 {
			t.Errorf("lazy %v: %d of %d are ready", lazy, p.q.Ready(), p.q.Len())
		}
		if err := invariants(p.q, p.tenants); err != nil {
			t.Errorf("lazy %v: %v", lazy, err)
		}
		p.q.Unblock(p.tenants[0])
		p.serves(t, 3, 4)
	}
}
