package lockfree

import (
	"testing"

	"github.com/firq-go/firq/internal/serve"
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
	if done, err := tn.shard.put(tn, &d, &serve.Says{Quantum: 3}); !done || err != nil {
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

// A producer that found its tenant quiet asks nobody. If the tenant is idle by the
// time that the producer puts the task in itself, the last answer counts.
func TestPutKeepsQuantum(t *testing.T) {
	s := build(t, config{QuantumFor: func(string) int64 { return 10 }})
	tn := quiet(t, s, "a", 1, 2)
	take(t, s, 1, 2)
	nothing(t, s)
	if tn.Active() {
		t.Fatal("active without a task")
	}
	d := mustTask(t, s, task{})
	if done, err := tn.shard.put(tn, &d, nil); !done || err != nil {
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
