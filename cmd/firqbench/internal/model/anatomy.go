package model

import "github.com/firq-go/firq/cmd/firqbench/internal/contest"

// Anatomy is how a contestant does its work: read off its code, not fitted. Shares are
// parts of the local work of a task, both calls and the load generator; together they are 1.
type Anatomy struct {
	Name string

	PutOut, PutIn   float64 // shares of enqueue and what leads to it, before and under the lock
	TakeIn, TakeOut float64 // shares of dequeue, under the lock, and of what comes after it

	// Lines that a call under the lock touches if another processor was there before, less
	// that of the lock.
	QueueLines  float64 // of the queue
	TenantLines float64 // of the tenant
	SlotLines   float64 // of the task itself

	Counted  bool // there is one count of all tasks
	Sharded  bool // as many shards as processors
	Spinning bool // its lock is one of the runtime
	Lockfree bool
}

// anatomies are of the contestants that the model knows.
var anatomies = []Anatomy{
	{Name: contest.Lockfree, PutOut: 0.43, TakeIn: 0.42, TakeOut: 0.15, QueueLines: 14, TenantLines: 3, Sharded: true, Lockfree: true},
	{Name: contest.OneLock, PutOut: 0.25, PutIn: 0.35, TakeIn: 0.27, TakeOut: 0.13, QueueLines: 10, TenantLines: 6, SlotLines: 1, Counted: true},
	{Name: contest.Sharded, PutOut: 0.25, PutIn: 0.35, TakeIn: 0.27, TakeOut: 0.13, QueueLines: 10, TenantLines: 6, SlotLines: 1, Counted: true, Sharded: true},
	{Name: contest.Simple, PutOut: 0.42, PutIn: 0.15, TakeIn: 0.20, TakeOut: 0.23, QueueLines: 1, TenantLines: 1, SlotLines: 1},
	{Name: contest.Channel, PutOut: 0.30, PutIn: 0.15, TakeIn: 0.20, TakeOut: 0.35, QueueLines: 1, SlotLines: 2, Spinning: true},
}

// anatomyOf returns that of a contestant, and whether the model knows it.
func anatomyOf(name string) (Anatomy, bool) {
	for _, a := range anatomies {
		if a.Name == name {
			return a, true
		}
	}
	return Anatomy{}, false
}

// shards returns how many a contestant has.
func (a *Anatomy) shards(l Load) int {
	switch {
	case !a.Sharded:
		return 1
	case l.Shards > 0:
		return powerOfTwo(l.Shards)
	case a.Lockfree:
		return powerOfTwo(l.Processors)
	}
	return powerOfTwo(max(2, l.Processors))
}

func (a *Anatomy) queue(d *driver) queue {
	if a.Lockfree {
		return newLockfree(d)
	}
	return newLocked(d)
}
