package schedtest

import (
	"testing"

	"github.com/firq-go/firq"
)

// Newest first: always, or while the tenant is overloaded.
var newestChecks = []check{
	{name: "LIFO delivers the newest first", run: golden(config{Order: firq.LIFO}, "a*4 | a4 a3 a+5 | a5 a2 a1")},
	{name: "LIFO within each priority", run: newestPriority},
	{name: "LIFO keeps the tenant's share", run: golden(config{Order: firq.LIFO, Quantum: 2},
		"a*4 b*3 | a4 a3 b3 b2 a2 a1 b1")},
	{name: "AdaptiveLIFO is FIFO up to HighWater", run: golden(config{Order: firq.AdaptiveLIFO, LowWater: 2, HighWater: 4},
		"a*4 | a1 a2 a3 a4")},
	{name: "AdaptiveLIFO turns at HighWater and back at LowWater", run: newestHysteresis},
	{name: "AdaptiveLIFO looks at each tenant's own length", run: golden(config{Order: firq.AdaptiveLIFO, LowWater: 2, HighWater: 4},
		"a*3 b*6 c*3 | a1 b6 c1 a2 b5 c2 a3 b4 c3 b3 b2 b1")},
	{name: "AdaptiveLIFO has defaults", run: newestDefaults},
}

func newestPriority(t *testing.T, newSched maker) {
	for _, cfg := range []config{{Shards: 1}, across(config{})} {
		cfg.Order = firq.LIFO
		s := open(t, newSched, cfg)
		loadPriorities(t, s, "a", 2, 5, 2, 5, 2)
		same(t, "highest first, newest first", drain(t, s), "a4 a2 a5 a3 a1")
	}
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

func newestDefaults(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Order: firq.AdaptiveLIFO})
	load(t, s, "a", firq.DefaultHighWater)
	same(t, "80 tasks", next(t, s, 1), "a1")
	load(t, s, "b", firq.DefaultHighWater+1)
	same(t, "81 tasks", next(t, s, 2), "b81 a2")
}
