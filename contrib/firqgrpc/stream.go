package firqgrpc

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/firq-go/firq/gate"
)

// none is no permit.
var none gate.Permit[string]

// stream is a ServerStream with another context.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *stream) Context() context.Context { return s.ctx }

// messages is a ServerStream that takes a slot for each message it receives.
type messages struct {
	grpc.ServerStream
	ctx  context.Context
	in   *Interceptor
	call Call // of the stream: without Request

	mu     sync.Mutex          // protects the rest; never held during a call of something else
	permit gate.Permit[string] // of the last message; zero: none
	over   bool                // the handler has returned
}

func (m *messages) Context() context.Context { return m.ctx }

// RecvMsg gives the slot back while it waits for the next message.
func (m *messages) RecvMsg(msg any) error {
	m.swap(none, false)
	if err := m.ServerStream.RecvMsg(msg); err != nil {
		return err
	}
	call := m.call
	call.Request = msg
	p, err := m.in.acquire(m.ctx, &call, m.SetTrailer)
	if err != nil {
		return err
	}
	m.swap(p, false)
	return nil
}

// end is called when the handler has returned. A goroutine that it left behind may
// still be in RecvMsg.
func (m *messages) end() { m.swap(none, true) }

// swap puts p in the place of the permit of the message before, which it releases;
// after the end it releases p instead.
func (m *messages) swap(p gate.Permit[string], over bool) {
	m.mu.Lock()
	m.over = m.over || over
	old := m.permit
	if m.over {
		m.permit = none
	} else {
		m.permit = p
		p = none
	}
	m.mu.Unlock()
	for _, done := range []gate.Permit[string]{old, p} {
		if done != none {
			m.in.release(done)
		}
	}
}

// Charge charges the message in progress.
func (m *messages) Charge(delta int64) {
	m.mu.Lock()
	p := m.permit
	m.mu.Unlock()
	p.Charge(delta)
}
