package firqnats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/firq-go/firq/actor"
)

// postSlots is how many posted messages a node handles together, or lets wait for their actors.
const postSlots = 256

// postRetry is when a message whose handler failed is handled again, for the first time; then twice as
// late, up to postRetryMost.
const (
	postRetry     = 100 * time.Millisecond
	postRetryMost = time.Minute
)

// posts is a node's part in messages that survive.
type posts struct {
	mu       sync.Mutex // held while the stream is made
	stream   jetstream.Stream
	consumer jetstream.Consumer
}

// forget makes postStream open the stream again: it may be gone.
func (p *posts) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stream = nil
}

// postStream opens the stream, after making it if needed.
func (n *Node) postStream(ctx context.Context) (jetstream.Stream, jetstream.Consumer, error) {
	n.posts.mu.Lock()
	defer n.posts.mu.Unlock()
	if n.posts.stream != nil {
		return n.posts.stream, n.posts.consumer, nil
	}
	name := "firqpost_" + n.o.Cluster
	s, err := n.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = n.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{"firqpost." + n.o.Cluster + ".>"}, Retention: jetstream.WorkQueuePolicy,
			AllowMsgSchedules: true, AllowMsgTTL: true, AllowRollup: true, Replicas: n.o.Replicas,
		})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("firqnats: the stream of Post: %w", err)
	}
	if !s.CachedInfo().Config.AllowMsgSchedules {
		return nil, nil, fmt.Errorf("%w: Post needs nats-server 2.12, and this is %s", ErrUnsupported, n.nc.ConnectedServerVersion())
	}
	// The node that has a message says so in time, so that another gets it soon if this one dies. There
	// is no limit to how many wait for another try, as they would hold up the rest.
	c, err := s.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "nodes", FilterSubject: n.postSubject(postNow, ">"), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: 2 * n.o.Lease, MaxAckPending: -1,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("firqnats: the consumer of Post: %w", err)
	}
	n.posts.stream, n.posts.consumer = s, c
	return s, c, nil
}

// servePosts handles posted messages until the node leaves.
func (n *Node) servePosts() {
	ctx, end := context.WithCancel(n.ctx)
	defer end()
	n.onLeave(end)
	slots := make(chan struct{}, postSlots)
	for ctx.Err() == nil {
		_, c, err := n.postStream(ctx)
		if errors.Is(err, ErrUnsupported) {
			return // Post says so
		}
		if err == nil {
			err = n.servePost(ctx, c, slots)
		}
		if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) {
			n.o.Logger.Error("firqnats: the consumer of Post is gone: it is made again", "error", err)
		}
		n.posts.forget()
		_ = nap(ctx, postRetry) // the server may be away
	}
}

// servePost handles what a consumer gives, until it fails or ctx ends.
func (n *Node) servePost(ctx context.Context, c jetstream.Consumer, slots chan struct{}) error {
	it, err := c.Messages(jetstream.PullMaxMessages(postSlots / 4))
	if err != nil {
		return err
	}
	defer it.Stop()
	defer context.AfterFunc(ctx, it.Drain)()
	for {
		slots <- struct{}{}
		m, err := it.Next()
		if err == nil && !n.background(func() { n.onPost(ctx, m); <-slots }) {
			err = jetstream.ErrMsgIteratorClosed
		}
		if err != nil {
			<-slots
			return err
		}
	}
}

// onPost handles a message of the stream. If ctx has ended another node may.
func (n *Node) onPost(ctx context.Context, m jetstream.Msg) {
	if ctx.Err() != nil {
		_ = m.Nak()
		return
	}
	var p posted
	if err := json.Unmarshal(m.Data(), &p); err != nil {
		n.o.Logger.Error("firqnats: a posted message cannot be read: it is dropped", "subject", m.Subject(), "error", err)
		_ = m.Term()
		return
	}
	over := make(chan struct{})
	defer close(over)
	n.background(func() {
		for t := time.NewTicker(n.o.Lease / 2); ; {
			select {
			case <-t.C:
				_ = m.InProgress()
			case <-over:
				t.Stop()
				return
			}
		}
	})
	meta, err := m.Metadata()
	if err == nil {
		err = n.handlePost(&p, meta.Timestamp)
	}
	if err == nil {
		_ = m.Ack() // if it is lost the message comes again
		return
	}
	tries := uint64(1)
	if meta != nil {
		tries = meta.NumDelivered
	}
	delay := min(postRetry<<min(tries-1, 16), postRetryMost)
	n.o.Logger.Info("firqnats: a posted message was not handled: it is tried again", "kind", p.Kind, "key", string(p.Key), "method", p.Method,
		"tries", tries, "in", delay, "error", err)
	_ = m.NakWithDelay(delay)
}

// handlePost lets the actor handle a message that the server stored then, and sees to the next one if it comes Every
// so often. nil: it is done, or was taken back.
func (n *Node) handlePost(p *posted, stored time.Time) error {
	ctx := context.Context(n.ctx)
	if n.o.Extract != nil && len(p.Headers) > 0 {
		if err := guard(func() error { ctx = n.o.Extract(ctx, p.Headers); return nil }); err != nil {
			return err
		}
	}
	if is, err := n.current(p); err != nil || !is {
		return err
	}
	if err := n.deliverEncoded(ctx, actor.Identity{Kind: p.Kind, Key: string(p.Key)}, p.Method, p.Data); err != nil {
		return err
	}
	if is, err := n.current(p); err != nil || !is || p.Name == "" { // it may have been replaced in the handler
		return err
	}
	try, end := context.WithTimeout(n.ctx, n.o.Timeout)
	defer end()
	if p.Every == 0 {
		s, _, err := n.postStream(try)
		if err == nil {
			err = s.DeleteMsg(try, p.Number)
		}
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		return err
	}
	p.At = next(p.At, stored, p.Every)
	// Not over that of a Post which has replaced it since: if that comes later it replaces this.
	err := n.publish(try, *p, jetstream.WithExpectLastSequencePerSubject(0))
	if e := (*jetstream.APIError)(nil); errors.As(err, &e) && e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return nil
	}
	return err
}

// current reports whether a message was neither taken back nor replaced.
func (n *Node) current(p *posted) (bool, error) {
	if p.Name == "" {
		return true, nil
	}
	ctx, end := context.WithTimeout(n.ctx, n.o.Timeout)
	defer end()
	s, _, err := n.postStream(ctx)
	if err != nil {
		return false, err
	}
	number, err := n.named(ctx, s, p)
	return number == p.Number, err
}

// next returns when a message is due again that comes every so often from at on, and was stored by the server at a
// time by its clock, which need not be this node's.
func next(at, stored time.Time, every time.Duration) time.Time {
	return at.Add((max(stored.Sub(at), 0)/every + 1) * every)
}
