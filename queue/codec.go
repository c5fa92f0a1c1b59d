package queue

import (
	"encoding/json"
	"errors"
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

// decode calls the codec. A panic counts as an error, because a payload causes it: it must not end
// the goroutine that fetches for all consumers.
func (q *Queue[T]) decode(b []byte) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			var zero T
			v, err = zero, fmt.Errorf("panic: %v", p)
		}
	}()
	return q.cfg.Codec.Decode(b)
}

// errExits: the codec ended its goroutine.
var errExits = errors.New("the codec called runtime.Goexit")

// decodeApart is decode in its own goroutine, so that a Goexit of the codec is an error, too.
func (q *Queue[T]) decodeApart(b []byte) (v T, err error) {
	if exits(func() { v, err = q.decode(b) }) {
		err = errExits
	}
	return v, err
}

// exits runs f in a goroutine, waits for it, and reports whether f has ended that with runtime.Goexit.
func exits(f func()) bool {
	returned := make(chan bool, 1)
	go func() {
		ok := false
		defer func() { returned <- ok }()
		f()
		ok = true
	}()
	return !<-returned
}

// codecOf returns the default codec.
func codecOf[T any]() Codec[T] {
	var zero T
	switch any(zero).(type) {
	case []byte:
		return bytesCodec[T]{}
	case Message:
		return messageCodec[T]{}
	}
	return jsonCodec[T]{}
}
