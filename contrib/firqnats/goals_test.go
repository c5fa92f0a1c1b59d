//go:build unix

package firqnats

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
)

// TestGoals prints what the cluster's goals say of times and of memory, for a machine that has nothing else to do:
//
//	FIRQNATS_GOALS=7 go test -count=1 -run TestGoals -v ./contrib/firqnats
//
// The number is that of the rounds. BenchmarkRef, and cmd/firqbench/peers/cluster measure the others.
func TestGoals(t *testing.T) {
	var rounds int
	if _, err := fmt.Sscan(os.Getenv("FIRQNATS_GOALS"), &rounds); err != nil || rounds < 1 {
		t.Skip("FIRQNATS_GOALS is no number of rounds")
	}
	t.Run("dies", func(t *testing.T) { goalDies(t, rounds, syscall.SIGKILL) })
	t.Run("stops", func(t *testing.T) { goalDies(t, rounds, syscall.SIGSTOP) })
	t.Run("leaves", func(t *testing.T) { goalLeaves(t, rounds) })
	t.Run("away", func(t *testing.T) { goalAway(t, rounds) })
	t.Run("flood", goalFlood)
	t.Run("memory", goalMemory)
}

// goalLease of the nodes whose end is measured.
const goalLease = 1500 * time.Millisecond

// spread logs a figure's median, least and greatest of the rounds.
func spread(t *testing.T, what string, list []time.Duration) {
	t.Helper()
	slices.Sort(list)
	t.Logf("%s: median %v of %d, least %v, greatest %v", what, list[len(list)/2].Round(time.Microsecond), len(list),
		list[0].Round(time.Microsecond), list[len(list)-1].Round(time.Microsecond))
}

// goalCluster is a server and nodes in processes, and a client here.
type goalCluster struct {
	url   string
	child childNode
	nodes []*faultNode
	k     *Kind[*counter]
}

func newGoalCluster(t *testing.T, nodes int) *goalCluster {
	o := options(t)
	o.Client, o.Lease = true, goalLease
	c := &goalCluster{child: childNode{Cluster: o.Cluster, Lease: o.Lease, Timeout: o.Timeout}}
	s := startReal(t, t.TempDir())
	c.url = s.url
	c.k = must(counterKind(joinBy(t, must(nats.Connect(s.url, steady...))(t), o).Node, false))(t)
	for range nodes {
		c.add(t)
	}
	return c
}

// add starts a node, and waits until it is known.
func (c *goalCluster) add(t *testing.T) {
	c.child.Name = fmt.Sprint("node-", len(c.nodes))
	c.nodes = append(c.nodes, startNode(t, c.url, c.child))
	eventually(t, "the node is known", func() bool {
		return slices.ContainsFunc(c.k.n.candidates("counter"), func(x candidate) bool { return c.name(x.id) == c.child.Name })
	})
}

func (c *goalCluster) name(id string) string {
	for _, m := range c.k.n.Members() {
		if m.ID == id {
			return m.Name
		}
	}
	return ""
}

// goalDies: from a node's end until one of its actors answers again.
func goalDies(t *testing.T, rounds int, how syscall.Signal) {
	c := newGoalCluster(t, 2)
	var took []time.Duration
	for round := range rounds {
		victim, key := len(c.nodes)-2, ""
		for i := 0; key == ""; i++ { // one of its actors
			k := fmt.Sprint(round, "-", i)
			must(countUp.Call(bounded(t), c.k.Ref(k), actor.Nothing{}))(t)
			if c.name(must(c.k.n.Where(bounded(t), actor.Identity{Kind: "counter", Key: k}))(t)) == fmt.Sprint("node-", victim) {
				key = k
			}
		}
		began := time.Now()
		_ = c.nodes[victim].p.cmd.Process.Signal(how)
		for ctx := bounded(t); ; {
			if _, err := countUp.Call(ctx, c.k.Ref(key), actor.Nothing{}); err == nil {
				break
			} else if ctx.Err() != nil {
				t.Fatal(err)
			}
		}
		took = append(took, time.Since(began))
		c.nodes[victim].p.kill()
		c.add(t)
	}
	spread(t, fmt.Sprintf("%v to the next answer, lease %v", how, goalLease), took)
}

// goalLeaves: all nodes are replaced one by one under load.
func goalLeaves(t *testing.T, rounds int) {
	const callers, nodes = 16, 3
	c := newGoalCluster(t, nodes)
	var (
		wg     sync.WaitGroup
		stop   atomic.Bool
		failed atomic.Int64
		calls  atomic.Int64
		worst  [callers]time.Duration
	)
	for i := range callers {
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				began := time.Now()
				if _, err := countUp.Call(context.Background(), c.k.Ref(fmt.Sprint(i, "-", n%20)), actor.Nothing{}); err != nil {
					failed.Add(1)
					t.Error(err)
				}
				worst[i] = max(worst[i], time.Since(began))
				calls.Add(1)
			}
		})
	}
	var took []time.Duration
	for range rounds {
		clear(worst[:]) // what a caller writes in this moment counts for one of the rounds
		for range nodes {
			c.add(t)
			old := c.nodes[len(c.nodes)-1-nodes]
			_ = old.p.cmd.Process.Signal(syscall.SIGTERM)
			<-old.p.over
		}
		took = append(took, slices.Max(worst[:]))
	}
	stop.Store(true)
	wg.Wait()
	spread(t, fmt.Sprintf("slowest call while %d nodes are replaced; %d of %d calls failed", nodes, failed.Load(), calls.Load()), took)
}

// goalAway: from when the server is back until all actors have answered.
func goalAway(t *testing.T, rounds int) {
	o := options(t)
	o.Lease = goalLease
	s := startReal(t, t.TempDir())
	host := joinBy(t, must(nats.Connect(s.url, steady...))(t), o)
	kind(t, host)
	o.Client = true
	k := must(NewKind[*tally](joinBy(t, must(nats.Connect(s.url, steady...))(t), o).Node, "tally", nil, nil))(t)
	call := func() {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if _, err := keep.Call(bounded(t), k.Ref(fmt.Sprint(i)), 1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	call()
	var took []time.Duration
	for range rounds {
		s.p.kill()
		time.Sleep(2 * goalLease)
		s.start(t)
		began := time.Now()
		call()
		took = append(took, time.Since(began))
	}
	spread(t, fmt.Sprintf("the server is back after %v: 20 actors have answered; activated %d", 2*goalLease, host.Stats().Activated), took)
}

// goalFlood: 1,000 callers of one node flood an actor with messages of 0.5 ms.
func goalFlood(t *testing.T) {
	c := newGoalCluster(t, 1)
	ask := func(key string, d time.Duration) (list []time.Duration) {
		for range 100 {
			began := time.Now()
			must(work.Call(bounded(t), c.k.Ref(key), d))(t)
			list = append(list, time.Since(began))
		}
		return list
	}
	ask("neighbour", 0)
	spread(t, "a quiet neighbour", ask("neighbour", 0))
	c.child.Flood = 1000
	c.nodes = append(c.nodes, startNode(t, c.url, c.child))
	eventually(t, "the flood is there", func() bool { return ask("flooded", 0)[50] > 5*time.Millisecond })
	spread(t, fmt.Sprintf("another node's call to the flooded actor, Window %d x 0.5 ms = %v", DefaultWindow, DefaultWindow*time.Millisecond/2), ask("flooded", 0))
	spread(t, "its neighbour", ask("neighbour", 0))
}

// goalMemory: what an activation takes, the server's part included.
func goalMemory(t *testing.T) {
	const actors = 20_000
	o := options(t)
	o.Lease, o.Timeout = DefaultLease, time.Minute
	host := join(t, o)
	k := kind(t, host)
	ctx, end := context.WithTimeout(context.Background(), 2*time.Minute)
	defer end()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := heap()
	var wg sync.WaitGroup
	var next atomic.Int64
	began := time.Now()
	for range 64 {
		wg.Go(func() {
			for i := next.Add(1); i <= actors; i = next.Add(1) {
				if _, err := add.Call(ctx, k.Ref(fmt.Sprint(i)), 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	t.Logf("%d activations: %d bytes each, the server's index included; %.0f/s", actors, (heap()-before)/actors, actors/took.Seconds())
	began = time.Now()
	if err := host.Leave(ctx); err != nil {
		t.Error(err)
	}
	t.Logf("Leave with %d activations: %v", actors, time.Since(began))
}
