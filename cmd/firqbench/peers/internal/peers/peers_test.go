package peers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// The packages of the peers have their own goroutines that begin with the
// process, and ants and Temporal some that end a while after their pool.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

func names(n int) (tenants []string) {
	for i := range n {
		tenants = append(tenants, fmt.Sprintf("tenant-%06d", i))
	}
	return tenants
}

// begin makes a peer that knows the tenants. deliver gets each item; what is
// returned takes everything that is left, and ends the peer.
func begin(t *testing.T, p Peer, cfg contest.Config, tenants []string, consumers int, deliver func(contest.Item)) (contest.Queue, func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	q, err := p.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if primer, ok := q.(contest.Primer); ok {
		if err := primer.Prime(ctx, tenants); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	if runner, ok := q.(contest.Runner); ok {
		runner.Serve(consumers, func(it *contest.Item) { deliver(*it) })
	} else {
		for range consumers {
			all.Go(func() {
				for {
					it, err := q.Dequeue(ctx)
					if err != nil {
						if !errors.Is(err, firq.ErrClosed) {
							t.Errorf("Dequeue: %v", err)
						}
						return
					}
					deliver(it)
				}
			})
		}
	}
	return q, func() {
		defer cancel()
		if err := q.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		all.Wait()
		if err := q.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// Everything that goes in comes out once, with its tenant.
func TestExactlyOnce(t *testing.T) {
	const producers, each = 3, 500
	tenants := names(7)
	for _, p := range All() {
		t.Run(p.Name, func(t *testing.T) {
			var mu sync.Mutex
			got := make(map[uint64]int)
			q, end := begin(t, p, contest.Config{}, tenants, 4, func(it contest.Item) {
				mu.Lock()
				defer mu.Unlock()
				got[it.Payload]++
				if want := tenants[it.Payload%7]; it.Tenant != want || it.Wait < 0 || it.Cost != 1 {
					t.Errorf("payload %d: %+v, want tenant %s", it.Payload, it, want)
				}
			})
			var sending sync.WaitGroup
			for i := range uint64(producers) {
				sending.Go(func() {
					for n := range uint64(each) {
						payload := i*each + n
						task := contest.Task{Payload: payload}
						err := q.Enqueue(tenants[payload%7], task)
						if errors.Is(err, firq.ErrRejected) {
							err = q.EnqueueWait(t.Context(), tenants[payload%7], task)
						}
						if err != nil {
							t.Errorf("payload %d: %v", payload, err)
						}
					}
				})
			}
			sending.Wait()
			end()
			for payload := range uint64(producers * each) {
				if got[payload] != 1 {
					t.Fatalf("payload %d came %d times", payload, got[payload])
				}
			}
			if len(got) != producers*each {
				t.Errorf("%d different payloads, want %d", len(got), producers*each)
			}
		})
	}
}

// Every peer passes through the driver that measures it, which counts tasks and
// sums payloads up.
func TestDriven(t *testing.T) {
	for _, p := range All() {
		t.Run(p.Name, func(t *testing.T) {
			s := scenario.Scenario{Name: "short", Shape: scenario.Flow, Producers: 2, Consumers: 3, Tenants: 16, Batch: 1, Window: 256}
			for measure := 5 * time.Millisecond; ; measure *= 2 {
				r, err := load.Run(t.Context(), load.Spec{Scenario: s, Contestant: p.Contestant, Measure: measure, Probe: -1})
				if err != nil {
					t.Fatal(err)
				}
				if r.Delivered == 0 { // on a busy machine
					continue
				}
				if r.Queue.Samples != r.Delivered || r.TasksPerSec <= 0 {
					t.Errorf("%+v", r)
				}
				return
			}
		})
	}
}

// Prime leaves a channel for each tenant, and nothing queued.
func TestTemporalPrime(t *testing.T) {
	for _, n := range []int{1, 7, 300} {
		q, err := newTemporalPull(contest.Config{})
		if err != nil {
			t.Fatal(err)
		}
		p := q.(*temporalPull)
		if err := p.Prime(t.Context(), names(n)); err != nil {
			t.Fatal(err)
		}
		slices.Sort(p.channels)
		if !slices.Equal(p.channels, names(n)) {
			t.Errorf("%d tenants: %d channels: %v", n, len(p.channels), p.channels)
		}
		if it, ok := p.TryDequeue(); ok {
			t.Errorf("%d tenants: left: %+v", n, it)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Where a peer has a limit, its Enqueue says so and does not block.
func TestFull(t *testing.T) {
	const tasksOfTenant = 1000 // of Temporal
	for _, c := range []struct {
		name             string
		limit, consumers int
	}{
		{Temporal, tasksOfTenant + temporalQueue + 1, 0}, // and one in the round robin's hand
		{Kubernetes, 50 + 1, 1},                          // one runs
	} {
		t.Run(c.name, func(t *testing.T) {
			chosen, err := Select([]string{c.name})
			if err != nil {
				t.Fatal(err)
			}
			gate := make(chan struct{})
			q, end := begin(t, chosen[0], contest.Config{MaxPerTenant: 50}, names(1), c.consumers, func(contest.Item) { <-gate })
			accepted := 0
			full := make(chan struct{})
			go func() {
				defer close(full)
				for ; accepted < 5000; accepted++ {
					if err := q.Enqueue(names(1)[0], contest.Task{}); err != nil {
						if !errors.Is(err, firq.ErrTenantFull) {
							t.Error(err)
						}
						return
					}
				}
			}()
			const patience = 10 * time.Second
			select {
			case <-full:
			case <-time.After(patience):
				t.Fatalf("Enqueue neither accepts nor refuses for %v", patience)
			}
			// A consumer that waits behind may or may not have taken one yet.
			if accepted < c.limit-2 || accepted > c.limit {
				t.Errorf("%d tasks accepted, want about %d", accepted, c.limit)
			}
			close(gate)
			if p, ok := q.(*temporalPull); ok {
				for range accepted {
					if _, err := p.Dequeue(t.Context()); err != nil {
						t.Error(err)
					}
				}
				go func() { // the control tasks of Shutdown
					for {
						if _, err := p.Dequeue(context.Background()); err != nil {
							return
						}
					}
				}()
			}
			end()
		})
	}
}

func TestSelect(t *testing.T) {
	all, err := Select(nil)
	if err != nil || slices.ContainsFunc(all, func(p Peer) bool { return p.OnlyNamed }) || len(all) != len(All())-1 {
		t.Errorf("%d peers, %v", len(all), err)
	}
	some, err := Select([]string{Ants, contest.Lockfree})
	if err != nil || len(some) != 2 || some[0].Name != contest.Lockfree || some[1].Name != Ants {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := Select([]string{"lokfree"}); err == nil {
		t.Error("an unknown name is no error")
	}
}
