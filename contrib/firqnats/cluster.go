package firqnats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The bucket firq_<cluster> holds what the cluster agrees on:
//
//	cfg            what all nodes have in common
//	n.<node>       a node that is alive (life.go)
//	a.<kind>.<key> an actor: which node has it, and its state (record.go)

const (
	keyConfig = "cfg"
	keyNode   = "n."
	keyActor  = "a."
	// markerAge is how long the marker of a deleted record stays.
	markerAge = 10 * time.Minute
)

func bucketOf(cluster string) string { return "firq_" + cluster }

// bucket opens the cluster's bucket, after making it if needed.
func (n *Node) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	bucket := bucketOf(n.o.Cluster)
	s, err := n.js.Stream(ctx, "KV_"+bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = n.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: "KV_" + bucket, Subjects: []string{"$KV." + bucket + ".>"}, MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1,
			Discard: jetstream.DiscardNew, DenyDelete: true, AllowRollup: true, AllowMsgTTL: true, Replicas: n.o.Replicas,
		})
	}
	if err != nil {
		return nil, err
	}
	if c := s.CachedInfo().Config; c.AllowDirect {
		// Any replica may then answer a read. One that lags would call a node dead that is alive.
		c.AllowDirect = false
		if _, err := n.js.UpdateStream(ctx, c); err != nil {
			return nil, err
		}
	}
	return n.js.KeyValue(ctx, bucket)
}

// agreement is what all nodes of a cluster have in common.
type agreement struct {
	Lease string
	Codec string
	Frame int // version of messages
}

// agree writes what all nodes have in common, or compares it with what the first one wrote.
func (n *Node) agree(ctx context.Context) error {
	mine := agreement{n.o.Lease.String(), fmt.Sprintf("%T", n.o.Codec), frameVersion}
	b, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	theirs := mine
	err = until(ctx, func(ctx context.Context) error {
		_, err := n.kv.Create(ctx, keyConfig, b)
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return err
		}
		e, err := n.kv.Get(ctx, keyConfig)
		if err != nil {
			return err
		}
		theirs = agreement{}
		return json.Unmarshal(e.Value(), &theirs)
	})
	if err != nil {
		return fmt.Errorf("firqnats: Join: what the cluster agrees on: %w", err)
	}
	if theirs != mine {
		return fmt.Errorf("%w: Lease, Codec and version are %s, %s and %d here, and the cluster's %s, %s and %d", ErrMismatch,
			mine.Lease, mine.Codec, mine.Frame, theirs.Lease, theirs.Codec, theirs.Frame)
	}
	return nil
}

// remove deletes a record if its revision is rev. The marker goes after a while.
func (n *Node) remove(ctx context.Context, key string, rev uint64) error {
	return n.kv.Purge(ctx, key, jetstream.LastRevision(rev), jetstream.PurgeTTL(markerAge))
}
