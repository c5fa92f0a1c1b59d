//go:build unix

package firqnats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
)

// long is how long each fault test takes: FIRQNATS_FAULTS, a duration, or a moment.
func long(t testing.TB, moment time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("FIRQNATS_FAULTS")
	if text == "" {
		return moment
	}
	return must(time.ParseDuration(text))(t)
}

const (
	faultKeys    = 6
	faultCallers = 12
)

// world is three nodes, each a process, a server and callers that count.
type world struct {
	t       *testing.T
	ctx     context.Context // ends with the test
	spec    childNode
	servers []*realServer
	urls    string
	kind    *Kind[*counter]
	mu      sync.Mutex // guards nodes
	nodes   []*faultNode

	histories [faultKeys]history
	acked     atomic.Int64
	unknown   atomic.Int64
	refused   atomic.Int64
	last, gap atomic.Int64 // ns: of the last acknowledgement, the longest time without one
}

// history of one key.
type history struct {
	mu  sync.Mutex
	ops []porcupine.Operation // Output: counted; nil: unknown
}

func newWorld(t *testing.T, lease time.Duration, servers ...*realServer) *world {
	o := options(t)
	o.Client, o.Lease, o.Timeout, o.Replicas = true, lease, 5*time.Second, len(servers)
	w := &world{t: t, servers: servers, spec: childNode{Cluster: o.Cluster, Lease: lease, Timeout: o.Timeout, Replicas: o.Replicas}}
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.url)
	}
	w.urls = strings.Join(urls, ",")
	var end context.CancelFunc
	w.ctx, end = context.WithCancel(context.Background())
	t.Cleanup(end)
	nc := must(nats.Connect(w.urls, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond)))(t)
	sys := must(actor.New(actor.Config{Logger: o.Logger}))(t)
	n := must(Join(bounded(t), nc, sys, o))(t)
	t.Cleanup(func() {
		ctx, end := context.WithTimeout(context.Background(), 2*time.Second)
		defer end()
		_ = n.Leave(ctx)
		_ = sys.Close()
		nc.Close()
	})
	w.kind = must(counterKind(n, false))(t)
	// After the Join: three servers are long in finding a leader.
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(w.add)
	}
	wg.Wait()
	return w
}

// add starts a node.
func (w *world) add() {
	n := startNode(w.t, w.urls, w.spec)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = append(w.nodes, n)
}

// one takes a node out.
func (w *world) one() *faultNode {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := rand.IntN(len(w.nodes))
	n := w.nodes[i]
	w.nodes = append(w.nodes[:i], w.nodes[i+1:]...)
	return n
}

func (w *world) back(n *faultNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = append(w.nodes, n)
}

// count calls counters until ctx ends.
func (w *world) count(ctx context.Context, caller int) {
	for ctx.Err() == nil {
		key := rand.IntN(faultKeys)
		call, end := context.WithTimeout(w.ctx, 3*time.Second)
		began := time.Now().UnixNano()
		out, err := countUp.Call(call, w.kind.Ref(fmt.Sprint(key)), actor.Nothing{})
		end()
		now := time.Now().UnixNano()
		op := porcupine.Operation{ClientId: caller, Input: true, Call: began, Output: out, Return: now}
		switch {
		case err == nil:
			w.acked.Add(1)
			for quiet := now - w.last.Swap(now); ; {
				if old := w.gap.Load(); quiet <= old || w.gap.CompareAndSwap(old, quiet) {
					break
				}
			}
		case errors.Is(err, actor.ErrNotSent): // certainly not handled
			w.refused.Add(1)
			continue
		default:
			w.unknown.Add(1)
			op.Output = nil
		}
		h := &w.histories[key]
		h.mu.Lock()
		h.ops = append(h.ops, op)
		h.mu.Unlock()
		_ = nap(ctx, 2*time.Millisecond) // histories are to be checked
	}
}

// rounds lets faults happen, one after the other, while callers count; then a new process reads what is saved.
func (w *world) rounds(d time.Duration, fault ...func()) {
	w.t.Helper()
	ctx, end := context.WithCancel(w.ctx)
	w.last.Store(time.Now().UnixNano())
	var wg sync.WaitGroup
	for i := range faultCallers {
		wg.Go(func() { w.count(ctx, i) })
	}
	faults := 0
	for began := time.Now(); time.Since(began) < d || faults < len(fault); faults++ {
		enough := w.acked.Load() + 50 // between two faults something happens
		eventually(w.t, "calls are answered", func() bool { return w.acked.Load() > enough })
		fault[faults%len(fault)]()
	}
	end()
	wg.Wait()
	w.t.Logf("%d faults: %d acknowledged, %d of unknown fate, %d not sent; longest time without an acknowledgement %v",
		faults, w.acked.Load(), w.unknown.Load(), w.refused.Load(), time.Duration(w.gap.Load()).Round(time.Millisecond))
	w.check()
}

// inc is what a counter is to callers. The values that no caller got are those of the unknown.
var inc = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		n, got := state.(int), output.(counted).Value
		return got > n || input == false && got == n, got
	},
	Equal: func(a, b any) bool { return a == b },
}

// gaps looks whether each value that no caller got may be that of an unknown call, which began before a greater
// value was acknowledged.
func gaps(saved int, known, unknown []porcupine.Operation) error {
	first := make([]int64, saved+2) // when a value, or a greater one, was acknowledged first
	got := make([]bool, saved+2)
	for i := range first {
		first[i] = 1 << 62
	}
	for _, op := range known {
		v := op.Output.(counted).Value
		if v > saved {
			return fmt.Errorf("%d was acknowledged, and %d is saved", v, saved)
		}
		got[v], first[v] = true, op.Return
	}
	slices.SortFunc(unknown, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for v := saved; v > 0; v-- {
		first[v] = min(first[v], first[v+1])
	}
	for v := 1; v <= saved; v++ {
		if got[v] {
			continue
		}
		if len(unknown) == 0 || unknown[0].Call > first[v] {
			return fmt.Errorf("%d is saved, and nobody asked for it", v)
		}
		unknown = unknown[1:]
	}
	return nil
}

// check reads what is saved in a process that has seen none of it, and compares.
func (w *world) check() {
	w.t.Helper()
	for len(w.nodes) > 0 {
		w.one().p.kill() // what they know dies with them
	}
	w.add()
	handled := 0
	for key := range w.histories {
		h := &w.histories[key]
		var ops, unknown []porcupine.Operation
		fences := map[int]uint64{}
		for _, op := range h.ops {
			if op.Output == nil {
				unknown = append(unknown, op)
				continue
			}
			ops = append(ops, op)
			out := op.Output.(counted)
			if fences[out.Value] != 0 {
				w.t.Errorf("key %d: %d was acknowledged twice", key, out.Value)
			}
			fences[out.Value] = out.Fence
		}
		ctx, end := context.WithTimeout(w.ctx, patience)
		began := time.Now().UnixNano()
		saved, err := readCount.Call(ctx, w.kind.Ref(fmt.Sprint(key)), actor.Nothing{})
		end()
		if err != nil {
			w.t.Fatal(err)
		}
		if err := gaps(saved.Value, ops, unknown); err != nil {
			w.t.Errorf("key %d: %v; %d acknowledged, %d of unknown fate", key, err, len(ops), len(unknown))
		}
		handled += saved.Value - len(ops)
		fence := uint64(0)
		for v := 1; v <= saved.Value; v++ {
			if f, is := fences[v]; is && f < fence {
				w.t.Errorf("key %d: the fence of %d is %d, and before it was %d", key, v, f, fence)
			} else if is {
				fence = f
			}
		}
		ops = append(ops, porcupine.Operation{ClientId: faultCallers, Input: false, Call: began, Output: saved, Return: time.Now().UnixNano()})
		if r := porcupine.CheckOperationsTimeout(inc, ops, patience); r != porcupine.Ok {
			w.t.Errorf("key %d: the history of %d calls is not linearizable: %s", key, len(ops), r)
		}
	}
	w.t.Logf("%d of unknown fate were handled", handled)
}

// lease of the fault tests.
const faultLease = 500 * time.Millisecond

func (w *world) die() {
	n := w.one()
	n.p.kill()
	w.add()
}

// pause stops a node, for less or more than its lease.
func (w *world) pause() {
	n := w.one()
	_ = n.p.cmd.Process.Signal(syscall.SIGSTOP)
	_ = nap(w.ctx, time.Duration(float64(w.spec.Lease)*(0.5+2*rand.Float64())))
	_ = n.p.cmd.Process.Signal(syscall.SIGCONT)
	w.back(n)
}

// part cuts a node off, one way or both.
func (w *world) part() {
	n := w.one()
	way := rand.IntN(3)
	n.w.set(way != 1, way != 0)
	_ = nap(w.ctx, time.Duration(float64(w.spec.Lease)*(0.5+2*rand.Float64())))
	n.w.set(false, false)
	w.back(n)
}

// leave replaces a node in order.
func (w *world) leave() {
	w.add()
	n := w.one()
	_ = n.p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.p.over:
		if code := n.p.cmd.ProcessState.ExitCode(); code != 0 {
			w.t.Errorf("a node that leaves ends with %d", code)
		}
	case <-bounded(w.t).Done():
		w.t.Error("a node does not leave")
	}
}

// crash kills a server; it is back after a while.
func (w *world) crash() {
	s := w.servers[rand.IntN(len(w.servers))]
	s.p.kill()
	_ = nap(w.ctx, time.Duration(rand.Int64N(int64(2*w.spec.Lease))))
	s.start(w.t)
}

// TestFaults: what is saved is what was acknowledged, and some of what is of unknown fate, none of it twice, whatever
// is killed, stopped or cut off. FIRQNATS_FAULTS=10m makes each part last that long.
func TestFaults(t *testing.T) {
	for name, faults := range map[string]func(w *world) []func(){
		"Kill":      func(w *world) []func() { return []func(){w.die, w.die} },
		"Pause":     func(w *world) []func() { return []func(){w.pause, w.pause} },
		"Partition": func(w *world) []func() { return []func(){w.part, w.part} },
		"Server":    func(w *world) []func() { return []func(){w.crash} },
		"All":       func(w *world) []func() { return []func(){w.pause, w.die, w.part, w.crash, w.leave} },
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "All" {
				t.Skip("All has this, too")
			}
			t.Parallel()
			w := newWorld(t, faultLease, startReal(t, t.TempDir()))
			w.rounds(long(t, 0), faults(w)...)
		})
	}
}

// TestReplaced replaces nodes one by one under load: no call fails.
func TestReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faultLease, startReal(t, t.TempDir()))
	w.rounds(long(t, 0), w.leave, w.leave, w.leave)
	if k := w.unknown.Load() + w.refused.Load(); k > 0 {
		t.Errorf("%d calls failed", k)
	}
}

// TestThreeServers keeps all on three servers, one of which is killed at a time. Only with FIRQNATS_FAULTS: it is long.
func TestThreeServers(t *testing.T) {
	d := long(t, 0)
	if d == 0 {
		t.Skip("FIRQNATS_FAULTS is not set")
	}
	var ports []string
	for range 3 {
		ports = append(ports, fmt.Sprintf("nats://127.0.0.1:%d", port(t)))
	}
	var servers []*realServer
	for i, p := range ports {
		servers = append(servers, startReal(t, t.TempDir(), "-n", fmt.Sprintf("server%d", i),
			"--cluster_name", "three", "--cluster", p, "--routes", strings.Join(ports, ",")))
	}
	w := newWorld(t, 2*time.Second, servers...)
	w.rounds(d, w.crash)
}

// TestRealServer runs tests of this package, whose server is embedded, with one that is a process.
func TestRealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	c := exec.Command(os.Args[0], "-test.run", "^(TestCallElsewhere|TestOneActivation|TestErrors|TestStateOutlives|TestFenced|"+
		"TestZombie|TestSaveLost|TestTakeLost|TestRenewLost|TestSilentRenews|TestPost|TestPostAt|TestPostRolling)$")
	c.Env = append(os.Environ(), urlEnv+"="+startReal(t, t.TempDir()).url)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
