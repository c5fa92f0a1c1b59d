package firqredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// waitFor bounds the wait for replicas.
const waitFor = time.Second

// pushNow runs the push script. With Config.WaitReplicas it waits for the replicas, too: the reply may then come with
// ErrNotReplicated. Calls that end before that know that their tasks are queued.
//
// The script and WAIT need one connection, so the client of a cluster cannot redirect them when a partition moves. So
// if the script has not run, pushNow looks for the primary again as long as a call waits.
func (e *engine) pushNow(ctx context.Context, p int, args []any, ps []*queue.Push) (any, error) {
	if e.replicas == 0 {
		return e.run(ctx, pushScript, p, args)
	}
	cluster, _ := e.db.(*redis.ClusterClient)
	for end, pause := time.Now().Add(moves), firstPause; ; pause = min(2*pause, 10*firstPause) {
		r, err := e.pushAndWait(ctx, p, args, ps)
		if r != nil || !hasNotRun(err, cluster != nil) || time.Now().After(end) ||
			!slices.ContainsFunc(ps, (*queue.Push).Wanted) {
			return r, err
		}
		if cluster != nil {
			cluster.ReloadState(ctx)
		}
		if !e.sleepFor(ctx, pause) {
			return nil, err
		}
	}
}

// hasNotRun reports whether an error means that a script has not run, and may run on the present primary.
func hasNotRun(err error, cluster bool) bool {
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	var dial *net.OpError
	return moved || ask || redis.IsReadOnlyError(err) || redis.IsLoadingError(err) || redis.IsClusterDownError(err) ||
		cluster && errors.As(err, &dial) && dial.Op == "dial"
}

// pushAndWait is one try of pushNow.
func (e *engine) pushAndWait(ctx context.Context, p int, args []any, ps []*queue.Push) (any, error) {
	node, err := e.primary(ctx, p)
	if err != nil {
		return nil, err
	}
	conn := node.Conn()
	defer func() { _ = conn.Close() }()
	r, err := e.runOn(ctx, conn, pushScript, p, args)
	if err != nil {
		return nil, err
	}
	list, _ := r.([]any)
	for i := range min(len(ps), len(list)) {
		ps[i].Known(pushed(list[i], ps[i].ID))
	}
	n, err := conn.Wait(ctx, e.replicas, waitFor).Result()
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrNotReplicated, err)
	}
	if int(n) < e.replicas {
		return r, fmt.Errorf("%w: %d of %d replicas", ErrNotReplicated, n, e.replicas)
	}
	return r, nil
}

// primary returns a client of the server that has a partition.
func (e *engine) primary(ctx context.Context, p int) (*redis.Client, error) {
	switch c := e.db.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, e.prefix[p])
	}
	return nil, invalid("WaitReplicas: not with a client of type %T", e.db)
}
