package firqnats

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
)

// Defaults of Options.
const (
	DefaultLease   = 5 * time.Second
	DefaultTimeout = 30 * time.Second
	DefaultWindow  = 64
)

// Options of a Node. The zero value works.
type Options struct {
	// Cluster is the name of the cluster: 1 to 64 of A-Z a-z 0-9 _ -. "": "default".
	Cluster string
	// Name of the node, for people. It need not be unique. "": the host's name.
	Name string
	// Lease is how long a node that is silent keeps its actors. All nodes of a cluster have the same.
	// 0: 5 s.
	Lease time.Duration
	// Timeout of a call whose ctx has no deadline, and of the confirmation of a Tell. 0: 30 s.
	Timeout time.Duration
	// Window is how many messages of this node to one actor on another node may be unanswered: the
	// others wait here. It bounds what a node that floods an actor puts before the others' messages.
	// 0: 64.
	Window int
	// Codec of requests, replies and states. All nodes of a cluster have the same. nil: JSON.
	Codec Codec
	// Place chooses the node of a new activation. The node that sends the first message chooses.
	Place Placement
	// Rebalance is the share of its activations that a node with more than 1.25 times the mean lets go
	// per minute, those without messages first. 0: none.
	Rebalance float64
	// Client is a node that sends only.
	Client bool
	// Replicas of the bucket and of the stream of Post, for the Join that makes them. 0: 1.
	Replicas int
	// Store keeps the states. nil: the cluster's bucket does.
	Store Store
	// Inject adds the trace context of ctx to headers, which may be nil, and returns them; Extract
	// returns ctx with the trace context of headers. nil: none is sent.
	Inject  func(ctx context.Context, headers map[string]string) map[string]string
	Extract func(ctx context.Context, headers map[string]string) context.Context
	// OnLost is called, on a separate goroutine, for a Tell that was sent, and was refused or not
	// confirmed within Timeout. Its panics are logged.
	OnLost func(id actor.Identity, method string, err error)
	// Logger gets errors that no caller and no hook gets. nil: slog.Default().
	Logger *slog.Logger
}

// Placement chooses a node for a new activation.
type Placement uint8

// The placements.
const (
	// Hash: by rendezvous of the identity and the nodes, passing over nodes above 1.25 times the mean.
	Hash Placement = iota
	// LeastLoaded: the node with the fewest activations.
	LeastLoaded
	// Random: any.
	Random
	// Local: the node that sends the first message, if it has the kind.
	Local
)

// Codec encodes requests, replies and states. Its methods are called by several goroutines.
type Codec interface {
	Encode(v any) ([]byte, error)
	Decode(data []byte, v any) error
}

type jsonCodec struct{}

func (jsonCodec) Encode(v any) ([]byte, error)    { return json.Marshal(v) }
func (jsonCodec) Decode(data []byte, v any) error { return json.Unmarshal(data, v) }

// Store keeps the states of actors elsewhere than in the cluster's bucket. Its methods are called by
// several goroutines.
type Store interface {
	// Load returns the state, of length 0 if there is none. From now on a Save with a smaller fence is
	// refused.
	Load(ctx context.Context, id actor.Identity, fence uint64) (state []byte, err error)
	// Save replaces the state, or fails with ErrFenced if Load or Save saw a greater fence. nil: forget
	// the state.
	Save(ctx context.Context, id actor.Identity, fence uint64, state []byte) error
}

var nameOK = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: firqnats: "+format, append([]any{firq.ErrInvalidConfig}, args...)...)
}

// settled returns o with the defaults filled in.
func (o Options) settled() (Options, error) {
	switch {
	case o.Cluster != "" && !nameOK.MatchString(o.Cluster):
		return o, invalid("Cluster: %q, must be 1 to 64 of A-Z a-z 0-9 _ -", o.Cluster)
	case o.Lease < 0:
		return o, invalid("Lease: %v, must not be negative", o.Lease)
	case o.Timeout < 0:
		return o, invalid("Timeout: %v, must not be negative", o.Timeout)
	case o.Window < 0:
		return o, invalid("Window: %d, must not be negative", o.Window)
	case o.Place > Local:
		return o, invalid("Place: %d is unknown", o.Place)
	case !(o.Rebalance >= 0 && o.Rebalance <= 1): // NaN too
		return o, invalid("Rebalance: %v, must be 0 to 1", o.Rebalance)
	case o.Replicas < 0 || o.Replicas > 5:
		return o, invalid("Replicas: %d, must be 0 to 5", o.Replicas)
	}
	if o.Cluster == "" {
		o.Cluster = "default"
	}
	if o.Name == "" {
		o.Name, _ = os.Hostname()
	}
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Codec == nil {
		o.Codec = jsonCodec{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Replicas = max(o.Replicas, 1)
	return o, nil
}

// tokenMost is the length of the longest token: the server disconnects a client that uses a subject of some thousand bytes.
const tokenMost = 200

// keyToken returns a key as a part of a subject or of a record's name: itself, its bytes in base64 after =, or,
// of one that is long, its hash after ==.
func keyToken(key string) string {
	if nameOK.MatchString(key) {
		return key
	}
	if t := "=" + base64.RawURLEncoding.EncodeToString([]byte(key)); len(t) <= tokenMost {
		return t
	}
	h := sha256.Sum256([]byte(key))
	return "==" + base64.RawURLEncoding.EncodeToString(h[:])
}

// tokenKey returns the key that has a token; ok is false if the token does not say it.
func tokenKey(t string) (key string, ok bool) {
	r, encoded := strings.CutPrefix(t, "=")
	if !encoded {
		return t, true
	}
	b, err := base64.RawURLEncoding.DecodeString(r)
	return string(b), err == nil
}

// exact is a string of any bytes, which are the same after JSON.
type exact string

func (e exact) MarshalJSON() ([]byte, error) { return json.Marshal([]byte(e)) }

func (e *exact) UnmarshalJSON(text []byte) error {
	var b []byte
	err := json.Unmarshal(text, &b)
	*e = exact(b)
	return err
}
