package firqnats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/firq-go/firq/actor"
)

// The stream firqpost_<cluster> holds messages that survive. <at> is <kind>.<key>.<name>:
//
//	firqpost.<cluster>.now.<at>  to be handled; the node that handles one acknowledges it, and it goes
//	firqpost.<cluster>.at.<at>   to be handled later: the server copies it to now.<at> then
//	firqpost.<cluster>.name.<at> the number of the one that has a name now; others of it are dropped
const (
	postNow  = "now"
	postAt   = "at"
	postName = "name"
)

// postSlots is how many posted messages a node handles together, or lets wait for their actors.
const postSlots = 256

// postRetry is when a message whose handler failed is handled again, for the first time; then twice as
// late, up to postRetryMost.
const (
	postRetry     = 100 * time.Millisecond
	postRetryMost = time.Minute
)

// PostOptions of a message that survives. The zero value: as soon as possible, once.
type PostOptions struct {
	// ID makes a Post again with the same ID, within two minutes and to the same actor, the same message.
	ID string
	// At: it is handled not before, by the server's clock, to the second.
	At time.Time
	// Every: it is handled again and again, first At, or Every from now. Those that were missed are
	// handled once. It needs a Name, and is at least 1 s.
	Every time.Duration
	// Name of the message, for Unpost. A Post with the Name of an earlier one to the same actor replaces
	// that, if it was not handled yet.
	Name string
}

// posted is what the stream holds of a message.
type posted struct {
	Kind, Method string
	Key          exact
	Name         exact             `json:",omitempty"`
	Data         []byte            `json:",omitempty"`
	Headers      map[string]string `json:",omitempty"` // trace context
	At           time.Time         `json:",omitzero"`
	Every        time.Duration     `json:",omitempty"`
	Number       uint64            `json:",omitempty"` // of the message in name.<at>
}

// Post sends a message that survives its sender, its receiver and the server: it is handled at least once,
// and again, after 0.1 s that double up to a minute, until its handler returns nil. A handler that takes
// longer than Options.Timeout is cancelled, and counts as failed. nil: the server has the message; after
// another error it may have it: Post with an ID can be repeated. There is no order. The nodes of the cluster
// that are no Clients see to it. It needs nats-server 2.12: ErrUnsupported.
func Post[S, Req, Res any](ctx context.Context, k *Kind[S], key string, m *actor.Method[S, Req, Res], req Req, o PostOptions) error {
	switch {
	case k == nil || m.Name() == "":
		return invalid("Post: the Kind or the Method is nil")
	case o.Every < 0 || o.Every > 0 && o.Every < time.Second:
		return invalid("Post: Every is %v, must be 0 or at least 1s", o.Every)
	case o.Every > 0 && o.Name == "":
		return invalid("Post: Every needs a Name")
	}
	n := k.n
	if k.hosts() && k.methods[m.Name()] == nil {
		return notSent(fmt.Errorf("%w: the method %q of the kind %q", ErrUnknown, m.Name(), k.name))
	}
	p := posted{Kind: k.name, Key: exact(key), Method: m.Name(), Name: exact(o.Name), At: o.At, Every: o.Every}
	err := guard(func() (err error) {
		if p.Data, err = n.o.Codec.Encode(req); err == nil && n.o.Inject != nil {
			p.Headers = n.o.Inject(ctx, nil)
		}
		return err
	})
	if err != nil {
		return notSent(err)
	}
	if o.Every > 0 && o.At.IsZero() {
		p.At = time.Now().Add(o.Every)
	}
	ctx, end := context.WithTimeout(ctx, n.o.Timeout)
	defer end()
	s, _, err := n.postStream(ctx)
	if err != nil {
		return notSent(err)
	}
	id := ""
	if o.ID != "" {
		id = (&posted{Kind: p.Kind, Key: p.Key}).place() + "." + keyToken(o.ID)
	}
	if p.Name != "" {
		if p.Number, err = n.name(ctx, s, p, id); err != nil || p.Number == 0 {
			return err
		}
	}
	if id != "" {
		id += "." // what has the name, and the message
	}
	return n.publish(ctx, p, withID(id)...)
}

// withID lets the server drop another message with the ID; "": none.
func withID(id string) []jetstream.PublishOpt {
	if id == "" {
		return nil
	}
	return []jetstream.PublishOpt{jetstream.WithMsgID(id)}
}

// Unpost takes back what was posted with a name: it is not handled any more, unless that has begun.
func Unpost[S any](ctx context.Context, k *Kind[S], key, name string) error {
	if k == nil || name == "" {
		return invalid("Unpost: the Kind is nil, or the name empty")
	}
	n, p := k.n, posted{Kind: k.name, Key: exact(key), Name: exact(name)}
	ctx, end := context.WithTimeout(ctx, n.o.Timeout)
	defer end()
	s, _, err := n.postStream(ctx)
	if err != nil {
		return err
	}
	for _, part := range []string{postName, postAt, postNow} { // the name first: by it the others are dropped
		if err := s.Purge(ctx, jetstream.WithPurgeSubject(n.postSubject(part, p.place()))); err != nil {
			return err
		}
	}
	return nil
}

// place is where a message is among those of its actor.
func (p *posted) place() string {
	return p.Kind + "." + keyToken(string(p.Key)) + "." + keyToken(string(p.Name))
}

func (n *Node) postSubject(part, place string) string {
	return "firqpost." + n.o.Cluster + "." + part + "." + place
}

// name makes a message the one that has its name. 0: it was posted before, and is over.
func (n *Node) name(ctx context.Context, s jetstream.Stream, p posted, id string) (uint64, error) {
	m := &nats.Msg{Subject: n.postSubject(postName, p.place()), Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
	ack, err := n.js.PublishMsg(ctx, m, withID(id)...)
	if err != nil {
		return 0, err
	}
	if !ack.Duplicate {
		return ack.Sequence, nil
	}
	number, err := n.named(ctx, s, &p)
	if number != ack.Sequence { // else the earlier Post may have ended here, and this one goes on
		number = 0
	}
	return number, err
}

// named returns the number of the message that has a name; 0: none.
func (n *Node) named(ctx context.Context, s jetstream.Stream, p *posted) (uint64, error) {
	m, err := s.GetLastMsgForSubject(ctx, n.postSubject(postName, p.place()))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

// publish gives the server a message.
func (n *Node) publish(ctx context.Context, p posted, opts ...jetstream.PublishOpt) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	m := &nats.Msg{Data: b}
	if p.At.IsZero() {
		m.Subject = n.postSubject(postNow, p.place())
	} else {
		if p.Name == "" {
			p.Name = exact(rand.Text()) // the server keeps one later message of a subject
		}
		m.Subject = n.postSubject(postAt, p.place())
		at := p.At.Add(time.Second - 1).UTC().Format(time.RFC3339)
		m.Header = nats.Header{
			"Nats-Schedule": {"@at " + at}, "Nats-Schedule-Target": {n.postSubject(postNow, p.place())},
			jetstream.MsgRollup: {jetstream.MsgRollupSubject},
		}
	}
	_, err = n.js.PublishMsg(ctx, m, opts...)
	return err
}

// posts is a node's part in messages that survive.
type posts struct {
	mu       sync.Mutex // held while the stream is made
	stream   jetstream.Stream
	consumer jetstream.Consumer
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
			n.posts.mu.Lock()
			n.posts.stream = nil
			n.posts.mu.Unlock()
		}
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
	err := n.handlePost(&p)
	if err == nil {
		_ = m.Ack() // if it is lost the message comes again
		return
	}
	tries := uint64(1)
	if meta, err := m.Metadata(); err == nil {
		tries = meta.NumDelivered
	}
	delay := min(postRetry<<min(tries-1, 16), postRetryMost)
	n.o.Logger.Info("firqnats: a posted message was not handled: it is tried again", "kind", p.Kind, "key", string(p.Key), "method", p.Method,
		"tries", tries, "in", delay, "error", err)
	_ = m.NakWithDelay(delay)
}

// handlePost lets the actor handle a message, and sees to the next one if it comes Every so often. nil: it
// is done, or was taken back.
func (n *Node) handlePost(p *posted) error {
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
	p.At = p.At.Add((time.Since(p.At)/p.Every + 1) * p.Every)
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
