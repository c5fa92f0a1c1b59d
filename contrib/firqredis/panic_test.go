package firqredis

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// stubborn does not encode some payloads.
type stubborn struct{}

func (stubborn) Encode(v string) ([]byte, error) {
	switch v {
	case "panic":
		panic("Encode")
	case "goexit":
		runtime.Goexit()
	}
	return []byte(v), nil
}

func (stubborn) Decode(b []byte) (string, error) {
	switch string(b) {
	case "unreadable":
		panic("Decode")
	case "deadly":
		runtime.Goexit()
	}
	return string(b), nil
}

// TestUserPanics: what is called by Enqueue is the caller's, and enqueues nothing; a Backoff that
// panics is heard of, costs no worker, and its task comes again when its lease has run out.
func TestUserPanics(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		weight := ""
		q := open(t, s, Config[string]{
			Codec: stubborn{}, Lease: 300 * time.Millisecond, MaxAttempts: 5,
			Backoff: Backoff{Func: func(attempt int) time.Duration {
				switch attempt {
				case 1:
					panic("Backoff")
				case 2:
					runtime.Goexit()
				}
				return 0
			}},
			WeightFor: func(tenant string) float64 {
				switch tenant {
				case "panic":
					panic("WeightFor")
				case "goexit":
					weight = tenant
					runtime.Goexit()
				}
				return 1
			},
		})
		for name, task := range map[string]job{
			"Encode panics": {Payload: "panic"}, "Encode exits": {Payload: "goexit"},
			"WeightFor panics": {Tenant: "panic"}, "WeightFor exits": {Tenant: "goexit"},
		} {
			returned, done := false, make(chan any)
			go func() {
				defer func() { done <- recover() }()
				_, _ = q.Enqueue(context.Background(), task)
				returned = true
			}()
			select {
			case v := <-done:
				if returned || (v == nil) != (task.Payload == "goexit" || task.Tenant == "goexit") {
					t.Errorf("%s: returned %t, recovered %v", name, returned, v)
				}
			case <-time.After(patience):
				t.Fatalf("%s: the caller waits for ever", name)
			}
		}
		same(t, "WeightFor was asked", weight, "goexit")
		same(t, "Enqueued", atRest(t, q).Enqueued, 0)

		var mu sync.Mutex
		var heard []string
		hook := func(what string) func(Event[string]) {
			return func(Event[string]) {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, what)
			}
		}
		runs(t, q, func(_ context.Context, it *Item[string]) error {
			if it.Attempt < 4 {
				return errors.New("no")
			}
			return nil
		}, RunOptions[string]{Concurrency: 1, OnPanic: hook("panic"), OnError: hook("error")})
		put(t, q, job{ID: "x"})
		same(t, "Acked", atRest(t, q).Acked, 1)
		mu.Lock()
		defer mu.Unlock()
		equal(t, "heard of", heard, []string{"panic", "error", "error"})
	})
}

// A codec that panics, or ends its goroutine, makes a dead letter of that task, and the others are delivered.
func TestDecodeExits(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Codec: stubborn{}}), bounded(t)
		for _, payload := range []string{"1", "deadly", "unreadable", "deadly", "2"} {
			put(t, q, job{Payload: payload})
		}
		var got []string
		for range 2 {
			it := take(t, q)
			got = append(got, it.Payload)
			ok(t, q.Ack(ctx, it))
		}
		equal(t, "delivered", got, []string{"1", "2"})
		until(t, "the others are dead letters", func() bool { return must(q.Stats(ctx)).DeadLetters == 3 })
		books(t, q)
		n := 0
		for d := range q.DeadLetters(ctx, Filter{Reason: "payload: the codec called runtime.Goexit", Tenant: DefaultName, Limit: 1}) {
			same(t, "Raw", string(d.Raw), "deadly")
			n++
		}
		same(t, "the reason", n, 1)
	})
}
