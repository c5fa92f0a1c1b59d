package lockfree

import (
	"testing"
	"testing/synctest"

	"github.com/firq-go/firq"
)

// A consumer may sleep in a synctest bubble, and another one later in another
// bubble, or outside: nothing that it slept on is shared.
func TestSleepInBubble(t *testing.T) {
	story := func(t *testing.T) {
		s, err := New(firq.Config[string, int]{})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan int)
		go func() {
			it, err := s.Dequeue(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- it.Payload
		}()
		for s.parker.Parked() == 0 {
			if err := t.Context().Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Enqueue("a", firq.Task[int]{Payload: 1}); err != nil {
			t.Fatal(err)
		}
		if n := <-got; n != 1 {
			t.Errorf("got %d", n)
		}
	}
	for range 3 {
		synctest.Test(t, story)
		story(t)
	}
}
