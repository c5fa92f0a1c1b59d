package firqfleet

import (
	"context"
	"fmt"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Shutdown refuses new calls with firq.ErrClosed, and returns nil once every call that waits has been served, or has given up,
// and every permit is back. It does not wait for calls that ask for more slots than the limit: they get firq.ErrClosed. If ctx is
// done first, it returns ctx.Err(), and the gate goes on draining; if Close is called first, firq.ErrClosed.
func (g *Gate) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	g.mu.Lock()
	g.closed = true
	for _, t := range g.tenants {
		g.refuseHeavy(t, firq.ErrClosed)
	}
	if g.check() {
		g.yieldFree()
	}
	g.settle()
	g.mu.Unlock()
	select {
	case <-g.idle:
	case <-g.quit:
		return firq.ErrClosed
	case <-ctx.Done():
	}
	select {
	case <-g.quit:
		return firq.ErrClosed
	default:
	}
	select {
	case <-g.idle:
		<-g.done
		return nil
	default:
		return ctx.Err()
	}
}

// Close refuses new calls with firq.ErrClosed, and so ends those that wait. Slots that are free go back immediately. Permits that are
// out stay valid, and the lease is kept until the last of them is back. It returns nil.
func (g *Gate) Close() error {
	g.mu.Lock()
	if !g.stopped && !g.drained {
		close(g.quit)
	}
	g.stopped, g.closed = true, true
	g.refuse(firq.ErrClosed)
	if g.check() {
		g.yieldFree()
	}
	g.settle()
	drained := g.drained
	g.mu.Unlock()
	if drained {
		<-g.done
	}
	return nil
}

// Done is closed when the gate has left the fleet: after Close or Shutdown, and once every permit is back.
func (g *Gate) Done() <-chan struct{} { return g.done }

// end leaves the fleet.
func (g *Gate) end() {
	g.expire.Stop()
	_ = g.pushes.Close()
	g.mu.Lock()
	leave := g.check() && g.known
	g.mu.Unlock()
	if leave {
		ctx, cancel := context.WithTimeout(context.Background(), leaving)
		_ = g.sync(ctx, true)
		cancel()
	}
	if g.own {
		_ = g.rdb.Close()
	}
}

// SetLimit sets the fleet's limit, 1 to gate.MaxSlots. All members hear of it. When it falls, permits that are out stay valid, and none
// is given out until enough have come back.
func (g *Gate) SetLimit(ctx context.Context, n int) error {
	if ctx == nil {
		return errNilContext
	}
	if n < 1 || n > gate.MaxSlots {
		return fmt.Errorf("%w: firqfleet: limit: %d, must be 1 to %d", firq.ErrInvalidArgument, n, gate.MaxSlots)
	}
	if err := g.rdb.HSet(ctx, g.prefix+":m", "n", n).Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	g.poke() // without waiting for the push
	if err := g.rdb.Publish(ctx, g.prefix+":all", "s").Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Fleet is what the server knows of all members.
type Fleet struct {
	Limit   int // slots
	InUse   int // slots that members have, in use or not
	Members int
	Tenants int // with calls that wait for a slot
}

// Fleet asks the server.
func (g *Gate) Fleet(ctx context.Context) (Fleet, error) {
	if ctx == nil {
		return Fleet{}, errNilContext
	}
	pipe := g.rdb.Pipeline()
	m := pipe.HMGet(ctx, g.prefix+":m", "n", "u")
	members := pipe.ZCard(ctx, g.prefix+":l")
	tenants := pipe.ZCard(ctx, g.prefix+":q")
	if _, err := pipe.Exec(ctx); err != nil {
		return Fleet{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	f := Fleet{Members: int(members.Val()), Tenants: int(tenants.Val())}
	var stored struct {
		Limit int `redis:"n"`
		InUse int `redis:"u"`
	}
	if err := m.Scan(&stored); err != nil {
		return Fleet{}, fmt.Errorf("firqfleet: %w", err)
	}
	f.Limit, f.InUse = stored.Limit, stored.InUse
	return f, nil
}
