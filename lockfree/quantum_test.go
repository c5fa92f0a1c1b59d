package lockfree

import (
	"testing"

	"github.com/firq-go/firq/internal/core/serve"
)

// SetQuantum comes while a producer is between asking for its tenant's quantum
// and E1. What the producer was told is old by then.
func TestSetQuantumOvertakesProducer(t *testing.T) {
	for _, known := range []bool{false, true} {
		var s *scheduler
		asked := 0
		s = build(t, config{QuantumFor: func(string) int64 {
			if asked++; asked == 1 {
				s.SetQuantum("a", 10)
			}
			return 3
		}})
		if known {
			if _, err := s.lookUp("a", nil); err != nil {
				t.Fatal(err)
			}
		}
		admit(t, s, "a", task{})
		touch(s)
		if tn, _ := s.tenants.Load("a"); asked != 1 || tn.Quantum() != 10 {
			t.Errorf("known %t: quantum %d after SetQuantum(10), asked %d times", known, tn.Quantum(), asked)
		}
	}
}

// The same with a producer that put the task in itself.
func TestSetQuantumOvertakesPut(t *testing.T) {
	s := build(t, config{QuantumFor: func(string) int64 { return 3 }})
	tn, err := s.lookUp("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.SetQuantum("a", 10)
	d := mustTask(t, s, task{})
	if done, err := tn.shard.enqueueLocked(tn, &d, &serve.TenantConfig{Quantum: 3}); !done || err != nil {
		t.Fatalf("put: %t, %v", done, err)
	}
	if tn.Quantum() != 10 {
		t.Errorf("quantum %d after SetQuantum(10)", tn.Quantum())
	}
	s.ResetQuantum("a")
	if tn.Quantum() != 3 {
		t.Errorf("quantum %d after ResetQuantum, want QuantumFor's 3", tn.Quantum())
	}
}

// A producer that found its tenant polled does not ask the config. If the tenant is idle by the
// time that the producer puts the task in itself, the last answer counts.
func TestPutKeepsQuantum(t *testing.T) {
	s := build(t, config{QuantumFor: func(string) int64 { return 10 }})
	tn := polled(t, s, "a", 1, 2)
	take(t, s, 1, 2)
	nothing(t, s)
	if tn.Active() {
		t.Fatal("active without a task")
	}
	d := mustTask(t, s, task{})
	if done, err := tn.shard.enqueueLocked(tn, &d, nil); !done || err != nil {
		t.Fatalf("put: %t, %v", done, err)
	}
	if tn.Quantum() != 10 {
		t.Errorf("quantum %d, want QuantumFor's 10", tn.Quantum())
	}
}

// And if it did ask, its answer counts, whether it publishes or puts.
func TestQuantumOfNewTenant(t *testing.T) {
	for _, byPut := range []bool{false, true} {
		s := build(t, config{QuantumFor: func(string) int64 { return 10 }})
		var late []*producer
		for i := 0; byPut && i < inboxSize; i++ {
			late = append(late, stopped(t, s, "a", task{})) // holes
		}
		admit(t, s, "a", task{Payload: 1})
		touch(s)
		if tn, _ := s.tenants.Load("a"); tn.Quantum() != 10 || tn.Len() != 1 {
			t.Errorf("by put %t: quantum %d with %d queued, want QuantumFor's 10", byPut, tn.Quantum(), tn.Len())
		}
		for _, p := range late {
			p.void()
		}
	}
}

// What QuantumFor says counts from when the tenant becomes active, not in the middle of
// that.
func TestQuantumHoldsWhileActive(t *testing.T) {
	quantum := int64(2)
	s := build(t, config{QuantumFor: func(string) int64 { return quantum }})
	admit(t, s, "a", task{Payload: 1})
	touch(s)
	quantum = 9
	admit(t, s, "a", task{Payload: 2}) // with one task it is not polled: it is asked for
	touch(s)
	if tn, _ := s.tenants.Load("a"); tn.Quantum() != 2 || tn.Len() != 2 {
		t.Errorf("quantum %d with %d tasks, want 2 with 2", tn.Quantum(), tn.Len())
	}
	take(t, s, 1, 2)
	nothing(t, s)
	admit(t, s, "a", task{Payload: 3})
	touch(s)
	if tn, _ := s.tenants.Load("a"); tn.Quantum() != 9 {
		t.Errorf("quantum %d once it is active again, want 9", tn.Quantum())
	}
	take(t, s, 3)
}

// A SetQuantum that comes while ResetQuantum asks QuantumFor is the later one.
func TestSetQuantumOvertakesReset(t *testing.T) {
	var s *scheduler
	enters := false
	s = build(t, config{QuantumFor: func(string) int64 {
		if enters {
			enters = false
			s.SetQuantum("a", 10)
		}
		return 3
	}})
	admit(t, s, "a", task{})
	touch(s)
	enters = true
	s.ResetQuantum("a")
	if tn, _ := s.tenants.Load("a"); tn.Quantum() != 10 {
		t.Errorf("quantum %d after SetQuantum(10), want 10", tn.Quantum())
	}
}
