package schedtest

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Cancelled tasks do not pile up in memory.
var cancelMemoryChecks = []check{
	{name: "endless loop without a consumer", run: sharded(cancelEndless), alone: true},
	{name: "endless loop over one-shot tenants", run: cancelOneShot, alone: true},
}

// heap returns the bytes that are alive.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// bounded fails if more than most bytes are alive after run beyond those before it.
func bounded(t *testing.T, most int64, run func()) {
	t.Helper()
	before := heap()
	run()
	if grown := heap() - before; grown > most {
		t.Errorf("%d bytes more are alive than before, want at most %d", grown, most)
	}
}

func cancelEndless(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxGlobal: 100})
	load(t, s, "a", 1)
	var tk firq.Ticket
	bounded(t, 1<<20, func() {
		for i := range reps(100_000) {
			admit(t, s, "a", task{Payload: i, Ticket: &tk})
			mustCancel(t, &tk)
		}
	})
	length(t, s, 1)
}

func cancelOneShot(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 100, TenantIdle: time.Millisecond})
	var tk firq.Ticket
	bounded(t, 4<<20, func() {
		for i := range reps(100_000) {
			admit(t, s, fmt.Sprint("one-shot-", i), task{Payload: i, Ticket: &tk})
			mustCancel(t, &tk)
		}
		forgotten(t, s)
	})
}
