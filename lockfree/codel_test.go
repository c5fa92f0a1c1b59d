package lockfree

import "testing"

// With TargetWait what waits in a tenant's inbox counts: a task that has others behind it
// there is not the tenant's last one.
func TestCoDelSeesInbox(t *testing.T) {
	shown := false
	for n := 4; n < 10; n++ {
		s := build(t, config{TargetWait: 1, Interval: 1})
		next := 0
		enqueue := func(n int) {
			for range n {
				admit(t, s, "a", task{Payload: next})
				next++
			}
		}
		enqueue(n)
		s.Stats() // they are in the queue, and the tenant is polled: what comes now waits in its inbox
		tenant, _ := s.tenants.Load("a")
		for tenant.Len() > 1 {
			if _, ok := s.TryDequeue(); !ok {
				t.Fatal("nothing is delivered")
			}
		}
		if tenant.Len() == 1 { // some are dropped: not with each n it comes to one
			shown = true
			last := next - 1
			enqueue(3)
			if it, ok := s.TryDequeue(); !ok || it.Payload == last {
				t.Errorf("of %d: delivered %d, %v: it was taken for the last one", n, it.Payload, ok)
			}
		}
		for s.Len() > 0 {
			s.TryDequeue()
		}
	}
	if !shown {
		t.Error("no task was left alone in the queue: this test shows nothing")
	}
}
