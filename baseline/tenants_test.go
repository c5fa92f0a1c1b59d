package baseline

import (
	"errors"
	"testing"

	"github.com/firq-go/firq"
)

// A new tenant whose task is refused for another reason keeps no place of MaxTenants.
func TestRefusedTenantIsNotCounted(t *testing.T) {
	s, err := New(firq.Config[string, int]{MaxTenants: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var tk firq.Ticket
	if err := s.Enqueue("a", firq.Task[int]{Ticket: &tk}); err != nil {
		t.Fatal(err)
	}
	if err := s.Enqueue("b", firq.Task[int]{Ticket: &tk}); !errors.Is(err, firq.ErrInvalidTask) {
		t.Fatalf("a ticket in use: %v", err)
	}
	if n := s.tenants.Load(); n != 1 {
		t.Errorf("%d tenants are counted, want 1", n)
	}
}
