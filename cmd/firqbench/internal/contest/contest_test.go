package contest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

func names(cs []Contestant) (ns []string) {
	for _, c := range cs {
		ns = append(ns, c.Name)
	}
	return ns
}

func TestSelect(t *testing.T) {
	all := []Contestant{{Name: Lockfree}, {Name: OneLock}, {Name: Channel}, {Name: Floor, OnlyNamed: true}}
	for _, c := range []struct{ pick, want []string }{
		{nil, []string{Lockfree, OneLock, Channel}},
		{[]string{Channel, Lockfree}, []string{Lockfree, Channel}},
		{[]string{Floor, Lockfree}, []string{Lockfree, Floor}},
		{[]string{"baseline"}, []string{OneLock}},
		{[]string{"baseline", OneLock}, []string{OneLock}},
	} {
		got, err := Select(all, c.pick)
		if err != nil || !slices.Equal(names(got), c.want) {
			t.Errorf("Select(%v) = %v, %v, want %v", c.pick, names(got), err, c.want)
		}
	}
	_, err := Select(all, []string{Channel, "chanel"})
	if err == nil || !strings.Contains(err.Error(), `"chanel"`) || !strings.Contains(err.Error(), "lockfree, baseline-1, channel") {
		t.Errorf("unknown name: %v", err)
	}
}

// All contestants pass the same small test: what goes in comes out, once, and
// Shutdown ends it.
func TestContestants(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, c := range append(ForRun(), ForReplay()...) {
		if c.WakeOnly {
			continue // holds nothing
		}
		t.Run(c.Name, func(t *testing.T) {
			expired := 0
			q, err := c.New(Config{MaxGlobal: 8, OnDrop: func(_ string, _ uint64, why firq.DropReason) {
				if why == firq.DropExpired {
					expired++
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			for i := range uint64(5) {
				if err := q.Enqueue("t", Task{Payload: i}); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := q.EnqueueBatch("t", []Task{{Payload: 5}, {Payload: 6}}); n != 2 || err != nil {
				t.Fatal(n, err)
			}
			if err := q.EnqueueWait(ctx, "t", Task{Payload: 7, Deadline: time.Now().Add(-time.Second)}); err != nil {
				t.Fatal(err)
			}
			it, ok := q.TryDequeue()
			if !ok || it.Payload != 0 || it.Tenant != "t" || it.Wait < 0 {
				t.Fatalf("TryDequeue: %+v, %v", it, ok)
			}
			if it, err := q.Dequeue(ctx); err != nil || it.Payload != 1 {
				t.Fatalf("Dequeue: %+v, %v", it, err)
			}
			if err := q.Enqueue("t", Task{Cost: -1}); !errors.Is(err, firq.ErrInvalidTask) {
				t.Errorf("cost -1: %v", err)
			}
			done := make(chan error)
			go func() { done <- q.Shutdown(ctx) }()
			var rest []uint64
			items := make([]Item, 3)
			for {
				n, err := q.DequeueBatch(ctx, items)
				if err != nil {
					if !errors.Is(err, firq.ErrClosed) {
						t.Errorf("after Shutdown: %v", err)
					}
					break
				}
				for _, it := range items[:n] {
					rest = append(rest, it.Payload)
				}
			}
			want, late := []uint64{2, 3, 4, 5, 6}, 1
			if c.Name == Floor || c.Name == Simple { // know no deadlines
				want, late = append(want, 7), 0
			}
			if !slices.Equal(rest, want) || expired != late {
				t.Errorf("got %v, %d expired; want %v, %d", rest, expired, want, late)
			}
			if err := <-done; err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
	}
}

func TestChannelFull(t *testing.T) {
	q, err := newChannel(Config{MaxGlobal: 2})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := q.EnqueueBatch("t", make([]Task, 3)); n != 2 || !errors.Is(err, firq.ErrGlobalFull) {
		t.Errorf("EnqueueBatch of 3 into 2: %d, %v", n, err)
	}
	if err := q.Enqueue("t", Task{}); !errors.Is(err, firq.ErrGlobalFull) {
		t.Errorf("Enqueue when full: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.EnqueueWait(ctx, "t", Task{}); !errors.Is(err, firq.ErrTimeout) {
		t.Errorf("EnqueueWait when full: %v", err)
	}
	for range 2 {
		if _, ok := q.TryDequeue(); !ok {
			t.Error("TryDequeue finds nothing")
		}
	}
	if _, ok := q.TryDequeue(); ok {
		t.Error("TryDequeue finds a third task")
	}
	if _, err := q.Dequeue(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Dequeue with a cancelled context: %v", err)
	}
}

func TestUnbuffered(t *testing.T) {
	q, err := newUnbuffered(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Enqueue("t", Task{}); !errors.Is(err, firq.ErrRejected) {
		t.Errorf("Enqueue without a receiver: %v", err)
	}
	sent := make(chan error)
	go func() { sent <- q.EnqueueWait(t.Context(), "t", Task{Payload: 3}) }()
	if it, err := q.Dequeue(t.Context()); err != nil || it.Payload != 3 {
		t.Errorf("%+v, %v", it, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
