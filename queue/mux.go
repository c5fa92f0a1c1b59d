package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Message is the payload of a queue that carries tasks of several kinds. Make it with NewMessage, and have a Mux handle it. Without a
// Codec it is stored as the kind, a line break, and the data.
type Message struct {
	Kind string // without line breaks
	Data []byte
}

// NewMessage returns a message whose data is v as JSON; a []byte is the data itself.
func NewMessage[T any](kind string, v T) (Message, error) {
	data, err := codecOf[T]().Encode(v)
	if err != nil {
		return Message{}, invalidTask("Payload: %v", err)
	}
	return Message{kind, data}, nil
}

// Mux calls the handler of each message's kind: its Handle is a handler for Run. Register all handlers before; then it is safe for
// concurrent use.
type Mux struct {
	kinds map[string]func(ctx context.Context, it *Item[Message]) error
}

// NewMux returns a Mux without handlers.
func NewMux() *Mux {
	return &Mux{kinds: map[string]func(ctx context.Context, it *Item[Message]) error{}}
}

// Handle registers the handler of a kind. Data that is not JSON of T makes a dead letter. It panics if the kind has a handler already.
func Handle[T any](m *Mux, kind string, h func(ctx context.Context, it *Item[T]) error) {
	if _, twice := m.kinds[kind]; twice || h == nil {
		panic(fmt.Sprintf("queue: Handle: kind %q has a handler already, or this one is nil", kind))
	}
	codec := codecOf[T]()
	m.kinds[kind] = func(ctx context.Context, it *Item[Message]) error {
		v, err := codec.Decode(it.Payload.Data)
		if err != nil {
			return Dead(fmt.Errorf("kind %q: payload: %w", kind, err))
		}
		own := &Item[T]{Task: withPayload(&it.Task, v), Attempt: it.Attempt, Wait: it.Wait, Token: it.Token, LeaseUntil: it.LeaseUntil, result: it.result, room: it.room}
		defer func() { // also when it panics
			it.charge, it.result, it.settled = it.charge+own.charge, own.result, it.settled || own.settled
		}()
		return h(ctx, own)
	}
}

// Handle calls the handler of the message's kind. A task of a kind without handler fails and is tried again: in a rolling deployment a
// worker of the next version may know it.
func (m *Mux) Handle(ctx context.Context, it *Item[Message]) error {
	h, ok := m.kinds[it.Payload.Kind]
	if !ok {
		return fmt.Errorf("queue: no handler for kind %q, but for %q", it.Payload.Kind, slices.Sorted(maps.Keys(m.kinds)))
	}
	return h(ctx, it)
}

// messageCodec is the default codec of messages.
type messageCodec[T any] struct{} // T is Message

func (messageCodec[T]) Encode(v T) ([]byte, error) {
	m := any(v).(Message)
	if strings.ContainsAny(m.Kind, "\r\n") {
		return nil, fmt.Errorf("kind %q: has line breaks", m.Kind)
	}
	return slices.Concat([]byte(m.Kind), []byte("\n"), m.Data), nil
}

func (messageCodec[T]) Decode(b []byte) (v T, err error) {
	kind, data, ok := bytes.Cut(b, []byte("\n"))
	if !ok {
		return v, errors.New("not a message: there is no kind")
	}
	return any(Message{string(kind), data}).(T), nil
}
