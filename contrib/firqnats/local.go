package firqnats

import (
	"context"
	"time"

	"github.com/firq-go/firq/actor"
)

// here returns the actor with an identity if it is on this node, or belongs there; nil: it is elsewhere.
func (n *Node) here(ctx context.Context, k kindOf, id actor.Identity) (ref any, err error) {
	if _, limited := ctx.Deadline(); !limited {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, n.o.Timeout)
		defer end()
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, notSent(err)
		}
		n.mu.RLock()
		a, stage := n.acts[id], n.stage
		n.mu.RUnlock()
		begun := false
		switch {
		case stage == stageLeft:
			return nil, errLeft
		case !n.life.Load().holds():
			_ = nap(ctx, 5*time.Millisecond)
			continue
		case a == nil && (stage != stageIn || !n.belongs(k, id)):
			return nil, nil
		case a == nil:
			if a, begun = n.activate(id, k, nil, n.chainOf(ctx, 0)); a == nil {
				continue
			}
			atActivated()
		}
		if l := a.lane.Load(); l != nil && !l.clear(a) {
			return nil, nil // in the order in which they were sent
		}
		switch actState(a.state.Load()) {
		case actActive:
			return a.ref, nil
		case actStarting:
			if err := a.awaitStart(ctx, begun); err != nil {
				return nil, err
			}
		case actClosing:
			if stage != stageIn {
				return nil, nil
			}
			select {
			case <-a.over:
			case <-ctx.Done():
			}
		}
		if a.isElsewhere() {
			return nil, nil
		}
	}
}

// belongs reports whether an actor that is not on this node is to be started here.
func (n *Node) belongs(k kindOf, id actor.Identity) bool {
	if !n.holds(k) {
		return false
	}
	at := ""
	if l := n.lanes.get(id); l != nil {
		if !l.clear(nil) {
			return false
		}
		at = l.where()
	}
	if at == "" {
		at = n.place(id)
	}
	return at == n.ID()
}
