package baseline

import (
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// SetLimit sets how many tasks the tenant may have queued.
func (s *Scheduler[K, T]) SetLimit(k K, n int) {
	var sh *shard[K, T]
	s.env.SetLimit(k, n, func(limit int) (risen int) {
		sh = s.shardOf(k)
		sh.lock()
		s.env.NoteLimit(k, n)
		if t := sh.tenants[k]; t != nil {
			risen, t.limit = limit-t.limit, limit
		}
		return risen
	}, func() { sh.unlock() })
}

// SetMaxGlobal sets how many tasks may be queued. It takes the locks of all shards at a
// time, in the order of their indexes; no other call takes more than one.
func (s *Scheduler[K, T]) SetMaxGlobal(n int) {
	serve.CheckMaxGlobal(n)
	for _, sh := range s.shards {
		failpoint.Lock(&sh.mu, "lock")
	}
	risen := n - int(s.most.Swap(int64(n)))
	for _, sh := range s.shards {
		sh.mu.Unlock()
	}
	if risen > 0 {
		failpoint.At("max global risen")
		s.env.Waiters.GlobalRaised(risen)
	}
}
