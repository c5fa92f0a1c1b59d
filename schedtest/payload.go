package schedtest

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// block is a payload large enough to be missed.
type block = *[1 << 16]byte

// RunPayload tests that a scheduler in use does not keep the payloads of tasks that have
// ended, in any of the ways in which a task can end.
func RunPayload[S firq.Scheduler[string, block]](t *testing.T, newScheduler func(firq.Config[string, block]) (S, error)) {
	for _, c := range []struct {
		name string
		end  func(*testing.T, firq.Scheduler[string, block], *payloads)
	}{
		{"dequeued one by one", payloadTry},
		{"dequeued in batches", payloadBatch},
		{"dequeued newest first", payloadTry},
		{"expired", payloadExpired},
		{"cancelled", payloadCancelled},
		{"evicted", payloadEvicted},
		{"closed", payloadClosed},
	} {
		for _, shards := range []int{1, 8} {
			t.Run(c.name, func(t *testing.T) {
				cfg := firq.Config[string, block]{Shards: shards}
				switch c.name {
				case "dequeued newest first":
					cfg.Order = firq.LIFO
				case "evicted":
					cfg.MaxPerTenant, cfg.Backpressure = 5, policy(firq.DropOldest)
				}
				s, err := newScheduler(cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				guard(t, func() {
					var p payloads
					c.end(t, s, &p)
					p.gone(t)
				})
				runtime.KeepAlive(s)
			})
		}
	}
}

// payloads makes blocks and counts those that were collected.
type payloads struct {
	made      int64
	collected atomic.Int64
}

func (p *payloads) next() block {
	b := new([1 << 16]byte)
	p.made++
	runtime.AddCleanup(b, func(n *atomic.Int64) { n.Add(1) }, &p.collected)
	return b
}

// add enqueues n tasks for each of three tenants.
func (p *payloads) add(t *testing.T, s firq.Scheduler[string, block], n int, tk firq.Task[block]) {
	t.Helper()
	for range n {
		for _, tenant := range []string{"a", "b", "c"} {
			tk.Payload = p.next()
			if err := s.Enqueue(tenant, tk); err != nil {
				t.Fatalf("Enqueue: %v", err)
			}
		}
	}
}

// gone waits until every block has been collected.
func (p *payloads) gone(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); p.collected.Load() < p.made; {
		runtime.GC()
		if time.Now().After(end) {
			t.Fatalf("%d of %d payloads are kept alive after their tasks have ended", p.made-p.collected.Load(), p.made)
		}
		time.Sleep(time.Millisecond)
	}
}

func payloadTry(t *testing.T, s firq.Scheduler[string, block], p *payloads) {
	p.add(t, s, 20, firq.Task[block]{})
	payloadDrain(t, s)
}

func payloadDrain(t *testing.T, s firq.Scheduler[string, block]) {
	t.Helper()
	for s.Len() > 0 {
		if _, ok := s.TryDequeue(); !ok {
			t.Fatalf("TryDequeue reports false with %d tasks queued", s.Len())
		}
	}
}

func payloadBatch(t *testing.T, s firq.Scheduler[string, block], p *payloads) {
	p.add(t, s, 20, firq.Task[block]{})
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for s.Len() > 0 {
		if _, err := s.DequeueBatch(ctx, make([]firq.Item[string, block], 7)); err != nil {
			t.Fatalf("DequeueBatch: %v", err)
		}
	}
}

func payloadExpired(t *testing.T, s firq.Scheduler[string, block], p *payloads) {
	p.add(t, s, 20, firq.Task[block]{Deadline: longPast})
	for s.Len() > 0 {
		s.TryDequeue()
	}
}

func payloadCancelled(t *testing.T, s firq.Scheduler[string, block], p *payloads) {
	tks := make([]firq.Ticket, 60)
	for i := range tks {
		if err := s.Enqueue("a", firq.Task[block]{Payload: p.next(), Ticket: &tks[i]}); err != nil {
			t.Fatalf("Enqueue: %v", err)
		}
	}
	for i := range tks {
		if !tks[i].Cancel() {
			t.Fatal("Cancel is false")
		}
	}
	p.gone(t)
	runtime.KeepAlive(tks) // a ticket must not keep its task's payload either
}

func payloadEvicted(t *testing.T, s firq.Scheduler[string, block], p *payloads) {
	p.add(t, s, 20, firq.Task[block]{}) // 15 of each tenant's are evicted
	kept := int64(15)
	for end := time.Now().Add(patience); p.collected.Load() < p.made-kept; {
		runtime.GC()
		if time.Now().After(end) {
			t.Fatalf("%d of %d payloads were collected, want all but %d", p.collected.Load(), p.made, kept)
		}
		time.Sleep(time.Millisecond)
	}
	payloadDrain(t, s)
}

func payloadClosed(t *testing.T, s firq.Scheduler[string, block], p *payloads) {
	p.add(t, s, 20, firq.Task[block]{})
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}
