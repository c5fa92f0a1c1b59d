package contest

import (
	"runtime"

	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

// cores returns the schedulers of this module.
func cores() []Contestant {
	return []Contestant{
		{Name: Lockfree, About: "the low-contention core", New: func(cfg Config) (Queue, error) { return lockfree.New(cfg) }},
		{Name: OneLock, About: "deficit round robin behind one mutex: the reference", New: func(cfg Config) (Queue, error) {
			cfg.Shards = 1
			return baseline.New(cfg)
		}},
		{Name: Sharded, About: "the same, with one mutex per shard", New: func(cfg Config) (Queue, error) {
			if cfg.Shards == 0 {
				cfg.Shards = max(2, runtime.GOMAXPROCS(0))
			}
			return baseline.New(cfg)
		}},
	}
}
