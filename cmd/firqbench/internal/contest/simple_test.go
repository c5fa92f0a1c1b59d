package contest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// The claim of its name: the queue itself has at most 100 lines of code.
func TestSimpleFits(t *testing.T) {
	src, err := os.ReadFile("simple.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?s)import \(.*?\n\)`).ReplaceAllString(string(src), "")
	n := 0
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	if n > 100 {
		t.Errorf("%d lines of code, at most 100", n)
	}
}

func newTestSimple(t *testing.T, most int) *simple {
	t.Helper()
	q, err := newSimple(Config{MaxGlobal: most})
	if err != nil {
		t.Fatal(err)
	}
	return q.(*simple)
}

// Tenants take turns, task by task, whatever they cost; a newcomer joins at the end;
// a tenant without tasks leaves and may come back; each tenant's tasks stay in order.
func TestSimpleOrder(t *testing.T) {
	s := newTestSimple(t, 100)
	var got []string
	take := func(n int) {
		for range n {
			it, ok := s.TryDequeue()
			if !ok {
				t.Fatalf("nothing after %v", got)
			}
			got = append(got, fmt.Sprint(it.Tenant, it.Payload))
		}
	}
	for i := range uint64(9) { // the ring grows twice
		if err := s.Enqueue("a", Task{Payload: i, Cost: 50}); err != nil {
			t.Fatal(err)
		}
	}
	take(2)
	if n, err := s.EnqueueBatch("b", []Task{{Payload: 0}, {Payload: 1}}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	_ = s.Enqueue("c", Task{})
	take(4)
	_ = s.Enqueue("b", Task{Payload: 2})
	for i := range uint64(7) { // wraps, then grows
		_ = s.Enqueue("a", Task{Payload: 9 + i})
	}
	take(14)
	want := "a0 a1 a2 b0 c0 a3 b1 a4 b2 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %v\nwant %v", strings.Join(got, " "), want)
	}
	if _, ok := s.TryDequeue(); ok || s.last != nil || s.queued != 0 {
		t.Error("there is more")
	}
}

// What the tables are made of comes out as it went in.
func TestSimpleCarries(t *testing.T) {
	s := newTestSimple(t, 2)
	due := time.Now().Add(time.Hour)
	_ = s.Enqueue("t", Task{Payload: 7, Cost: 3, Deadline: due})
	time.Sleep(time.Microsecond)
	it, _ := s.TryDequeue()
	if d := it.Deadline.Sub(due); it.Cost != 3 || it.Wait <= 0 || d > time.Millisecond || d < -time.Millisecond {
		t.Errorf("%+v", it)
	}
	if _ = s.Enqueue("t", Task{}); true {
		if it, _ := s.TryDequeue(); it.Cost != 1 || !it.Deadline.IsZero() {
			t.Errorf("%+v", it)
		}
	}
}

func TestSimpleFull(t *testing.T) {
	s := newTestSimple(t, 2)
	if n, err := s.EnqueueBatch("t", make([]Task, 3)); n != 2 || err != firq.ErrGlobalFull {
		t.Errorf("EnqueueBatch of 3 into 2: %d, %v", n, err)
	}
	if n, err := s.EnqueueBatch("t", []Task{{}, {Cost: -1}}); n != 0 || err != firq.ErrGlobalFull {
		t.Errorf("full comes first: %d, %v", n, err)
	}
	if err := s.Enqueue("t", Task{}); err != firq.ErrGlobalFull {
		t.Errorf("Enqueue when full: %v", err)
	}
	s.TryDequeue()
	if n, err := s.EnqueueBatch("t", []Task{{}, {Cost: -1}, {}}); n != 1 || !errors.Is(err, firq.ErrInvalidTask) {
		t.Errorf("an invalid one in the middle: %d, %v", n, err)
	}
	_ = s.Close()
	if err := s.Enqueue("t", Task{}); err != firq.ErrClosed {
		t.Errorf("Enqueue after Close: %v", err)
	}
	if err := s.EnqueueWait(t.Context(), "t", Task{}); err != firq.ErrClosed {
		t.Errorf("EnqueueWait after Close: %v", err)
	}
}

// A sleeper is woken: by a task, by as many as there are tasks, by room, by the end of
// the context, by Close.
func TestSimpleWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asleep := func(call func(context.Context) error) (woken func() error, cancel func()) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- call(ctx) }()
			synctest.Wait()
			return func() error {
				synctest.Wait()
				select {
				case err := <-done:
					return err
				default:
					return errors.New("still asleep")
				}
			}, cancel
		}
		s := newTestSimple(t, 3)
		one := func(ctx context.Context) error { _, err := s.Dequeue(ctx); return err }
		more := func(ctx context.Context) error { return s.EnqueueWait(ctx, "t", Task{}) }
		var sleepers []func() error
		for range 3 {
			woken, _ := asleep(one)
			sleepers = append(sleepers, woken)
		}
		_, _ = s.EnqueueBatch("t", make([]Task, 3))
		for i, woken := range sleepers {
			if err := woken(); err != nil {
				t.Errorf("consumer %d of a batch of 3: %v", i, err)
			}
		}
		woken, cancel := asleep(one)
		if cancel(); woken() != context.Canceled {
			t.Error("the end of the context does not wake a consumer")
		}
		woken, _ = asleep(one)
		if _ = s.Enqueue("t", Task{}); woken() != nil {
			t.Error("a task does not wake a consumer")
		}
		_, _ = s.EnqueueBatch("t", make([]Task, 3))
		producer, _ := asleep(more)
		given, cancel := asleep(more)
		if cancel(); given() != firq.ErrTimeout {
			t.Error("the end of the context does not wake a producer")
		}
		if s.TryDequeue(); producer() != nil {
			t.Error("room does not wake a producer")
		}
		producer, _ = asleep(more)
		if _ = s.Close(); producer() != firq.ErrClosed {
			t.Error("Close does not wake a producer")
		}
		dst := make([]Item, 4)
		if n, err := s.DequeueBatch(t.Context(), dst); n != 3 || err != nil {
			t.Errorf("what is left after Close: %d, %v", n, err)
		}
		if err := one(t.Context()); err != firq.ErrClosed {
			t.Errorf("closed and empty: %v", err)
		}
	})
}

// All callers at the same time: nothing is lost, doubled, or out of its tenant's order.
func TestSimpleCrowd(t *testing.T) {
	const producers, each = 4, 2000
	s := newTestSimple(t, 64)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	left := make(chan error, producers)
	for p := range producers {
		go func() {
			var err error
			for i := 0; i < each && err == nil; i++ {
				err = s.EnqueueWait(ctx, fmt.Sprint(p), Task{Payload: uint64(i)})
			}
			left <- err
		}()
	}
	got := make(chan []Item)
	for range 4 {
		go func() {
			var mine []Item
			items := make([]Item, 3)
			for {
				n, err := s.DequeueBatch(ctx, items)
				if err != nil {
					got <- mine
					return
				}
				mine = append(mine, items[:n]...)
			}
		}()
	}
	for range producers {
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
	_ = s.Shutdown(ctx)
	all := map[string][]uint64{}
	for range 4 {
		last := map[string]uint64{}
		for _, it := range <-got {
			if it.Payload+1 <= last[it.Tenant] {
				t.Errorf("%s: %d after %d", it.Tenant, it.Payload, last[it.Tenant]-1)
			}
			last[it.Tenant] = it.Payload + 1
			all[it.Tenant] = append(all[it.Tenant], it.Payload)
		}
	}
	for p := range producers {
		payloads := all[fmt.Sprint(p)]
		slices.Sort(payloads)
		if len(slices.Compact(payloads)) != each {
			t.Errorf("producer %d: %d of %d", p, len(slices.Compact(payloads)), each)
		}
	}
}
