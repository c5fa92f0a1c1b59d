package firqredis

import (
	"encoding/json"
	"fmt"
)

// Codec turns payloads into bytes and back. Both methods may be called concurrently.
type Codec[T any] interface {
	Encode(v T) ([]byte, error)
	Decode(b []byte) (T, error)
}

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Encode(v T) ([]byte, error) { return json.Marshal(v) }

func (jsonCodec[T]) Decode(b []byte) (v T, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

// bytesCodec is for T = []byte.
type bytesCodec[T any] struct{}

func (bytesCodec[T]) Encode(v T) ([]byte, error) { return any(v).([]byte), nil }
func (bytesCodec[T]) Decode(b []byte) (T, error) { return any(b).(T), nil }

// decode is the codec's. A panic is an error, as it is the payload that brings it about: it must not end
// the goroutine that fetches for everybody.
func (q *Queue[T]) decode(b []byte) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			var zero T
			v, err = zero, fmt.Errorf("panic: %v", p)
		}
	}()
	return q.cfg.Codec.Decode(b)
}

// codecOf returns the codec that is used if none is given.
func codecOf[T any]() Codec[T] {
	var zero T
	if _, ok := any(zero).([]byte); ok {
		return bytesCodec[T]{}
	}
	return jsonCodec[T]{}
}
