package firqredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// waitFor is how long replicas have.
const waitFor = time.Second

// pushNow runs the script. If replicas have to have its effects it waits for them: then the reply may come with
// ErrNotReplicated. Calls that end meanwhile know that their tasks are queued.
//
// It needs one connection for both, which goes round what a client of a cluster does when a partition has another primary. So
// where the script has not run, the primary is looked for again as long as somebody waits.
func (q *Queue[T]) pushNow(p int, args []any, ps []push) (any, error) {
	ctx := context.Background() // the calls have their own
	if q.cfg.WaitReplicas == 0 {
		return q.run(ctx, pushScript, p, args)
	}
	cluster, _ := q.db.(*redis.ClusterClient)
	for end, pause := time.Now().Add(moves), firstPause; ; pause = min(2*pause, 10*firstPause) {
		r, err := q.pushAndWait(ctx, p, args, ps)
		if r != nil || !hasNotRun(err, cluster != nil) || time.Now().After(end) ||
			!slices.ContainsFunc(ps, func(x push) bool { return x.ctx.Err() == nil }) {
			return r, err
		}
		if cluster != nil {
			cluster.ReloadState(ctx)
		}
		if !q.nap(ctx, pause) {
			return nil, err
		}
	}
}

// hasNotRun reports whether an error says that a script has not run, and may where the primary is now.
func hasNotRun(err error, cluster bool) bool {
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	var dial *net.OpError
	return moved || ask || redis.IsReadOnlyError(err) || redis.IsLoadingError(err) || redis.IsClusterDownError(err) ||
		cluster && errors.As(err, &dial) && dial.Op == "dial"
}

// pushAndWait is pushNow, once.
func (q *Queue[T]) pushAndWait(ctx context.Context, p int, args []any, ps []push) (any, error) {
	node, err := q.primary(ctx, p)
	if err != nil {
		return nil, err
	}
	conn := node.Conn()
	defer func() { _ = conn.Close() }()
	r, err := q.runOn(ctx, conn, pushScript, p, args)
	if err != nil {
		return nil, err
	}
	list, _ := r.([]any)
	for i := range min(len(ps), len(list)) {
		to, res := ps[i].to, Result{}
		res.ID, _ = ps[i].args[1].(string)
		res.Err = pushed(list[i], &res)
		to.mu.Lock()
		if to.queued == nil {
			to.queued = map[int]Result{}
		}
		to.queued[ps[i].at] = res
		to.mu.Unlock()
	}
	n, err := conn.Wait(ctx, q.cfg.WaitReplicas, waitFor).Result()
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrNotReplicated, err)
	}
	if int(n) < q.cfg.WaitReplicas {
		return r, fmt.Errorf("%w: %d of %d replicas", ErrNotReplicated, n, q.cfg.WaitReplicas)
	}
	return r, nil
}

// primary returns a client of the server that has a partition.
func (q *Queue[T]) primary(ctx context.Context, p int) (*redis.Client, error) {
	switch c := q.db.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, q.prefix[p])
	}
	return nil, invalid("WaitReplicas: not with a client of type %T", q.db)
}
