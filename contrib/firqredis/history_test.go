package firqredis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// history is what producers and workers were told; check holds it against the contract.
type history struct {
	mu        sync.Mutex
	accepted  map[string]bool
	delivered map[string]map[int]uint64 // id: attempt: token
	acks      map[string]int            // that returned nil
	open      map[string]int            // whose outcome is not known
	wrong     []error
	forgets   bool // the server may forget acks, and tokens with them: tasks come again, and are settled again
}

// again returns how many tasks were settled more than once.
func (h *history) again() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.acks {
		n += min(k-1, 1)
	}
	return n
}

func newHistory() *history {
	return &history{accepted: map[string]bool{}, delivered: map[string]map[int]uint64{}, acks: map[string]int{}, open: map[string]int{}}
}

// rounds is how many faults a test brings about: more, if the environment says so.
func rounds(n int) int {
	if k, err := strconv.Atoi(os.Getenv("FIRQREDIS_FAULTS")); err == nil {
		return k
	}
	return n
}

// produce enqueues until ctx is done, and repeats what it has no answer to: by UniqueKey it is the same task, even if
// that has ended in between.
func (h *history) produce(ctx context.Context, t *testing.T, q *Queue[string], who int) {
	for k := 0; ctx.Err() == nil; k++ {
		id := fmt.Sprintf("%d-%d", who, k)
		for {
			got, err := q.Enqueue(bounded(t), job{ID: id, Tenant: fmt.Sprint("t", k%5), UniqueKey: id, UniqueFor: time.Hour, MaxAttempts: 1000})
			if err == nil || errors.Is(err, ErrDuplicate) {
				h.mu.Lock()
				h.accepted[id] = true
				if got != id {
					h.wrong = append(h.wrong, fmt.Errorf("%s is known as %s", id, got))
				}
				h.mu.Unlock()
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// consume handles tasks until ctx is done. Each Ack is repeated until it is answered.
func (h *history) consume(ctx context.Context, q *Queue[string]) {
	for ctx.Err() == nil {
		its, err := q.DequeueBatch(ctx, 3)
		if err != nil {
			at(q).sleepFor(ctx, 2*time.Millisecond)
			continue
		}
		for _, it := range its {
			h.deliver(it)
			unanswered := 0
			for {
				err := q.Ack(context.Background(), it)
				if err == nil || errors.Is(err, ErrLeaseLost) {
					h.mu.Lock()
					if err == nil {
						h.acks[it.ID]++
					} else {
						h.open[it.ID] += unanswered
					}
					h.mu.Unlock()
					break
				}
				unanswered++
				time.Sleep(2 * time.Millisecond)
			}
		}
	}
}

// deliver notes a delivery. Its token is greater than that of each earlier attempt.
func (h *history) deliver(it *Item[string]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.delivered[it.ID]
	if all == nil {
		all = map[int]uint64{}
		h.delivered[it.ID] = all
	}
	for attempt, token := range all {
		if !h.forgets && (attempt < it.Attempt && token >= it.Token || token == it.Token) {
			h.wrong = append(h.wrong, fmt.Errorf("%s: attempt %d has token %d, attempt %d had %d", it.ID, it.Attempt, it.Token, attempt, token))
		}
	}
	all[it.Attempt] = it.Token
}

// check drains the queue: all that was accepted was settled, once, and the books say the same.
func (h *history) check(t *testing.T, q *Queue[string]) Stats {
	t.Helper()
	var st Stats
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); h.consume(ctx, q) }()
	until(t, "the queue is empty", func() bool {
		var err error
		st, err = q.Stats(context.Background())
		return err == nil && st.Queued+st.Delayed+st.InFlight == 0
	})
	cancel()
	<-done
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.accepted) == 0 {
		t.Error("nothing was accepted")
	}
	for id := range h.accepted {
		switch {
		case len(h.delivered[id]) == 0:
			t.Errorf("%s is lost", id)
		case h.acks[id] > 1 && !h.forgets:
			t.Errorf("%s was settled %d times", id, h.acks[id])
		case h.acks[id]+h.open[id] == 0:
			t.Errorf("%s was never settled", id)
		}
	}
	for _, err := range h.wrong {
		t.Error(err)
	}
	same(t, "Enqueued", st.Enqueued, uint64(len(h.accepted)))
	same(t, "Acked", st.Acked, uint64(len(h.accepted)))
	return books(t, q)
}
