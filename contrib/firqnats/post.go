package firqnats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
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
	ack, err := n.store(ctx, m, withID(id)...)
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
	_, err = n.store(ctx, m, opts...)
	return err
}

// store gives the server a message of the stream.
func (n *Node) store(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := n.js.PublishMsg(ctx, m, opts...)
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		n.posts.forget()
	}
	return ack, err
}
