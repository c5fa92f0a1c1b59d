package embedded_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/contrib/firqredis/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEmbedded(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	q, err := embedded.New(ctx, firqredis.Config[string]{Lease: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	other, err := embedded.New(ctx, firqredis.Config[string]{}) // has its own server
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if _, err := q.Enqueue(ctx, firqredis.Task[string]{Payload: "a", UniqueKey: "k", UniqueFor: 30 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for attempt := 1; attempt < 3; attempt++ { // leases run out by themselves
		it, err := q.Dequeue(ctx)
		if err != nil || it.Payload != "a" || it.Attempt != attempt {
			t.Fatalf("%+v, %v", it, err)
		}
	}
	for err = firqredis.ErrDuplicate; errors.Is(err, firqredis.ErrDuplicate); { // and so do keys
		_, err = q.Enqueue(ctx, firqredis.Task[string]{UniqueKey: "k"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if s, err := other.Stats(ctx); err != nil || s.Enqueued != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Enqueue(ctx, firqredis.Task[string]{}); err != firq.ErrClosed {
		t.Fatal(err)
	}
}

func TestRefuses(t *testing.T) {
	ctx := context.Background()
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = c.Close() }()
	if _, err := embedded.New(ctx, firqredis.Config[string]{Client: c}); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error(err)
	}
	if _, err := embedded.New(ctx, firqredis.Config[string]{Name: "{"}); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error(err)
	}
	if _, err := embedded.New(nil, firqredis.Config[string]{}); !errors.Is(err, firq.ErrInvalidArgument) { //nolint:staticcheck // on purpose
		t.Error(err)
	}
}
