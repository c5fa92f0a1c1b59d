package firqredis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// hazards is what goes wrong in queues on Redis, and which tests find it. Faults that these tests are known to find are planted
// by internal/proof/mutate, in mutants/firqredis.txt.
var hazards = []struct {
	what  string
	tests []string
}{
	{"1: ack and expiry of the lease both win", []string{"TestAckRacesLease"}},
	{"2: the old worker acks the new one's delivery", []string{"TestFencing"}},
	{"3: tokens repeat after a failover", []string{"TestTokensAfterLoss"}},
	{"4: NOSCRIPT after a failover or SCRIPT FLUSH", []string{"TestNoScript", "TestFailover"}},
	{"5: an Enqueue that is repeated is queued twice", []string{"TestSameID", "TestCutReplies"}},
	{"6: numbers lose digits in Lua", []string{"TestDigits"}},
	{"7: the clock goes back", []string{"TestClockGoesBack"}},
	{"8: an idle tenant bursts", []string{"TestIdleSavesNothing", "TestIdlePartition"}},
	{"9: coming and going gains", []string{"TestComingAndGoingGainsNothing"}},
	{"10: counts drift", []string{"TestBooks"}}, // and books at the end of each test
	{"11: empty tenants leak", []string{"TestTenantsAreForgotten", "TestBooks"}},
	{"12: a poison task kills worker after worker", []string{"TestLastLease", "TestWorkersKilled"}},
	{"13: mass expiry blocks the server", []string{"TestMassExpiry"}},
	{"14: a script runs for seconds", []string{"TestEnqueueBatch"}},
	{"15: unpack of more than 7,999 values", []string{"TestManyAcks", "TestFromHostile"}},
	{"16: a consumer dies with the wake-up", []string{"TestWakeUpLost"}},
	{"17: a wake-up that its consumer cannot use, or that is not left", []string{"TestWakeUpOfOthers", "TestInFlightLimits", "TestWakeUpIsLeft"}},
	{"18: one task wakes all", []string{"TestNoHerd"}},
	{"19: blocked connections pile up", []string{"TestConnections"}},
	{"20: leases of prefetched tasks run out", []string{"TestNoPrefetch"}},
	{"21: heartbeats of a stuck handler", []string{"TestStuckHandler"}},
	{"22: a retry loses its place", []string{"TestRetryKeepsItsPlace"}},
	{"23: a storm of retries", []string{"TestRetryStorm"}},
	{"24: CROSSSLOT", []string{"TestBadTasks", "TestBooks"}}, // and all other tests on a cluster
	{"25: a slot migrates", []string{"TestSlotMigrates"}},
	{"26: big payloads", []string{"TestBadTasks"}},
	{"27: eviction", []string{"TestEviction"}},
	{"28: the server is out of memory", []string{"TestOutOfMemory"}},
	{"29: one hot tenant", []string{"TestHotTenant", "TestNoisyNeighbour"}},
	{"30: virtual time loses units", []string{"TestBound", "TestMonstrousCost"}},
	{"31: ties favour a name", []string{"TestTies", "TestBound"}},
	{"32: round robin between partitions", []string{"TestFairAcrossPartitions"}},
	{"33: a schedule fires twice, or never", []string{"TestSchedulesFireOnce", "TestFireComparesTheDueTime"}},
	{"34: daylight saving", []string{"TestDaylightSaving", "TestEveryDayOnce"}},
	{"35: a changed schedule fires at the old time", []string{"TestPutAgain"}},
	{"36: marks of the cancelled leak", []string{"TestCancel"}}, // and books
	{"37: the client repeats a call", []string{"TestNoRepetition", "TestCutReplies"}},
	{"38: dead letters without end", []string{"TestRetention", "TestRetentionFor"}},
	{"39: old and new scripts on one queue", []string{"TestNewRefuses"}},
	{"40: statistics from a replica", []string{"TestNotFromReplicas"}},
	{"41: only ever tested on a fake", []string{"TestHazards"}},
}

// Each hazard has tests that exist, and there are servers to run them on.
func TestHazards(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for prefix, pattern := range map[string]string{"": "*_test.go"} {
		files, err := filepath.Glob(pattern)
		ok(t, err)
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			ok(t, err)
			for _, d := range file.Decls {
				if f, is := d.(*ast.FuncDecl); is && f.Recv == nil {
					there[prefix+f.Name.Name] = true
				}
			}
		}
	}
	same(t, "hazards", len(hazards), 41)
	for _, h := range hazards {
		if len(h.tests) == 0 {
			t.Errorf("%s: no test", h.what)
		}
		for _, name := range h.tests {
			if !there[name] {
				t.Errorf("%s: there is no %s", h.what, name)
			}
		}
	}
	for _, s := range []*server{redisServer, valkeyServer, clusterServer} {
		t.Run(s.name, func(t *testing.T) { s.need(t) })
	}
}
