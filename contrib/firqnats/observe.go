package firqnats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/firq-go/firq/actor"
)

// Observer reads what a cluster keeps on its server, without being in it: for operators' tools, which know
// neither Lease nor Codec. Its methods are safe for concurrent use.
type Observer struct {
	n     *Node // that never joins
	terms agreement
	lease time.Duration
}

// Observe returns an Observer of a cluster; "": "default". It changes nothing, so a cluster that is not
// there is ErrNotFound.
func Observe(ctx context.Context, nc *nats.Conn, cluster string) (*Observer, error) {
	o, err := Options{Cluster: cluster}.settled()
	if err != nil {
		return nil, err
	}
	n := &Node{o: o, nc: nc}
	if n.js, err = jetstream.New(nc); err != nil {
		return nil, err
	}
	n.kv, err = n.js.KeyValue(ctx, bucketOf(o.Cluster))
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, fmt.Errorf("%w: the cluster %q", ErrNotFound, o.Cluster)
	}
	if err != nil {
		return nil, err
	}
	x := &Observer{n: n}
	e, err := n.kv.Get(ctx, keyConfig)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, fmt.Errorf("%w: the cluster %q: no node has ever joined", ErrNotFound, o.Cluster)
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &x.terms)
	}
	if err == nil {
		x.lease, err = time.ParseDuration(x.terms.Lease)
	}
	if err != nil {
		return nil, fmt.Errorf("firqnats: what the cluster %q agrees on: %w", o.Cluster, err)
	}
	return x, nil
}

// Lease of the cluster.
func (x *Observer) Lease() time.Duration { return x.lease }

// Codec returns the type of the cluster's Codec, as its first node wrote it.
func (x *Observer) Codec() string { return x.terms.Codec }

// Stream returns what the server says of the stream that holds the cluster's bucket.
func (x *Observer) Stream(ctx context.Context) (*jetstream.StreamInfo, error) {
	s, err := x.n.js.Stream(ctx, "KV_"+bucketOf(x.n.o.Cluster))
	if err != nil {
		return nil, err
	}
	return s.CachedInfo(), nil
}

// Members returns the nodes that have a record, in no order. Silent is the time since they renewed it, by
// the server's clock; Activations as they were then.
func (x *Observer) Members(ctx context.Context) (list []Member, err error) {
	keys, now, err := x.n.nodeKeys(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		e, err := x.n.kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var b beat
		if err := json.Unmarshal(e.Value(), &b); err != nil {
			return nil, fmt.Errorf("firqnats: the record of a node, %s: %w", key, err)
		}
		list = append(list, Member{ID: b.ID, Name: b.Name, Kinds: b.Kinds, Activations: b.Load, Leaving: b.Say == sayLeaving, Since: b.Since,
			Silent: max(0, now.Sub(e.Created()))})
	}
	return list, nil
}

// Where returns the node that has an actor; "": none has it.
func (x *Observer) Where(ctx context.Context, id actor.Identity) (node string, err error) {
	r, err := x.Record(ctx, id)
	if err != nil || r.Node == "" {
		return "", err
	}
	_, err = x.n.kv.Get(ctx, keyNode+r.Node)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", nil
	}
	return r.Node, err
}

// Actors returns the activations of a kind, or of all kinds for "", on all nodes. The last pair has an error
// if nodes did not answer.
func (x *Observer) Actors(ctx context.Context, kind string) iter.Seq2[ActorInfo, error] {
	return func(yield func(ActorInfo, error) bool) {
		nodes, err := x.Members(ctx)
		if err == nil {
			err = x.n.askActors(ctx, kind, len(nodes), func(i ActorInfo) bool { return yield(i, nil) })
		}
		if err != nil {
			yield(ActorInfo{}, err)
		}
	}
}

// Record is what the bucket holds of an actor.
type Record struct {
	actor.Identity
	Node     string // that has the actor, or had it when it died; "": none
	Saved    bool   // there is a state
	State    []byte // as Options.Codec encoded it; it is not here but in Options.Store if there is one
	Revision uint64 // 0: there is no record
	Written  time.Time
}

// Record returns the record of an actor.
func (x *Observer) Record(ctx context.Context, id actor.Identity) (Record, error) {
	e, err := x.n.kv.Get(ctx, recordKey(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Record{Identity: id}, nil
	}
	if err != nil {
		return Record{}, err
	}
	return recordOf(e)
}

// Records returns the records of a kind's actors, or of all actors for "". The last pair has an error if
// they could not be read to the end.
func (x *Observer) Records(ctx context.Context, kind string) iter.Seq2[Record, error] {
	keys := keyActor + ">"
	if kind != "" {
		keys = keyActor + kind + ".*"
	}
	return func(yield func(Record, error) bool) {
		for e, err := range x.entries(ctx, keys) {
			var r Record
			if err == nil {
				r, err = recordOf(e)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func recordOf(e jetstream.KeyValueEntry) (Record, error) {
	kind, token, _ := strings.Cut(e.Key()[len(keyActor):], ".")
	key, ok := tokenKey(token)
	h, state, err := parseRecord(e.Value())
	if !ok {
		key = string(h.Key)
	}
	r := Record{Identity: actor.Identity{Kind: kind, Key: key}, Revision: e.Revision(), Written: e.Created()}
	if err != nil {
		return r, fmt.Errorf("firqnats: the record of %v cannot be read: %w", r.Identity, err)
	}
	r.Node, r.Saved = h.Node, h.Saved
	if h.Saved {
		r.State = state
	}
	return r, nil
}

// entries returns what the bucket holds under some keys.
func (x *Observer) entries(ctx context.Context, keys string) iter.Seq2[jetstream.KeyValueEntry, error] {
	return func(yield func(jetstream.KeyValueEntry, error) bool) {
		w, err := x.n.kv.Watch(ctx, keys, jetstream.IgnoreDeletes())
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = w.Stop() }()
		for {
			select {
			case e := <-w.Updates():
				if e == nil || !yield(e, nil) { // nil: that was all
					return
				}
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}
}

// Drain has a node hand over its actors, and take no others; f is called with their number when it begins.
// The node still sends, and its process still has to call Leave, or to end. ErrNotFound: no node of this ID
// is alive. If ctx ends first, the node goes on handing over.
func (x *Observer) Drain(ctx context.Context, node string, f func(activations int)) error {
	if _, err := x.n.kv.Get(ctx, keyNode+node); errors.Is(err, jetstream.ErrKeyNotFound) {
		return fmt.Errorf("%w: the node %q", ErrNotFound, node)
	} else if err != nil {
		return err
	}
	return x.n.askDrain(ctx, node, f)
}
