// Package protobuf encodes the messages and states of a cluster's actors that are Protocol Buffers as such. It is a
// package by itself so that only programs that use it link Protocol Buffers.
//
//	node, err := firqnats.Join(ctx, nc, sys, firqnats.Options{Codec: protobuf.Codec{}})
package protobuf

import (
	"encoding/json"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/firq-go/firq/contrib/firqnats"
)

// Codec is a firqnats.Codec: a proto.Message is encoded as such, all else as JSON. Requests, replies and states are
// pointers to messages, *pb.Order; a nil one arrives as one without fields. An Options.Store takes a state of no bytes, which
// a message without fields is, for none.
type Codec struct{}

var _ firqnats.Codec = Codec{}

var message = reflect.TypeFor[proto.Message]()

// Encode implements firqnats.Codec.
func (Codec) Encode(v any) ([]byte, error) {
	if m, ok := v.(proto.Message); ok {
		return proto.Marshal(m)
	}
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(message) {
		return nil, fmt.Errorf("protobuf: %v is a message by value, which must not be copied: use a pointer", t)
	}
	return json.Marshal(v)
}

// Decode implements firqnats.Codec.
func (Codec) Decode(data []byte, v any) error {
	if m, ok := v.(proto.Message); ok {
		return proto.Unmarshal(data, m)
	}
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer || !t.Elem().Implements(message) {
		return json.Unmarshal(data, v)
	}
	if t.Elem().Kind() != reflect.Pointer {
		return fmt.Errorf("protobuf: %v does not say which message it is: use a pointer to one", t.Elem())
	}
	m := reflect.New(t.Elem().Elem())
	if err := proto.Unmarshal(data, m.Interface().(proto.Message)); err != nil {
		return err
	}
	reflect.ValueOf(v).Elem().Set(m)
	return nil
}
