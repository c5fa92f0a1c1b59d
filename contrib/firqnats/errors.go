package firqnats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/firq-go/firq/actor"
)

// Sentinels for errors.Is.
var (
	// ErrLost: the message may have been handled: its node is gone, or did not answer.
	ErrLost = errors.New("firqnats: no answer: the message may have been handled")
	// ErrFenced: another activation of the actor may have begun, so this one ends.
	ErrFenced = errors.New("firqnats: fenced: another activation has taken over")
	// ErrUnsaved: whether the state was saved is not known; the activation ends.
	ErrUnsaved = errors.New("firqnats: whether the state was saved is not known")
	// ErrUnknown: no node knows the kind, or the kind does not know the method.
	ErrUnknown = errors.New("firqnats: unknown kind or method")
	// ErrMismatch: Lease, Codec or the version of messages differ from the cluster's.
	ErrMismatch = errors.New("firqnats: Lease, Codec or version differ from the cluster's")
	// ErrUnsupported: the server is too old for what was asked.
	ErrUnsupported = errors.New("firqnats: the server does not support this")
	// ErrNotFound: an Observer found no such cluster, or no such node.
	ErrNotFound = errors.New("firqnats: not found")
)

// registered are the errors that keep their identity between nodes.
var registered = struct {
	sync.RWMutex
	byCode map[string]error
	codes  []string // in order
}{}

func init() {
	for code, err := range map[string]error{
		"stopped": actor.ErrStopped, "deadlock": actor.ErrDeadlock, "timeout": actor.ErrTimeout,
		"full": actor.ErrMailboxFull, "notsent": actor.ErrNotSent, "stale": actor.ErrStale,
		"nametaken": actor.ErrNameTaken, "panicked": actor.ErrPanicked, "goexit": actor.ErrGoexit,
		"canceled": context.Canceled, "deadline": context.DeadlineExceeded,
		"lost": ErrLost, "fenced": ErrFenced, "unsaved": ErrUnsaved, "unknown": ErrUnknown,
		"mismatch": ErrMismatch, "unsupported": ErrUnsupported,
	} {
		RegisterError(code, err)
	}
}

// RegisterError lets an error that a handler returns match err where the call was made, on any node. Call
// it in init, with the same code in all programs of the cluster. It panics if the code is empty or taken.
func RegisterError(code string, err error) {
	registered.Lock()
	defer registered.Unlock()
	if _, taken := registered.byCode[code]; taken || code == "" || err == nil {
		panic(fmt.Sprintf("firqnats: RegisterError: the code %q is empty or taken, or the error is nil", code))
	}
	if registered.byCode == nil {
		registered.byCode = map[string]error{}
	}
	registered.byCode[code] = err
	at, _ := slices.BinarySearch(registered.codes, code)
	registered.codes = slices.Insert(registered.codes, at, code)
}

// RemoteError is an error of another node. It matches the registered errors that the original matched,
// and *actor.DeadlockError if it has a Cycle.
type RemoteError struct {
	Text  string
	Codes []string `json:",omitempty"` // of the registered errors
	Cycle []string `json:",omitempty"` // of a deadlock
}

func (e *RemoteError) Error() string { return e.Text }

// Unwrap returns the registered errors.
func (e *RemoteError) Unwrap() (errs []error) {
	registered.RLock()
	defer registered.RUnlock()
	for _, c := range e.Codes {
		if err := registered.byCode[c]; err != nil {
			errs = append(errs, err)
		}
	}
	if len(e.Cycle) > 0 {
		errs = append(errs, &actor.DeadlockError{Cycle: e.Cycle})
	}
	return errs
}

// encodeError encodes the error of a call in at most a number of bytes. c says what waits for it: those are a
// part of a deadlock that was found here.
func encodeError(err error, c chain, most int) []byte {
	r := RemoteError{Text: err.Error()}
	var (
		dead   *actor.DeadlockError
		before *RemoteError
	)
	if errors.As(err, &dead) {
		r.Cycle = dead.Cycle
		if len(c) > 0 && !errors.As(err, &before) {
			whole := &actor.DeadlockError{Cycle: c.cycle(dead.Cycle)}
			r.Text, r.Cycle = strings.Replace(r.Text, dead.Error(), whole.Error(), 1), whole.Cycle
		}
	}
	registered.RLock()
	for _, c := range registered.codes {
		if errors.Is(err, registered.byCode[c]) {
			r.Codes = append(r.Codes, c)
		}
	}
	registered.RUnlock()
	if errors.As(err, &before) { // of a third node: its codes need not be registered here
		for _, c := range before.Codes {
			if c != "notsent" && !slices.Contains(r.Codes, c) {
				r.Codes = append(r.Codes, c)
			}
		}
	}
	b, _ := json.Marshal(r)
	if len(b) > most { // a byte of text may take six
		r.Text, r.Cycle = strings.ToValidUTF8(r.Text[:min(len(r.Text), most/8)], "")+"...", nil
		b, _ = json.Marshal(r)
	}
	return b
}

func decodeError(b []byte) error {
	r := &RemoteError{}
	if err := json.Unmarshal(b, r); err != nil {
		r.Text = "firqnats: an error that cannot be read: " + err.Error()
	}
	return r
}

// refused is why a message was not accepted: it also matches actor.ErrNotSent.
type refused struct{ why error }

func (r *refused) Error() string        { return r.why.Error() }
func (r *refused) Unwrap() error        { return r.why }
func (r *refused) Is(target error) bool { return target == actor.ErrNotSent }

func notSent(why error) error { return &refused{why} }

var errLeft = notSent(actor.ErrStopped)

// guard calls f, code of the user, and returns what it panicked with as an error.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("firqnats: panicked: %v", v)
		}
	}()
	return f()
}
