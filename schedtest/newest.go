package schedtest

import (
	"testing"

	"github.com/firq-go/firq"
)

// Newest first: always, or while the tenant is overloaded.
var newestChecks = []check{
	{name: "LIFO delivers the newest first", run: newestLIFO},
	{name: "LIFO within each priority", run: newestPriority},
	{name: "LIFO keeps the tenant's share", run: newestShare},
	{name: "AdaptiveLIFO is FIFO up to HighWater", run: newestAdaptiveFIFO},
	{name: "AdaptiveLIFO turns at HighWater and back at LowWater", run: newestHysteresis},
	{name: "AdaptiveLIFO looks at each tenant's own length", run: newestOwnLength},
	{name: "AdaptiveLIFO has defaults", run: newestDefaults},
}

func newestLIFO(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Order: firq.LIFO})
	load(t, s, "a", 4)
	same(t, "two of four", next(t, s, 2), "a4 a3")
	admit(t, s, "a", task{Payload: 5})
	same(t, "the rest", drain(t, s), "a5 a2 a1")
}

func newestPriority(t *testing.T, newSched maker) {
	for _, cfg := range []config{{Shards: 1}, across(config{})} {
		cfg.Order = firq.LIFO
		s := open(t, newSched, cfg)
		loadPriorities(t, s, "a", 2, 5, 2, 5, 2)
		same(t, "highest first, newest first", drain(t, s), "a4 a2 a5 a3 a1")
	}
}

func newestShare(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Order: firq.LIFO, Quantum: 2})
	load(t, s, "a", 4)
	load(t, s, "b", 3)
	same(t, "turns", drain(t, s), "a4 a3 b3 b2 a2 a1 b1")
}

func newestAdaptiveFIFO(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Order: firq.AdaptiveLIFO, LowWater: 2, HighWater: 4})
	load(t, s, "a", 4)
	same(t, "not above HighWater", drain(t, s), "a1 a2 a3 a4")
}

func newestHysteresis(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Order: firq.AdaptiveLIFO, LowWater: 2, HighWater: 4})
	load(t, s, "a", 5)
	same(t, "above HighWater", next(t, s, 2), "a5 a4")
	admit(t, s, "a", task{Payload: 6}) // 1 2 3 6: not below LowWater yet
	same(t, "until below LowWater", next(t, s, 3), "a6 a3 a2")
	load(t, s, "b", 1)
	for i := 7; i <= 9; i++ { // 1 7 8 9: not above HighWater again
		admit(t, s, "a", task{Payload: i})
	}
	same(t, "oldest first again", drain(t, s), "b1 a1 a7 a8 a9")

	load(t, s, "a", 6)
	same(t, "and once more", drain(t, s), "a6 a5 a4 a3 a2 a1")
}

func newestOwnLength(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Order: firq.AdaptiveLIFO, LowWater: 2, HighWater: 4})
	load(t, s, "a", 3)
	load(t, s, "b", 6)
	load(t, s, "c", 3)
	same(t, "only b is overloaded", drain(t, s), "a1 b6 c1 a2 b5 c2 a3 b4 c3 b3 b2 b1")
}

func newestDefaults(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Order: firq.AdaptiveLIFO})
	load(t, s, "a", firq.DefaultHighWater)
	same(t, "80 tasks", next(t, s, 1), "a1")
	load(t, s, "b", firq.DefaultHighWater+1)
	same(t, "81 tasks", next(t, s, 2), "b81 a2")
}
