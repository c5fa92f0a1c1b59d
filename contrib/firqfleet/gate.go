package firqfleet

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"
	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Gate is this process's part of a fleet: a fair semaphore whose slots belong to all processes that have opened the fleet of
// that name. It is a gate.Acquirer. Make it with New; it must not be copied. All methods are safe for concurrent use.
type Gate struct {
	// Immutable after New.
	cfg     Config
	rdb     redis.UniversalClient
	own     bool // rdb is closed with the gate
	prefix  string
	member  string // names this gate on the server, whatever its token is
	limited bool   // tenants may have limits of permits, so each permit is of a tenant's turn
	base    time.Time
	pushes  *redis.PubSub
	expire  *time.Timer // calls lapse when the lease ends

	here      slots        // idle ones, and those of permits without a turn
	ends      atomic.Int64 // when the lease ends, since base; written under mu
	immediate *xsync.Counter
	permits   sync.Pool // *permit

	kick chan struct{} // capacity 1: there is something to tell the server
	quit chan struct{} // closed by end: no more round trips
	done chan struct{} // closed when run has ended
	idle chan struct{} // closed once no call waits and no permit is out, and none may come

	mu sync.Mutex // no user code runs under it, and no call of the server
	// What the server has said.
	limit, members int
	token          uint64
	data           string // the server's name of the data that this member is in
	trips          uint64 // that the server knows of
	seen           uint64 // pushes
	hungry         bool   // calls of some process wait for slots, or over is true
	over           bool   // more slots are out than there are
	next           time.Duration
	// Whether the server and this member agree.
	leased bool // the lease has not been lost
	known  bool // the server knows which slots are here; else the next round trip joins
	away   bool // the last round trip failed
	back   int  // slots that go back with the next round trip

	tenants  map[string]*tenant
	dirty    []*tenant  // the server has to hear of them
	unsure   []*tenant  // have costs that may or may not have reached the server
	waiting  *list.List // of *tenant: those with calls that may have a turn, in turn
	calls    int        // that wait, those of tenant.heavy included
	turns    int        // slots of turns, in use or parked
	turnUse  int        // those in use
	closed   bool
	drained  bool
	stopped  bool
	looked   time.Duration // when spare slots were looked for
	touched  time.Duration // when the server last heard of all tenants, so that their data lasts
	counters counters
}

type counters struct {
	turns, reused, alone, rejectedGlobal, rejectedTenant, timedOut, lost, syncs, failed uint64
}

var _ gate.Acquirer[string] = (*Gate)(nil)

var errNilContext = fmt.Errorf("%w: firqfleet: ctx is nil", firq.ErrInvalidArgument)

// New joins a fleet, and sets its limit of slots, 1 to gate.MaxSlots; the latest New wins. Without a server it returns
// ErrUnavailable; with Down Share a gate that is alone until there is one. What makes no sense is an error that matches
// firq.ErrInvalidConfig and names the field.
func New(ctx context.Context, limit int, cfg Config) (*Gate, error) {
	if ctx == nil {
		return nil, errNilContext
	}
	if limit < 1 || limit > gate.MaxSlots {
		return nil, invalid("limit: %d, must be 1 to %d", limit, gate.MaxSlots)
	}
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	g := &Gate{
		cfg: cfg, rdb: cfg.Client, own: cfg.Client == nil, prefix: "ff:{" + cfg.Name + "}",
		limited: cfg.MaxInFlightPerTenant > 0 || cfg.MaxInFlightFor != nil, base: time.Now(), limit: limit,
		immediate: xsync.NewCounter(), tenants: map[string]*tenant{}, waiting: list.New(),
		kick: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), idle: make(chan struct{}),
	}
	var id [5]byte
	_, _ = rand.Read(id[:]) // never fails
	g.member = hex.EncodeToString(id[:])
	if g.own {
		g.rdb = localhost()
	}
	g.permits.New = func() any { return &permit{gate: g, gen: 1} }
	g.expire = time.AfterFunc(time.Hour, g.lapse)
	g.refresh()
	if err := g.sync(ctx, false); err != nil && (cfg.Down != Share || ctx.Err() != nil) {
		g.expire.Stop()
		if g.own {
			_ = g.rdb.Close()
		}
		if !errors.Is(err, ErrUnavailable) {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return nil, err
	}
	g.pushes = g.rdb.Subscribe(context.Background(), g.prefix+":all", g.prefix+":w:"+g.member)
	go g.listen(g.pushes.ChannelWithSubscriptions())
	go g.run()
	return g, nil
}

// now is a time that never goes back.
func (g *Gate) now() time.Duration { return time.Since(g.base) }

// expired reports whether the lease has run out by this process's clock.
func (g *Gate) expired() bool { return int64(g.now()) >= g.ends.Load() }

// poke has the next round trip made soon.
func (g *Gate) poke() {
	select {
	case g.kick <- struct{}{}:
	default:
	}
}

// refresh makes calls take the slow way, or not. Under mu, after each change of what it reads.
func (g *Gate) refresh() {
	g.here.setSlow(g.limited || g.closed || !g.leased || g.hungry || g.waiting.Len() > 0)
}

func (g *Gate) inUse() int { return g.here.load().used() + g.turnUse }

// held is how many slots are here, in use or not. Under mu.
func (g *Gate) held() int {
	w := g.here.load()
	return w.used() + w.idle() + g.turns
}

// Lease is a member's lease.
type Lease struct {
	Token   uint64    // greater than that of any member before it, also after a failover; 0: none
	Until   time.Time // it ends, unless it is renewed
	Slots   int       // here, in use or not
	Members int       // of the fleet, as last heard
}

// Lease returns the lease, whose Token is 0 if it has been lost.
func (g *Gate) Lease() Lease {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lease()
	if !g.check() {
		l.Token = 0
	}
	return l
}

// lease returns the lease, even one that has been lost. Under mu.
func (g *Gate) lease() Lease {
	return Lease{Token: g.token, Until: g.base.Add(time.Duration(g.ends.Load())), Slots: g.held(), Members: g.members}
}

// Limit returns the fleet's limit, as last heard.
func (g *Gate) Limit() int { g.mu.Lock(); defer g.mu.Unlock(); return g.limit }

// InUse returns how many slots the permits of this process have.
func (g *Gate) InUse() int { g.mu.Lock(); defer g.mu.Unlock(); return g.inUse() }

// Waiting returns how many calls wait in this process.
func (g *Gate) Waiting() int { g.mu.Lock(); defer g.mu.Unlock(); return g.calls }

// Stats is a snapshot of a Gate.
type Stats struct {
	Limit   int // the fleet's, as last heard
	InUse   int // slots of the permits of this process
	Idle    int // slots here that no permit has
	Waiting int // calls that wait in this process
	Members int // of the fleet, as last heard

	Immediate uint64 // permits from slots that were here
	Turns     uint64 // turns that the server gave
	Reused    uint64 // permits that went on with the slot of a turn
	Alone     uint64 // permits that Share gave out without the server

	RejectedGlobal, RejectedTenant, TimedOut uint64 // calls that ended with firq.ErrGlobalFull, ErrTenantFull, ErrTimeout

	Lost   uint64 // leases
	Syncs  uint64 // round trips
	Failed uint64 // those that failed
}

// Stats returns a snapshot.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.counters
	return Stats{
		Limit: g.limit, InUse: g.inUse(), Idle: g.held() - g.inUse(), Waiting: g.calls, Members: g.members,
		Immediate: uint64(g.immediate.Value()), Turns: c.turns, Reused: c.reused, Alone: c.alone,
		RejectedGlobal: c.rejectedGlobal, RejectedTenant: c.rejectedTenant, TimedOut: c.timedOut,
		Lost: c.lost, Syncs: c.syncs, Failed: c.failed,
	}
}
