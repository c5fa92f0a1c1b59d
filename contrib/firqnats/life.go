package firqnats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/firq-go/firq/actor"
)

// life of a node: from the moment at which it has a record in the bucket until others delete that.
type life struct {
	id       string
	requests *nats.Subscription
	rev      uint64       // of its record; guarded by Node.renewing
	rests    bool         // and has said so; guarded by Node.renewing
	until    atomic.Int64 // the instant until which it may begin to handle messages
}

// start of the process's clock: instants are monotonic, whatever the wall clock does.
var epoch = time.Now()

func instant() int64 { return int64(time.Since(epoch)) }

// holds reports whether the lease holds, by this node's own clock.
func (l *life) holds() bool { return instant() < l.until.Load() }

// extend lets the lease hold for two thirds of it from when its renewal began. The last third is for
// handlers in progress, and for the difference of the clocks' speeds.
func (l *life) extend(began int64, lease time.Duration) { l.until.Store(began + int64(lease)*2/3) }

// live begins a life: requests come, then there is a record, so that others send some.
func (n *Node) live(ctx context.Context) (err error) {
	l := &life{id: rand.Text()} // a try that failed may have left a record, which others take for a dead node's
	if l.requests, err = n.nc.Subscribe(n.subject(l.id, partRequests, "*"), n.onRequests); err != nil {
		return err
	}
	_ = l.requests.SetPendingLimits(-1, -1)
	defer func() {
		if err != nil {
			_ = l.requests.Unsubscribe()
		}
	}()
	began := instant()
	b := n.beat(l.id, 0)
	d, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if l.rev, err = n.kv.Create(ctx, keyNode+l.id, d); err != nil {
		return err
	}
	if err := n.list(ctx); err != nil {
		return err
	}
	if old := n.life.Swap(l); old != nil {
		_ = old.requests.Unsubscribe()
	}
	l.extend(began, n.o.Lease)
	b.Rev = l.rev
	n.saw(b)
	n.publishBeat(b)
	return nil
}

// list reads which nodes are alive.
func (n *Node) list(ctx context.Context) error {
	keys, _, err := n.nodeKeys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := n.look(ctx, key[len(keyNode):]); err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
			return err
		}
	}
	return nil
}

// nodeKeys returns the keys of nodes' records, and of some that are deleted, and the server's time. A watch, and a
// list of keys by one, may miss a record that is renewed in this moment.
func (n *Node) nodeKeys(ctx context.Context) (keys []string, now time.Time, err error) {
	bucket := bucketOf(n.o.Cluster)
	s, err := n.js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return nil, now, err
	}
	prefix := "$KV." + bucket + "."
	i, err := s.Info(ctx, jetstream.WithSubjectFilter(prefix+keyNode+"*"))
	if err != nil {
		return nil, now, err
	}
	for subject := range i.State.Subjects {
		keys = append(keys, subject[len(prefix):])
	}
	return keys, i.TimeStamp, nil
}

// look reads the record of a node. jetstream.ErrKeyNotFound: it is not alive.
func (n *Node) look(ctx context.Context, id string) error {
	e, err := n.kv.Get(ctx, keyNode+id)
	if err != nil {
		return err
	}
	var b beat
	if err := json.Unmarshal(e.Value(), &b); err != nil {
		return err
	}
	b.Rev = e.Revision()
	n.saw(b)
	return nil
}

// beat returns what this node says of itself.
func (n *Node) beat(id string, rev uint64) beat {
	n.mu.RLock()
	defer n.mu.RUnlock()
	b := beat{ID: id, Name: n.o.Name, Rev: rev, Load: len(n.acts), Since: n.since}
	if n.stage != stageIn {
		b.Say = sayLeaving
	}
	for name, k := range n.kinds {
		if n.holds(k) {
			b.Kinds = append(b.Kinds, name)
		}
	}
	slices.Sort(b.Kinds)
	return b
}

// holds reports whether this node may have actors of a kind.
func (n *Node) holds(k kindOf) bool { return k != nil && k.hosts() && !n.o.Client }

// tick renews the lease, looks for nodes that are silent, and forgets what is over.
func (n *Node) tick() {
	every := n.o.Lease / 5
	t := time.NewTicker(every)
	defer t.Stop()
	sweep := time.Now()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-t.C:
		}
		n.renew(n.ctx)
		n.observe(every)
		n.expire()
		n.rebalance(every)
		if time.Since(sweep) > time.Minute {
			sweep = time.Now()
			n.sweepLinks(false)
		}
	}
}

// lock is a mutex that a waiter can leave.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// take takes the lock; false: ctx has ended before.
func (l lock) take(ctx context.Context) bool {
	select {
	case l <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l lock) free() { <-l }

// renew the lease, or wait until ctx ends for who does. If it fails the node rests when two thirds of the lease are over.
func (n *Node) renew(ctx context.Context) {
	if !n.renewing.take(ctx) {
		return
	}
	defer n.renewing.free()
	if n.at() == stageLeft {
		return
	}
	l, err := n.life.Load(), error(nats.ErrDisconnected)
	if n.nc.IsConnected() {
		err = n.renewed(l)
	}
	if rests := !l.holds() && err != nil; rests != l.rests {
		if l.rests = rests; rests {
			n.o.Logger.Warn("firqnats: this node rests: its lease could not be renewed", "node", l.id, "error", err)
		} else {
			n.o.Logger.Info("firqnats: this node goes on", "node", l.id)
		}
	}
}

// renewed renews the lease of a life. The caller holds n.renewing.
func (n *Node) renewed(l *life) error {
	ctx, end := context.WithTimeout(n.ctx, max(n.o.Lease/3, 100*time.Millisecond))
	defer end()
	began := instant()
	b := n.beat(l.id, 0)
	d, err := json.Marshal(b)
	if err != nil {
		return err
	}
	rev, why := n.kv.Update(ctx, keyNode+l.id, d, l.rev)
	if why == nil {
		l.rev = rev
		l.extend(began, n.o.Lease)
		b.Rev = rev
		n.saw(b)
		n.publishBeat(b)
		return nil
	}
	e, err := n.kv.Get(ctx, keyNode+l.id)
	switch {
	case err == nil: // an Update whose answer was lost; only this node writes it
		l.rev = e.Revision()
	case errors.Is(err, jetstream.ErrKeyNotFound):
		n.fenced(l)
		return nil
	}
	return why
}

// fenced: others have taken this node for dead. Its actors end, and it begins a new life.
func (n *Node) fenced(l *life) {
	n.stat.fenced.Add(1)
	l.until.Store(0)
	n.o.Logger.Warn("firqnats: others took this node for dead: its actors end, and it joins again", "node", l.id)
	n.mu.Lock()
	acts := n.acts
	n.acts = map[actor.Identity]*activation{}
	n.mu.Unlock()
	n.forget(l.id)
	for _, a := range acts {
		a.abandon(ErrFenced)
	}
	_ = until(n.ctx, n.live)
}
