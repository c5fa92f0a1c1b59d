package compute

import (
	"context"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// slot is a permit, and where it is for.
type slot[T comparable] struct {
	permit  gate.Permit[T]
	group   int
	spilled bool
	waited  time.Duration // in all, if that is more than the permit says; else 0
}

// acquire waits for a slot in the group that is to execute the key; until since + the
// MaxQueueAge, if since is given. What the group's gate refuses is refused. If the
// group loses its slots while it waits, the call queues elsewhere.
func (s *Server[T, K, V]) acquire(ctx context.Context, tenant T, h uint64, req gate.Request, since time.Time) (slot[T], error) {
	maxAge := s.groups.cfg.MaxQueueAge
	if maxAge > 0 && !since.IsZero() {
		req.Deadline = since.Add(maxAge)
	}
	for {
		d, at, home := s.groups.pick(h)
		sl := slot[T]{group: at, spilled: at != home}
		failpoint.At("slot")
		var err error
		if at == 0 { // no call ever has to leave the first group
			sl.permit, err = d.groups[0].gate.Acquire(ctx, tenant, req)
		} else {
			var sent bool
			if sl.permit, sent, err = s.wait(ctx, d.groups[at], at, tenant, &req, &since); sent {
				continue
			}
		}
		if !since.IsZero() && err == nil {
			sl.waited = time.Since(since)
		}
		return sl, err
	}
}

// wait is acquire in one group; sent: it has to go elsewhere. A group that loses its
// slots sends callers that wait away; of the two, the second sees the first:
//
//	a caller that comes  the one that takes the slots
//	[W1] come            [S1] the new division
//	[W2] usable?         [S2] send
func (s *Server[T, K, V]) wait(ctx context.Context, gr *group[T], at int, tenant T, req *gate.Request, since *time.Time) (p gate.Permit[T], sent bool, err error) {
	select {
	case <-ctx.Done():
		return p, false, ended(ctx)
	default:
	}
	if !s.queueAll && since.IsZero() { // else TryAcquire would queue, and the limits apply
		if p, ok := gr.gate.TryAcquire(tenant, *req); ok {
			return p, false, nil
		}
	}
	if since.IsZero() {
		*since = time.Now()
		if maxAge := s.groups.cfg.MaxQueueAge; maxAge > 0 {
			req.Deadline = since.Add(maxAge)
		}
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	pl := &place{cancel: cancel}
	gr.come(pl) // [W1]
	defer gr.leave(pl)
	failpoint.At("W2 usable")
	if !s.groups.now.Load().usable(at) { // [W2]
		return p, true, nil
	}
	p, err = gr.gate.Acquire(inner, tenant, *req)
	if err != nil && !refusal(err) {
		sent = pl.sent.Load() && ctx.Err() == nil
		if !sent {
			err = ended(ctx)
		}
	}
	return p, sent, err
}

// refusal reports whether an error of a gate is more than the end of a context.
func refusal(err error) bool {
	return isAny(err, firq.ErrRejected, firq.ErrClosed, firq.ErrInvalidTask)
}
