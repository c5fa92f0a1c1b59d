package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCompare(t *testing.T) {
	var out strings.Builder
	l := load{slots: 4, big: 20, small: 2, noisy: 2, quiet: 3, patience: time.Minute}
	if err := l.compare(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Count(s, "noisy: 40 of 40 pieces") != 2 || strings.Count(s, "quiet: 6 of 6 pieces") != 2 {
		t.Error(s)
	}
}

// TestQuietFirst: 100 pieces of the noisy tenant are queued when the quiet one
// asks for two. With a queue per tenant the downstream has to answer at most ten
// pieces until the quiet tenant has both; with one queue, a hundred are not enough.
func TestQuietFirst(t *testing.T) {
	for _, fair := range []bool{false, true} {
		answer := make(chan bool)
		f, err := newFan(1, fair, func(context.Context) error {
			<-answer
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		run := make(chan error, 1)
		go func() { run <- f.run(t.Context()) }()
		deadline := time.Now().Add(time.Minute)
		noisy, quiet := make(chan int, 1), make(chan int, 1)
		go func() { noisy <- f.ask("noisy", 101, deadline) }()
		waitForLen(t, f, 100) // and one more is at the downstream
		go func() { quiet <- f.ask("quiet", 2, deadline) }()
		waitForLen(t, f, 102)
		if fair {
			for range 10 {
				answer <- true
			}
			select {
			case n := <-quiet:
				if n != 2 {
					t.Errorf("the quiet request got %d pieces", n)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the quiet request still waits after ten pieces")
			}
		} else {
			for range 100 {
				answer <- true
			}
			if len(quiet) > 0 {
				t.Error("one queue: the quiet request did not wait for the noisy one")
			}
		}
		close(answer)
		if n := <-noisy; n != 101 {
			t.Errorf("the noisy request got %d pieces", n)
		}
		if err := f.shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-run; err != nil {
			t.Fatal(err)
		}
	}
}

func waitForLen(t *testing.T, f *fan, n int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); f.queue.Len() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d pieces are queued, want %d", f.queue.Len(), n)
		}
	}
}

// TestDeadline: the downstream holds the only slot until the request's deadline
// has passed. All pieces end, none is answered, and the queue is empty.
func TestDeadline(t *testing.T) {
	f, err := newFan(1, true, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	run := make(chan error, 1)
	go func() { run <- f.run(t.Context()) }()
	if n := f.ask("a", 50, time.Now().Add(30*time.Millisecond)); n != 0 {
		t.Errorf("%d pieces answered", n)
	}
	if err := f.shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-run; err != nil {
		t.Fatal(err)
	}
	if s := f.queue.Stats(); s.Dequeued+s.Expired != 50 || s.Expired < 40 {
		t.Errorf("%+v", s)
	}
}
