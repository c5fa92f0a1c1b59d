package lockfree

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/firq-go/firq"
)

// No slot keeps a payload alive.
func TestBatchForgetsPayloads(t *testing.T) {
	t.Run("plain", func(t *testing.T) { testBatchForgetsPayloads(t, time.Time{}) })
	t.Run("with deadlines", func(t *testing.T) { testBatchForgetsPayloads(t, far()) })
}

func testBatchForgetsPayloads(t *testing.T, deadline time.Time) {
	type large [1 << 10]byte
	s, err := newAt(firq.Config[string, *large]{Shards: 1}, 0, inboxSize)
	if err != nil {
		t.Fatal(err)
	}
	var payloads []weak.Pointer[large]
	func() {
		ts := make([]firq.Task[*large], batchSize)
		for i := range ts {
			ts[i].Payload, ts[i].Deadline = new(large), deadline
			payloads = append(payloads, weak.Make(ts[i].Payload))
		}
		if n, err := s.EnqueueBatch("a", ts); n != len(ts) || err != nil {
			t.Fatalf("EnqueueBatch: %d, %v", n, err)
		}
		for range ts {
			if _, ok := s.TryDequeue(); !ok {
				t.Fatal("nothing to dequeue")
			}
		}
	}()
	for end := time.Now().Add(patience); ; runtime.GC() {
		alive := 0
		for _, p := range payloads {
			if p.Value() != nil {
				alive++
			}
		}
		if alive == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d payloads are alive", alive, len(payloads))
		}
	}
	runtime.KeepAlive(s)
}
