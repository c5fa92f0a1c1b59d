package lockfree

import (
	"testing"
	"unsafe"

	"github.com/firq-go/firq/internal/core/pad"
)

// tenantLine is a cache line: a tenant's two sides are on different ones. There
// are too many tenants for a pad.Line.
const tenantLine = 64

// at is a field, or a group of fields that one side writes.
type at struct {
	name string
	off  uintptr
}

// apart checks that a is far enough from everything in others. Fields are at most
// 8 bytes, and at multiples of their size: the distance from start to start
// decides.
func apart(t *testing.T, line uintptr, a at, others ...at) {
	t.Helper()
	for _, b := range others {
		d := max(a.off, b.off) - min(a.off, b.off)
		if d < line {
			t.Errorf("%s (at %d) and %s (at %d) are %d bytes apart, want %d", a.name, a.off, b.name, b.off, d, line)
		}
	}
}

// What every call reads, and what each new tenant writes, share a line neither
// with each other nor with anything else.
func TestSchedulerLayout(t *testing.T) {
	var s Scheduler[string, any]
	life := at{"life", unsafe.Offsetof(s.life)}
	deadlines := at{"deadlines", unsafe.Offsetof(s.deadlines)}
	known := at{"known", unsafe.Offsetof(s.known)}
	end := at{"the end", unsafe.Sizeof(s)}
	apart(t, pad.Line, life, at{"maxLanes", unsafe.Offsetof(s.maxLanes)}, at{"tenants", unsafe.Offsetof(s.tenants)})
	apart(t, pad.Line, known, life, deadlines, end)
	apart(t, pad.Line, deadlines, end)
}

// Producers write the ring's tail, the holder of the lock the lock and what it guards.
func TestShardLayout(t *testing.T) {
	var sh shard[string, any]
	lock := at{"the lock", unsafe.Offsetof(sh.mu)}
	ringEnd := at{"the ring's end", unsafe.Offsetof(sh.ring) + unsafe.Sizeof(sh.ring)}
	end := at{"the end", unsafe.Sizeof(sh)}
	apart(t, pad.Line, lock, at{"the ring", unsafe.Offsetof(sh.ring)}, ringEnd)
	apart(t, pad.Line, at{"affinity", unsafe.Offsetof(sh.affinity)}, lock)
	apart(t, pad.Line, at{"contention", unsafe.Offsetof(sh.contention)}, lock, at{"affinity", unsafe.Offsetof(sh.affinity)})
	apart(t, pad.Line, end, lock, at{"due", unsafe.Offsetof(sh.due)}, at{"withLane", unsafe.Offsetof(sh.withLane)})
}

func TestRingLayout(t *testing.T) {
	var r ring[int]
	tail, head := at{"tail", unsafe.Offsetof(r.tail)}, at{"head", unsafe.Offsetof(r.head)}
	apart(t, pad.Line, tail, head, at{"slots", unsafe.Offsetof(r.slots)})
	apart(t, pad.Line, head, at{"seen", unsafe.Offsetof(r.seen)}, at{"the end", unsafe.Sizeof(r)})
}

// Producers write a tenant's first line; what the holder of the lock writes at each delivery is
// behind it. The runtime's size classes keep it at multiples of its size, if that is one of
// them: so lines are lines.
func TestTenantLayout(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) < 8 {
		t.Skip("no padding on 32 bits")
	}
	var x tenant[string, any]
	if off := unsafe.Offsetof(x.owed); off != tenantLine {
		t.Errorf("what the holder writes at each delivery begins at %d, want %d", off, tenantLine)
	}
	const slots = 24 // of the line of tasks, the first that comes after the key
	if end := unsafe.Offsetof(x.Key) + unsafe.Sizeof(x.Key) + slots; end > 3*tenantLine {
		t.Errorf("what each task touches ends at %d, want at most %d", end, 3*tenantLine)
	}
	if size := unsafe.Sizeof(x); size != 4*tenantLine {
		t.Errorf("a tenant takes %d bytes, want %d", size, 4*tenantLine)
	}
}
