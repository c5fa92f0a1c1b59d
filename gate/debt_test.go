package gate

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A permit that did not queue is a debt until the next one: if that one queues,
// it delays those after it; if it does not, it is paid off. TestMachine compares
// the order; this says what a debt means.
func TestChargeWithoutQueue(t *testing.T) {
	for _, c := range []struct {
		charges []int64
		between func(g *Gate[string])
		want    string
	}{
		// a's first is granted, then it pays; what it was not charged for is not given back
		{[]int64{-5, 13, -10}, func(*Gate[string]) {}, "a b b b b a a a"},
		{[]int64{13, -20}, func(*Gate[string]) {}, "a b a b a b a b"},
		// it had a turn that no other tenant wanted
		{[]int64{3}, func(g *Gate[string]) { must(t, g, "a").Release() }, "a b a b a b a b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := New[string](1, Config[string]{})
			p := must(t, g, "a")
			for _, delta := range c.charges {
				p.Charge(delta)
			}
			p.Release()
			c.between(g)
			p = must(t, g, "b")
			var order []string
			for range 4 {
				for _, tenant := range []string{"a", "b"} {
					go func() {
						p, err := g.Acquire(background, tenant, Request{})
						if err != nil {
							t.Error(err)
						}
						order = append(order, tenant) // one at a time has the slot
						p.Release()
					}()
					synctest.Wait()
				}
			}
			p.Release()
			synctest.Wait()
			got := fmt.Sprint(order)
			if got != "["+c.want+"]" {
				t.Errorf("order %v, want %s", got, c.want)
			}
			intact(t, g)
		})
	}
}

// A debt whose tenant does not return is forgotten, and a young one is not.
func TestDebtsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d debts[int]
		d.init(time.Minute)
		for i := range 1000 {
			d.add(i, 1<<62) // the sum stays in range
			d.add(i, 1<<62)
			if i > 0 && d.take(i-1) != maxDebt {
				t.Fatalf("the debt of %d is gone, or is more than maxDebt", i-1)
			}
			d.add(-i-1, 7)
			time.Sleep(time.Second)
			if n := len(d.young) + len(d.old); n > 2*60+2 {
				t.Fatalf("%d debts are kept", n)
			}
		}
		if d.take(-1000) != 7 || d.take(-1000) != 0 || d.take(-800) != 0 {
			t.Error("a young debt is gone, or an old one is not, or one is there twice")
		}
		d.take(999)
		time.Sleep(2 * time.Minute)
		if d.take(-999) != 0 || d.some.Load() {
			t.Error("debts that are twice as old are there")
		}
	})
}
