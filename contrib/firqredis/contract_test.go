package firqredis

import (
	"testing"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/queue/queuetest"
)

// contract opens queues for queuetest.
func contract(s *server, partitions int) queuetest.Open {
	return func(tb testing.TB, c queue.Config[string]) *queue.Queue[string] {
		return open(tb, s, Config[string]{
			Partitions: partitions, Name: c.Name, Codec: c.Codec, Lease: c.Lease, MaxAttempts: c.MaxAttempts, Backoff: c.Backoff,
			MaxQueued: c.MaxQueued, MaxQueuedPerTenant: c.MaxQueuedPerTenant, MaxInFlight: c.MaxInFlight,
			MaxInFlightPerTenant: c.MaxInFlightPerTenant, WeightFor: c.WeightFor, PriorityAging: c.PriorityAging, MaxPayload: c.MaxPayload,
			DeadLetters: c.DeadLetters, TenantIdle: c.TenantIdle, Linger: c.Linger, RatePerTenant: c.RatePerTenant,
		})
	}
}

// The contract of all engines holds.
func TestContract(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		queuetest.Run(t, contract(s, 1), queuetest.Options{AnyBytes: true})
	})
}

// one runs a test of the contract alone, on the embedded server; short, on Redis, if there is Redis (see onEmbedded).
func one(t *testing.T) {
	t.Parallel()
	s := redisServer
	if !testing.Short() || s.err != nil {
		s = embeddedServer(t)
	}
	queuetest.Run(t, contract(s, 1), queuetest.Options{AnyBytes: true, Only: []string{t.Name()[len("Test"):]}})
}

// Those that hazards, planted faults and documents name.
func TestAckRacesLease(t *testing.T)              { one(t) }
func TestCancel(t *testing.T)                     { one(t) }
func TestComingAndGoingGainsNothing(t *testing.T) { one(t) }
func TestFencing(t *testing.T)                    { one(t) }
func TestGet(t *testing.T)                        { one(t) }
func TestIdleSavesNothing(t *testing.T)           { one(t) }
func TestLastLease(t *testing.T)                  { one(t) }
func TestList(t *testing.T)                       { one(t) }
func TestManyAcks(t *testing.T)                   { one(t) }
func TestNackCharges(t *testing.T)                { one(t) }
func TestNoPrefetch(t *testing.T)                 { one(t) }
func TestOldestIsLow(t *testing.T)                { one(t) }
func TestQueueTimesOfDelayed(t *testing.T)        { one(t) }
func TestRateBound(t *testing.T)                  { one(t) }
func TestRateChanged(t *testing.T)                { one(t) }
func TestRateCorrected(t *testing.T)              { one(t) }
func TestRateDebt(t *testing.T)                   { one(t) }
func TestRateHead(t *testing.T)                   { one(t) }
func TestRateIdle(t *testing.T)                   { one(t) }
func TestRateOrder(t *testing.T)                  { one(t) }
func TestRateWakes(t *testing.T)                  { one(t) }
func TestResults(t *testing.T)                    { one(t) }
func TestResultsEnd(t *testing.T)                 { one(t) }
func TestRetention(t *testing.T)                  { one(t) }
func TestRunOutcomes(t *testing.T)                { one(t) }
func TestSameID(t *testing.T)                     { one(t) }
func TestTies(t *testing.T)                       { one(t) }
func TestTTL(t *testing.T)                        { one(t) }
