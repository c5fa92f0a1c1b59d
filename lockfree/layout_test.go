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
	apart(t, pad.Line, life, at{"firstTicket", unsafe.Offsetof(s.firstTicket)}, at{"tenants", unsafe.Offsetof(s.tenants)})
	apart(t, pad.Line, known, life, deadlines, end)
	apart(t, pad.Line, deadlines, end)
}

// Producers write the activation ring's tail, consumers the lease and what it
// guards.
func TestShardLayout(t *testing.T) {
	var sh shard[string, any]
	lease := at{"lease", unsafe.Offsetof(sh.lease)}
	ringEnd := at{"the activations' end", unsafe.Offsetof(sh.activations) + unsafe.Sizeof(sh.activations)}
	end := at{"the end", unsafe.Sizeof(sh)}
	apart(t, pad.Line, lease, at{"the activations", unsafe.Offsetof(sh.activations)}, ringEnd)
	apart(t, pad.Line, at{"affinity", unsafe.Offsetof(sh.affinity)}, lease, ringEnd)
	apart(t, pad.Line, end, lease, at{"due", unsafe.Offsetof(sh.due)}, at{"freed", unsafe.Offsetof(sh.freed)})
}

// Producers write a tenant's first line; the lease holder writes all the rest.
// The runtime's size classes keep it at multiples of its size, if that is one of
// them: so lines are lines.
func TestTenantLayout(t *testing.T) {
	var x tenant[string, any]
	for _, f := range []at{
		{"word", unsafe.Offsetof(x.word)},
		{"inbox", unsafe.Offsetof(x.inbox) + unsafe.Sizeof(x.inbox) - 1},
		{"quantum", unsafe.Offsetof(x.quantum)},
		{"boxDue", unsafe.Offsetof(x.boxDue)},
		{"shard", unsafe.Offsetof(x.shard)},
		{"direct", unsafe.Offsetof(x.direct)},
		{"wants", unsafe.Offsetof(x.wants)},
	} {
		if f.off >= tenantLine {
			t.Errorf("%s is at %d, behind the first line", f.name, f.off)
		}
	}
	if unsafe.Sizeof(uintptr(0)) < 8 {
		t.Skip("no padding on 32 bits")
	}
	if off := unsafe.Offsetof(x.taker); off != tenantLine {
		t.Errorf("what belongs to the lease begins at %d, want %d", off, tenantLine)
	}
	const slots = 24 // of the line of tasks, the first that comes after the key
	if end := unsafe.Offsetof(x.Key) + unsafe.Sizeof(x.Key) + slots; end > 3*tenantLine {
		t.Errorf("what each task touches ends at %d, want at most %d", end, 3*tenantLine)
	}
	if size := unsafe.Sizeof(x); size <= 3*tenantLine || size > 4*tenantLine {
		t.Errorf("a tenant takes %d bytes, want those of the size class of %d", size, 4*tenantLine)
	}
}
