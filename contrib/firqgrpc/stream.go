package firqgrpc

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/firq-go/firq/adapter"
)

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

	outer adapter.Slot // immutable; of the innermost adapter outside; nil: there is none

	mu   sync.Mutex // protects the rest; never held during a call of something else
	slot *slot      // of the last message; nil: none
	over bool       // the handler has returned
}

func (m *messages) Context() context.Context { return m.ctx }

// Gate, Outer, Join and Leave implement adapter.Slot. Until its handler returns, what comes with such
// a stream takes no slot of the gate, even between messages: the next message would wait for it.

func (m *messages) Gate() any           { return m.in.gate }
func (m *messages) Outer() adapter.Slot { return m.outer }
func (m *messages) Leave()              {}

func (m *messages) Join() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.over
}

// RecvMsg gives the slot back while it waits for the next message.
func (m *messages) RecvMsg(msg any) error {
	m.swap(nil, false).free(false)
	if err := m.ServerStream.RecvMsg(msg); err != nil {
		return err
	}
	call := m.call
	call.Request = msg
	s, err := m.in.acquire(m.ctx, &call, m.SetTrailer)
	if err != nil {
		return err
	}
	m.swap(s, false).free(false)
	return nil
}

// end is called when the handler has returned, or was aborted. A goroutine that it
// left behind may still be in RecvMsg.
func (m *messages) end(returned *bool) { m.swap(nil, true).free(!*returned) }

// swap puts s in the place of the slot of the message before, and returns that one,
// to be freed; after the end it returns s instead. (It was nil before.)
func (m *messages) swap(s *slot, over bool) *slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return s
	}
	old := m.slot
	m.slot, m.over = s, over
	return old
}

func (m *messages) current() *slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slot
}

// Charge charges the message in progress.
func (m *messages) Charge(ctx context.Context, delta int64) { m.current().Charge(ctx, delta) }

// Waited returns the wait of the message in progress.
func (m *messages) Waited() time.Duration { return m.current().Waited() }
