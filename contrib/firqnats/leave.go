package firqnats

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Leave hands over what this node has, and ends it: no activation begins here any more, each actor handles
// its messages and goes, later messages are sent on, and calls in progress are answered. If ctx ends first,
// what is left is killed, a start or OnLost that still runs is left behind, and Leave returns ctx's error. Afterwards messages are actor.ErrStopped with
// actor.ErrNotSent. Another Leave waits for the first one, and returns nil.
func (n *Node) Leave(ctx context.Context) error {
	list, first := n.retire(ctx, stageLeaving)
	if !first {
		select {
		case <-n.left:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	n.mu.RLock()
	leavers := n.leavers
	n.mu.RUnlock()
	for _, f := range leavers {
		f()
	}
	handOver(ctx, list)
	n.lastWords(ctx)
	err := ctx.Err()
	last, end := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer end()
	err = errors.Join(err, n.finish(last))
	if !n.rest(ctx) && !n.rest(last) && err == nil { // a start or OnLost goes on
		err = ctx.Err()
	}
	systems.Delete(n.sys)
	close(n.left)
	return err
}

// rest waits until nothing goes on in the background; false: ctx has ended before.
func (n *Node) rest(ctx context.Context) bool {
	over := make(chan struct{})
	go func() { n.wg.Wait(); close(over) }()
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// handOver ends activations, some at a time.
func handOver(ctx context.Context, list []*activation) {
	slots := make(chan struct{}, 64)
	var wg sync.WaitGroup
	for _, a := range list {
		slots <- struct{}{}
		wg.Go(func() {
			a.handOver(ctx)
			<-slots
		})
	}
	wg.Wait()
}

// lastWords waits until what this node has sent, and what it has got, is answered.
func (n *Node) lastWords(ctx context.Context) {
	select {
	case <-n.outgoing.shut():
	case <-ctx.Done():
	}
	l := n.life.Load()
	_ = l.requests.Drain() // what the server has sent before still comes
	for (l.requests.IsValid() || n.runs.len() > 0) && nap(ctx, 2*time.Millisecond) == nil {
	}
}

// finish ends all that goes on.
func (n *Node) finish(ctx context.Context) error {
	n.mu.Lock()
	n.stage = stageLeft
	n.mu.Unlock()
	for _, l := range n.lanes.list() {
		l.close()
	}
	for _, o := range n.takeAll(func(*call) bool { return true }) {
		n.settle(o, nil, ErrLost, false)
	}
	n.sweepLinks(true)
	n.end() // first: who renews, or begins a new life, holds the lock
	n.renewing <- struct{}{}
	l := n.life.Load()
	l.until.Store(0)
	err := n.kv.Purge(ctx, keyNode+l.id)
	n.renewing.free()
	n.publishBeat(beat{ID: l.id, Say: sayGone})
	n.unsubscribe()
	n.bgMu.Lock()
	n.bgOver = true
	n.bgMu.Unlock()
	return errors.Join(err, n.nc.FlushWithContext(ctx))
}
