// Package peers makes actor systems look alike, so that package jobs can give all of them the same work.
//
// The adapters are as thin as the systems allow. They allocate nothing per message: what an adapter hands to a
// handler belongs to the actor, and a message is a pointer, so that no system pays for boxing it.
package peers

import (
	"errors"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/pick"
)

// Patience is how long a call from outside waits for its reply, in systems that ask for a time.
const Patience = 5 * time.Second

// ErrTimeout is the answer to a call that had no reply in time.
var ErrTimeout = errors.New("no reply in time")

// Msg is the only message there is. Its sender hands it over.
type Msg struct {
	N   int64
	Due time.Time // when it should have been sent
	Err error     // in a reply
}

// Handler handles the messages of an actor, one at a time. c is valid until it returns.
type Handler func(c Ctx, m *Msg)

// Ctx is what a handler can do.
type Ctx interface {
	Reply(m *Msg) // to the call that is handled
	Tell(to Ref, m *Msg) error
	Call(to Ref, m *Msg, timeout time.Duration) (res *Msg, err error) // waits in the handler
}

// Ref is an actor, seen from outside. Its methods may be called by several goroutines concurrently.
type Ref interface {
	Tell(m *Msg) error
	// Call waits for the reply. A system that can run an idle actor's handler on its caller's goroutine does so.
	Call(m *Msg) (*Msg, error)
	// CallQueued is a Call that goes through the mailbox. For all systems that know no other way it is Call.
	CallQueued(m *Msg) (*Msg, error)
	// Stop ends the actor. Where that takes a while, it returns immediately, and wait waits for the end; nil: it has ended.
	Stop() (wait func() error)
}

// Kind starts actors that share a handler. Names are unique in a System. At most room messages wait for one of
// these actors at a time, which matters to those that allocate their mailbox at the start.
type Kind interface {
	Spawn(name string, room int) (Ref, error)
	// State makes a state such as each actor of the kind has, so that its size can be subtracted.
	State() any
}

// System is a set of actors.
type System interface {
	Kind(h Handler) Kind
	Close() error
}

// Peer is a contestant.
type Peer struct {
	Name, About string
	Module      string // whose version the tables show; "": none
	Own         bool   // it is ours
	Plain       bool   // it is not an actor library; no goal is relative to it
	New         func() (System, error)
}

// The names of contestants that the tables treat apart: ours, and what a program has without a library.
const (
	Own     = "firq"
	Channel = "channel"
)

// added are peers of which nothing but an adapter is kept here, as text in more/: scripts/peers-actors compiles them
// in elsewhere.
var added []Peer

// All returns the contestants.
func All() []Peer {
	all := []Peer{
		{Name: Own, About: "package actor of this checkout, with the default of everything", Own: true, New: newFirq},
		{
			Name: "hollywood", About: "github.com/anthdm/hollywood: a goroutine per activation",
			Module: "github.com/anthdm/hollywood", New: newHollywood,
		},
		{
			Name: "protoactor", About: "github.com/asynkron/protoactor-go: a goroutine per activation",
			Module: "github.com/asynkron/protoactor-go", New: newProtoactor,
		},
	}
	all = append(all, added...)
	return append(all, Peer{Name: Channel, About: "a goroutine and a channel per actor, nothing else", Plain: true, New: newChannel})
}

// Select returns the contestants with these names, in the order of All; all of them if there are no names.
func Select(names []string) ([]Peer, error) {
	if len(names) == 0 {
		return All(), nil
	}
	return pick.Named("contestant", All(), func(p *Peer) string { return p.Name }, names)
}
