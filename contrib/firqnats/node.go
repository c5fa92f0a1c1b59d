package firqnats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/firq-go/firq/actor"
)

// Node is this process's part in a cluster. Its methods are safe for concurrent use.
type Node struct {
	o     Options
	nc    *nats.Conn
	js    jetstream.JetStream
	kv    jetstream.KeyValue
	sys   *actor.System
	addr  string // where answers go; the same in all lives
	since time.Time

	life atomic.Pointer[life]

	mu      sync.RWMutex
	stage   stage
	members map[string]*member
	dead    map[string]time.Time // lives that are over, for a while
	acts    map[actor.Identity]*activation
	kinds   map[string]kindOf

	renewing lock  // held while the record of this life is written
	watch    watch // of the ticker

	links    links
	lanes    lanes
	callMu   sync.Mutex
	calls    map[uint64]*call // that were sent
	callNo   atomic.Uint64
	outgoing gate // messages to actors elsewhere
	arrivals atomic.Uint64
	runs     runs
	refusals refusals
	posts    posts

	subs     []*nats.Subscription // of all lives
	ctx      context.Context      // ends when the node has left
	end      context.CancelFunc
	bgMu     sync.Mutex
	bgOver   bool
	wg       sync.WaitGroup
	leavers  []func() // guarded by mu
	left     chan struct{}
	stat     counters
	recorded recorder
}

// stage of a node; guarded by mu.
type stage uint8

const (
	stageIn      stage = iota
	stageDrained       // no new activations; it still sends
	stageLeaving       // the same, and it will end
	stageLeft          // nothing any more
)

// Parts of a node's subjects: firq.<cluster>.<node>.<part>.
const (
	partRequests = "q" // and the kind
	partAnswers  = "a"
	partNobody   = "r" // and the number of the message that no node has got
)

// Subjects of the cluster: firq.<cluster>.<subject>.
const (
	subjectBeats = "hb"
	subjectAsk   = "ask"
	subjectDrain = "drain"
)

func (n *Node) subject(parts ...string) string {
	return "firq." + n.o.Cluster + "." + strings.Join(parts, ".")
}

// systems are the nodes by their System, for Load.
var systems sync.Map // *actor.System -> *Node

// Join makes this process a node of the cluster, and s the System of its actors. It tries until ctx ends.
// Credentials, TLS and how to reconnect are the connection's, which has to stay open until Leave; it should
// be made with nats.MaxReconnects(-1). A System is in one cluster at a time.
func Join(ctx context.Context, nc *nats.Conn, s *actor.System, o Options) (*Node, error) {
	if nc == nil || s == nil {
		return nil, invalid("Join: the connection or the System is nil")
	}
	o, err := o.settled()
	if err != nil {
		return nil, err
	}
	n := &Node{o: o, nc: nc, sys: s, addr: rand.Text(), since: time.Now(), left: make(chan struct{}), renewing: newLock(),
		members: map[string]*member{}, dead: map[string]time.Time{}, acts: map[actor.Identity]*activation{},
		kinds: map[string]kindOf{}, calls: map[uint64]*call{}}
	n.links.all, n.lanes.all, n.runs.all = map[string]*link{}, map[actor.Identity]*lane{}, map[runKey]*incoming{}
	n.refusals.all = map[refusalKey]*refusal{}
	n.ctx, n.end = context.WithCancel(context.Background())
	if _, taken := systems.LoadOrStore(s, n); taken {
		return nil, invalid("Join: the System is in a cluster already")
	}
	if err := n.join(ctx); err != nil {
		if why := nc.LastError(); errors.Is(why, nats.ErrPermissionViolation) { // the server drops the request, and says so aside
			err = errors.Join(err, why)
		}
		n.unsubscribe()
		n.end()
		systems.Delete(s)
		return nil, err
	}
	n.watch = watch{reconnects: nc.Stats().Reconnects, last: time.Now()}
	n.background(n.tick)
	if !o.Client {
		n.background(n.servePosts)
	}
	return n, nil
}

func (n *Node) join(ctx context.Context) (err error) {
	if n.js, err = jetstream.New(n.nc); err != nil {
		return err
	}
	if err := until(ctx, func(ctx context.Context) (err error) { n.kv, err = n.bucket(ctx); return err }); err != nil {
		return fmt.Errorf("firqnats: Join: the cluster's bucket: %w", err)
	}
	if err := n.agree(ctx); err != nil {
		return err
	}
	for subject, f := range map[string]nats.MsgHandler{
		n.subject(n.addr, partNobody, "*"): n.onNobody,
		n.subject(n.addr, partAnswers):     n.onAnswers,
		n.subject(subjectBeats):            n.onBeat,
		n.subject(subjectAsk):              n.onAsk,
		n.subject(subjectDrain):            n.onDrain,
	} {
		if err := n.subscribe(subject, f); err != nil {
			return err
		}
	}
	if err := until(ctx, n.live); err != nil {
		return fmt.Errorf("firqnats: Join: the node's record: %w", err)
	}
	return nil
}

func (n *Node) subscribe(subject string, f nats.MsgHandler) error {
	s, err := n.nc.Subscribe(subject, f)
	if err != nil {
		return err
	}
	n.subs = append(n.subs, s)
	return s.SetPendingLimits(-1, -1)
}

func (n *Node) unsubscribe() {
	for _, s := range n.subs {
		_ = s.Unsubscribe()
	}
	n.subs = nil
	if l := n.life.Load(); l != nil {
		_ = l.requests.Unsubscribe()
	}
}

// until repeats f until it succeeds or ctx ends: the server may be away, or its leader not chosen. A
// request that comes before there is a leader is never answered, so each try has a timeout.
func until(ctx context.Context, f func(ctx context.Context) error) error {
	for {
		try, end := context.WithTimeout(ctx, 5*time.Second)
		err := f(try)
		end()
		if err == nil || nap(ctx, 100*time.Millisecond) != nil {
			return err
		}
	}
}

// nap sleeps for d, or until ctx ends.
func nap(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// background runs f on a goroutine that Leave waits for; false: the node has left.
func (n *Node) background(f func()) bool {
	n.bgMu.Lock()
	defer n.bgMu.Unlock()
	if n.bgOver {
		return false
	}
	n.wg.Go(f)
	return true
}

// onLeave lets Leave call f before it hands over.
func (n *Node) onLeave(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leavers = append(n.leavers, f)
}

func (n *Node) at() stage {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.stage
}

// ID of this node. It has another one after others took it for dead.
func (n *Node) ID() string { return n.life.Load().id }

// counters of a node.
type counters struct {
	activated, passivated, fenced, moved, sent, handled, lost, retried, saves atomic.Uint64
}

// Stats of a node. All but Activations only grow.
type Stats struct {
	Activations int    // now
	Activated   uint64 // actors that were started here
	Passivated  uint64 // of those, how many have ended: idle, by themselves, or because they moved
	Fenced      uint64 // how often others took this node for dead
	Moved       uint64 // messages that came here and were sent on, as the actor was elsewhere
	Sent        uint64 // messages to actors elsewhere, those that are sent again included
	Handled     uint64 // messages of other nodes that were answered
	Lost        uint64 // tells of this node that were refused or not confirmed
	Retried     uint64 // messages of this node that came back, and are sent again
	Saves       uint64
}

// Stats returns a snapshot.
func (n *Node) Stats() Stats {
	n.mu.RLock()
	active := len(n.acts)
	n.mu.RUnlock()
	c := &n.stat
	return Stats{
		Activations: active, Activated: c.activated.Load(), Passivated: c.passivated.Load(),
		Fenced: c.fenced.Load(), Moved: c.moved.Load(), Sent: c.sent.Load(), Handled: c.handled.Load(),
		Lost: c.lost.Load(), Retried: c.retried.Load(), Saves: c.saves.Load(),
	}
}

// gate counts what is in progress.
type gate struct {
	mu     sync.Mutex
	in     int
	closed bool
	empty  chan struct{} // closed once it is closed and empty
}

// enter reports whether the gate is open.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.in++
	}
	return !g.closed
}

func (g *gate) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in--; g.closed && g.in == 0 {
		close(g.empty)
	}
}

// shut closes the gate. The channel is closed when nothing is in progress.
func (g *gate) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed, g.empty = true, make(chan struct{})
		if g.in == 0 {
			close(g.empty)
		}
	}
	return g.empty
}
