package gate

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// inOrder queues calls while the gate's only slot is held, and returns in which order
// they are let in. In a bubble.
func inOrder(t *testing.T, g *Gate[string], held Permit[string], calls []Request, then func(i int, p Permit[string])) (order []int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, req := range calls {
		wg.Go(func() {
			p, err := g.Acquire(background, "a", req)
			if err != nil {
				t.Errorf("call %d: %v", i, err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if then != nil {
				then(i, p)
			}
			p.Release()
		})
		synctest.Wait()
	}
	held.Release()
	wg.Wait()
	return order
}

// The flows of a tenant take turns; with MaxFlows 1 they do not.
func TestFlows(t *testing.T) {
	for most, want := range map[int]string{0: "[0 3 1 4 2]", 1: "[0 1 2 3 4]"} {
		synctest.Test(t, func(t *testing.T) {
			g := New[string](1, Config[string]{MaxFlows: most})
			held, _ := g.TryAcquire("a", Request{})
			order := inOrder(t, g, held, []Request{{Flow: 1}, {Flow: 1}, {Flow: 1}, {Flow: 2}, {Flow: 2}}, nil)
			if got := fmt.Sprint(order); got != want {
				t.Errorf("at most %d: %s, want %s", most, got, want)
			}
		})
	}
}

// What a permit that queued is charged delays its own flow; what one is charged that was
// given immediately delays none of the others.
func TestFlowsCharge(t *testing.T) {
	calls := []Request{{Flow: 1}, {Flow: 1}, {Flow: 2}, {Flow: 2}, {Flow: 2}}
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{})
		held, _ := g.TryAcquire("a", Request{})
		order := inOrder(t, g, held, calls, func(i int, p Permit[string]) {
			if i == 0 {
				p.Charge(10)
			}
		})
		if got := fmt.Sprint(order); got != "[0 2 3 4 1]" {
			t.Errorf("charged: %s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{})
		held, _ := g.TryAcquire("a", Request{Flow: 2})
		held.Charge(10)
		if got := fmt.Sprint(inOrder(t, g, held, calls, nil)); got != "[0 2 1 3 4]" {
			t.Errorf("another one's debt: %s", got)
		}
	})
}
