package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
)

// A tenant that has more than its new limit gets no place for what is delivered before it is
// below the limit, whether a producer was refused in between or not.
func TestBelowNoRoom(t *testing.T) {
	s, err := New(firq.Config[int, int]{})
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		if err := s.Enqueue(1, firq.Task[int]{}); err != nil {
			t.Fatal(err)
		}
	}
	s.SetLimit(1, 5)
	for n := 7; n > 4; n-- {
		if err := s.Enqueue(1, firq.Task[int]{}); err != firq.ErrTenantFull {
			t.Fatalf("%d queued: %v", n, err)
		}
		s.TryDequeue()
	}
	if err := s.Enqueue(1, firq.Task[int]{}); err != nil {
		t.Fatalf("4 queued: %v", err)
	}
}
