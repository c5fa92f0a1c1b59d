package peers

import (
	"context"
	"hash/maphash"
	"sync"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
)

// kubernetes drives the fair queueing set of the Kubernetes API server (API
// priority and fairness). It schedules requests, each with a goroutine that waits
// for its turn and then runs in it: there is nothing to dequeue. A task here is
// such a request. The producer calls StartRequest, which queues or refuses it, and
// a new goroutine calls Finish, which waits and then runs the driver's handler; as
// many run at the same time as there are consumers (the concurrency limit).
//
// Configuration, for throughput: no metrics registered, gauges that do nothing, no
// logging; the background context, which spares a request the wait for its end. For
// fairness: a queue for each tenant, a hand of 1, and each tenant's hash is the
// number of its queue, so that no two share one. (kubernetes64 has 64 queues and a
// hand of 8 instead, near the API server's defaults: the cost of a dispatch grows
// with the number of queues, and with 64 of them tenants share queues.) It shares
// out time in seats, not tasks: a request that takes longer counts for more, and
// a request that was late on the processor is charged for it.
type kubernetes struct {
	pushed
	waits
	queues, hand int // 0: as many as tenants
	perQueue     int
	width        request.WorkEstimate
	number       map[string]uint64 // of the tenants; immutable after Prime
	seed         maphash.Seed
	set          fq.QueueSet
	err          error // of Serve
	handle       func(*contest.Item)
	running      sync.WaitGroup
	clock        steadyClock
	dispatched   func(payload uint64) // gap: told of each dispatch, under the set's lock
}

func newKubernetes(cfg contest.Config) (contest.Queue, error) { return newQueueSet(cfg, 0, 1) }

func newKubernetes64(cfg contest.Config) (contest.Queue, error) { return newQueueSet(cfg, 64, 8) }

func newQueueSet(cfg contest.Config, queues, hand int) (contest.Queue, error) {
	cfg, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	return &kubernetes{
		waits: newWaits(), queues: queues, hand: hand, perQueue: cfg.MaxPerTenant,
		width: request.WorkEstimate{InitialSeats: 1}, seed: maphash.MakeSeed(),
	}, nil
}

// Prime numbers the tenants.
func (k *kubernetes) Prime(_ context.Context, tenants []string) error {
	k.number = make(map[string]uint64, len(tenants))
	for i, tenant := range tenants {
		k.number[tenant] = uint64(i)
		if k.queues > 0 { // as a hash would have it
			k.number[tenant] = maphash.String(k.seed, tenant)
		}
	}
	return nil
}

func (k *kubernetes) Serve(workers int, handle func(*contest.Item)) {
	k.handle = handle
	if k.queues == 0 {
		k.queues = max(1, len(k.number))
	}
	var completer fq.QueueSetCompleter
	completer, k.err = queueset.NewQueueSetFactory(&k.clock).BeginConstruction(fq.QueuingConfig{
		Name: "firq", DesiredNumQueues: k.queues, QueueLengthLimit: k.perQueue, HandSize: min(k.hand, k.queues),
	}, metrics.RatioedGaugePair{RequestsWaiting: noGauge{}, RequestsExecuting: noGauge{}}, noGauge{}, noGauge{})
	if k.err == nil {
		k.set = completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: workers, ConcurrencyDenominator: workers})
	}
}

func (k *kubernetes) Enqueue(tenant string, t contest.Task) error {
	if k.err != nil {
		return k.err
	}
	hash, ok := k.number[tenant]
	if !ok {
		hash = maphash.String(k.seed, tenant)
	}
	j := newJob(tenant, &t)
	req, _ := k.set.StartRequest(context.Background(), &k.width, hash, tenant, "firq", nil, nil, k.note(j.payload))
	if req == nil {
		return firq.ErrTenantFull
	}
	k.running.Go(func() {
		req.Finish(func() {
			it := k.deliver(&j)
			k.handle(&it)
		})
	})
	return nil
}

// note returns what the set calls when a request enters its queue and leaves it.
func (k *kubernetes) note(payload uint64) fq.QueueNoteFn {
	if k.dispatched == nil {
		return nil
	}
	return func(inQueue bool) {
		if !inQueue {
			k.dispatched(payload)
		}
	}
}

// Exact implements Dispatcher.
func (k *kubernetes) Exact(dispatched func(payload uint64)) {
	k.dispatched = dispatched
	k.clock.stop()
}

// EnqueueWait cannot wait for room: no call returns when a queue has some.
func (k *kubernetes) EnqueueWait(_ context.Context, tenant string, t contest.Task) error {
	return k.Enqueue(tenant, t)
}

func (k *kubernetes) EnqueueBatch(tenant string, ts []contest.Task) (int, error) {
	return enqueueBatch(k, tenant, ts)
}

func (k *kubernetes) Shutdown(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		k.running.Wait()
		close(done)
	}()
	return await(ctx, done)
}

// Close has nothing to stop: the set has no goroutine.
func (k *kubernetes) Close() error { return nil }

// noGauge is a metric that is not looked at.
type noGauge struct{}

func (noGauge) Set(float64)            {}
func (noGauge) Inc()                   {}
func (noGauge) Dec()                   {}
func (noGauge) Add(float64)            {}
func (noGauge) SetToCurrentTime()      {}
func (noGauge) SetDenominator(float64) {}
