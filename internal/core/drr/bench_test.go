package drr

import (
	"fmt"
	"testing"

	"github.com/firq-go/firq"
)

// BenchmarkQueue: one Next and one Push with four tasks per tenant queued.
func BenchmarkQueue(b *testing.B) {
	for _, kind := range []string{"plain", "priorities", "aging", "across", "deadlines", "costs"} {
		for _, n := range []int{1, 64, 10_000} {
			b.Run(fmt.Sprintf("kind=%s/tenants=%d", kind, n), func(b *testing.B) { benchQueue(b, kind, n) })
		}
	}
}

func benchQueue(b *testing.B, kind string, n int) {
	cfg := Config{Across: kind == "across"}
	if kind == "aging" {
		cfg.Aging = 1 << 20
	}
	q, tenants := makeTenants(cfg, n, 2)
	random := uint64(1)
	push := func(tenant *Tenant[int, int], now int64) {
		task := plainTask(0, 1)
		task.Enqueued = now
		random = random*6364136223846793005 + 1442695040888963407
		switch kind {
		case "priorities", "aging", "across":
			task.Priority = firq.Priority(1 + random>>40%6)
		case "deadlines": // up to a second ahead, a nanosecond passes per task
			task.Due = now + 1<<20 + int64(random>>34)
		case "costs":
			task.Cost = 1 + int64(random>>40%4)
		}
		push(q, tenant, task)
	}
	for i := range 4 * n {
		push(tenants[i%n], 0)
	}
	b.ReportAllocs()
	now := int64(0)
	for b.Loop() {
		now++
		tenant, _, verdict := q.Next(now)
		for verdict == Again {
			tenant, _, verdict = q.Next(now)
		}
		push(tenant, now)
	}
}

// BenchmarkDues: a task with a deadline comes in, one that has expired goes out,
// 10,000 are held.
func BenchmarkDues(b *testing.B) {
	const held = 10_000
	var d dues[int, int]
	entries := make([]entry[int, int], held)
	for i := range entries {
		entries[i].due = int64(i)
		d.insert(&entries[i])
	}
	now := int64(0)
	for b.Loop() {
		now++
		budget := held
		e, _ := d.expired(now, &budget)
		d.remove(e)
		e.due = now + held - 1
		d.insert(e)
	}
}
