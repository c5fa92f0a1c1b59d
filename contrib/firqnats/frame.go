package firqnats

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/firq-go/firq/actor"
)

// A frame is what a NATS message holds: the version, and entries that came together. One for the subject
// firq.<cluster>.<node>.q.<kind> holds requests, and before them the address of the sender; one for
// firq.<cluster>.<address>.a holds answers. Numbers are uvarints, strings have their length before them.

// frameVersion is the first byte of a frame. A node that writes another one cannot join (cluster.go).
const frameVersion = 1

// requestOp says what a request is.
type requestOp uint8

const (
	opCall requestOp = iota
	opTell
	opCancel // the caller of a call has left
)

// request is a message on the way to an actor on another node.
type request struct {
	op       requestOp
	no       uint64        // of the sender's
	sure     bool          // an answer said that the actor is there
	left     time.Duration // until the deadline
	key      string
	method   string
	chain    chain
	headers  map[string]string
	data     []byte
	from     string // the sender's address
	kind     string
	received uint64 // order of arrival
}

func (q *request) id() actor.Identity { return actor.Identity{Kind: q.kind, Key: q.key} }

func (q *request) append(b []byte) []byte {
	head := uint64(q.op) << 1
	if q.sure {
		head |= 1
	}
	b = binary.AppendUvarint(b, head)
	b = binary.AppendUvarint(b, q.no)
	if q.op == opCancel {
		return b
	}
	b = binary.AppendUvarint(b, uint64(max(q.left, 0)))
	b = appendString(b, q.key)
	b = appendString(b, q.method)
	b = q.chain.append(b)
	b = binary.AppendUvarint(b, uint64(len(q.headers)))
	for k, v := range q.headers {
		b = appendString(appendString(b, k), v)
	}
	return appendString(b, q.data)
}

// size is at least the length of what append appends.
func (q *request) size() int {
	n := 64 + len(q.key) + len(q.method) + len(q.data) + q.chain.size()
	for k, v := range q.headers {
		n += len(k) + len(v) + 20
	}
	return n
}

func readRequest(r *reader) *request {
	head := r.uint()
	q := &request{op: requestOp(head >> 1), sure: head&1 != 0, no: r.uint()}
	switch q.op {
	case opCancel:
		return q
	case opCall, opTell:
	default:
		r.fail()
		return q
	}
	q.left = time.Duration(r.uint())
	q.key, q.method = r.string(), r.string()
	q.chain = readChain(r)
	if n := r.count(); n > 0 {
		q.headers = make(map[string]string, n)
		for range n {
			k := r.string()
			q.headers[k] = r.string()
		}
	}
	q.data = r.bytes()
	return q
}

// answerStatus says what has become of a request.
type answerStatus uint8

const (
	statusDone   answerStatus = iota // data is the reply; of a Tell: it was accepted
	statusFailed                     // data is the error
	statusMoved                      // it was not handled; data is the node that may have the actor, or empty
)

// answer to a request.
type answer struct {
	no     uint64
	status answerStatus
	data   []byte
}

func (a *answer) append(b []byte) []byte {
	b = binary.AppendUvarint(b, a.no)
	b = append(b, byte(a.status))
	return appendString(b, a.data)
}

func (a *answer) size() int { return 32 + len(a.data) }

func readAnswer(r *reader) (a answer) {
	a.no, a.status, a.data = r.uint(), answerStatus(r.byte()), r.bytes()
	if a.status > statusMoved {
		r.fail()
	}
	return a
}

// frame returns a reader of what follows the version, or an error if that is another one.
func frame(b []byte) (*reader, error) {
	if len(b) == 0 || b[0] != frameVersion {
		return nil, fmt.Errorf("a frame of %d bytes that is not of version %d", len(b), frameVersion)
	}
	return &reader{b: b[1:]}, nil
}

func appendString[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// reader takes a frame apart. Once something is missing it reads only zeros, and bad is set.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) more() bool { return len(r.b) > 0 }

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads the length of a list, each of whose entries takes at least a byte.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) bytes() []byte {
	n := r.count()
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) string() string { return string(r.bytes()) }
