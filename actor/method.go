package actor

import (
	"fmt"
	"sync"
	"time"

	"github.com/firq-go/firq"
)

// Handles: what a program declares once for each kind of message. A handle knows the types of
// state, request and reply, so a call through it needs no assertion by the user; what does not
// depend on types is in method, which messages carry.

// Method is a kind of message: a method of the state S of an actor, with its request
// and reply. Make one with NewMethod or NewAction, as a variable of the package. It is
// immutable, safe for concurrent use, and belongs to no System.
type Method[S, Req, Res any] struct {
	method
	fn   func(S, *Ctx, Req) (Res, error)
	asks sync.Pool // *ask[S, Req, Res], without a waiter: those belong to a System
}

// Nothing is the request of a method that needs none, as in Get.Call(ctx, ref, actor.Nothing{}), and
// the reply of an action.
type Nothing = struct{}

// method is the part of a Method that does not depend on types.
type method struct {
	// For errors, metrics, traces, and for engines that find a method by its name.
	name     string
	kind     kind // of the state
	timeout  time.Duration
	mode     TimeoutMode
	prio     firq.Priority
	readOnly bool
	inline   bool
	// Memory of messages. In the handle and not in the System, as its type is the handle's;
	// nothing in it belongs to a bubble of testing/synctest.
	tells   sync.Pool // *envelope of a tellOf, and of others behind it, by next
	bundles sync.Pool // *packOf[S, Req, Res]
	bulk    int       // room of a pack; 0: tells are not packed
}

// NewMethod makes a kind of message with a reply. name is for errors, metrics and
// traces. It panics on an empty name, a nil fn or an invalid option.
func NewMethod[S, Req, Res any](name string, fn func(S, *Ctx, Req) (Res, error), opts ...MethodOption) *Method[S, Req, Res] {
	if fn == nil {
		panic("actor: NewMethod: fn is nil")
	}
	m := &Method[S, Req, Res]{fn: fn}
	m.name, m.kind, m.prio = name, kindOf[S]{}, firq.PriorityNormal
	for _, o := range opts {
		if o == nil {
			panic("actor: NewMethod: an option is nil")
		}
		// Options change what is without types; they cannot fail, so check does.
		o(&m.method)
	}
	// After the options, as each of them may have set what it checks.
	m.check()
	// Decided once, by the size of a request and the options.
	m.pack(bulk[Req]())
	return m
}

// NewAction makes a kind of message whose only reply is an error.
func NewAction[S, Req any](name string, fn func(S, *Ctx, Req) error, opts ...MethodOption) *Method[S, Req, struct{}] {
	if fn == nil {
		panic("actor: NewAction: fn is nil")
	}
	return NewMethod(name, func(s S, c *Ctx, req Req) (struct{}, error) { return struct{}{}, fn(s, c, req) }, opts...)
}

// check panics, as a method is a variable of a package: a wrong option shows when the program
// starts.
func (m *method) check() {
	if m.prio == 0 {
		m.prio = firq.PriorityNormal
	}
	switch {
	case m.name == "":
		panic("actor: NewMethod: the name is empty")
	case m.prio > firq.PriorityCritical:
		// The lists of a mailbox are an array by priority.
		panic(fmt.Sprintf("actor: NewMethod: WithPriority: unknown priority %d", m.prio))
	case m.timeout < 0:
		panic(fmt.Sprintf("actor: NewMethod: WithTimeout: %v, must not be negative", m.timeout))
	case m.mode > Stop:
		panic(fmt.Sprintf("actor: NewMethod: WithTimeout: unknown mode %d", m.mode))
	}
}

// Name of the method, as given to NewMethod; "" of nil.
func (m *Method[S, Req, Res]) Name() string {
	if m == nil {
		return ""
	}
	return m.name
}
