package firqnats

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/firq-go/firq/actor"
)

// safeBuffer is a log that may be read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Contains(s.b.Bytes(), []byte(text))
}

// noBucket takes the cluster's bucket away.
func (n *testNode) noBucket(t *testing.T) {
	t.Helper()
	if err := n.js.DeleteStream(bounded(t), "KV_"+bucketOf(n.o.Cluster)); err != nil {
		t.Fatal(err)
	}
}

// The bucket is deleted: nodes rest, and say why; senders without a deadline get an error; Leave ends. Once another
// node has made the bucket again, they are members again.
func TestBucketDeleted(t *testing.T) {
	t.Parallel()
	o, log := options(t), &safeBuffer{}
	o.Timeout, o.Logger = time.Second, slog.New(slog.NewTextHandler(log, nil))
	n := join(t, o)
	k := kind(t, n)
	ctx := bounded(t)
	must(keep.Call(ctx, k.Ref("x"), 1))(t)
	n.noBucket(t)
	if _, err := keep.Call(ctx, k.Ref("x"), 1); !errors.Is(err, ErrUnsaved) {
		t.Error("a save without a bucket:", err)
	}
	eventually(t, "the node rests", func() bool { return !n.life.Load().holds() })
	eventually(t, "and says so", func() bool { return log.has("this node rests") })
	endless, cancel := context.WithCancel(context.Background())
	defer cancel()
	refused := make(chan error, 2)
	go func() {
		_, err := add.Call(endless, k.Ref("y"), 1)
		refused <- err
		refused <- add.Tell(endless, k.Ref("y"), 1)
	}()
	for range 2 {
		select {
		case err := <-refused:
			if !errors.Is(err, actor.ErrNotSent) {
				t.Error("a message without a deadline:", err)
			}
		case <-time.After(patience / 2):
			t.Fatal("a message without a deadline waits for ever")
		}
	}
	join(t, o)
	eventually(t, "it works again", func() bool { _, err := add.Call(ctx, k.Ref("y"), 1); return err == nil })
	if s := n.Stats(); s.Fenced != 1 {
		t.Errorf("%+v", s)
	}
}

// noCreate is a bucket that takes no new records.
type noCreate struct{ jetstream.KeyValue }

func (noCreate) Create(context.Context, string, []byte, ...jetstream.KVCreateOpt) (uint64, error) {
	return 0, errors.New("no")
}

// A node that others took for dead cannot join again, as the server does not let it: Leave ends with its ctx.
func TestLeaveWhileJoiningAgain(t *testing.T) {
	n := join(t, slow(t))
	ctx := bounded(t)
	if err := n.kv.Purge(ctx, keyNode+n.ID()); err != nil {
		t.Fatal(err)
	}
	n.kv = noCreate{n.kv}
	go n.renew(ctx)
	eventually(t, "it is fenced", func() bool { return n.Stats().Fenced == 1 })
	short, end := context.WithTimeout(ctx, 100*time.Millisecond)
	defer end()
	left := make(chan error, 1)
	go func() { left <- n.Leave(short) }()
	select {
	case <-left:
	case <-time.After(patience / 3):
		t.Fatal("Leave has not ended")
	}
}
