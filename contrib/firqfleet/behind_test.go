package firqfleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/firq-go/firq/gate"
)

// Calls that wait poll little, take little memory on the server, and all that they leave behind ends by itself: not before a debt has
// been kept for a minute.
func TestLeavesBehind(t *testing.T) {
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			addr, n := addr(t, binary), name()
			const members, tenants = 4, 100
			ctx, cancel := context.WithCancel(bounded(t))
			defer cancel()
			var gs []*Gate
			syncs := func() (sum uint64) {
				for _, g := range gs {
					sum += g.Stats().Syncs
				}
				return sum
			}
			for range members {
				gs = append(gs, join(t, addr, 1, Config{Name: n}))
			}
			out := get(t, gs[0], "out", gate.Request{})
			for i := range tenants {
				for _, g := range gs {
					go func() { _, _ = g.Acquire(ctx, fmt.Sprint("t", i), gate.Request{}) }()
				}
			}
			until(t, "all wait", func() bool { return gs[0].Waiting()+gs[1].Waiting()+gs[2].Waiting()+gs[3].Waiting() == members*tenants })
			told(t, gs[0], tenants)
			before, began := syncs(), time.Now()
			time.Sleep(500 * time.Millisecond)
			if n, most := syncs()-before, 60*time.Since(began).Seconds(); float64(n) > most {
				t.Errorf("%d round trips, at most %.0f", n, most)
			}
			c, memory := client(t, addr), int64(0)
			for _, k := range addPrefix(n, keys(t, addr, n, "")) {
				memory += c.MemoryUsage(bounded(t), k, 0).Val()
				if ttl := c.PTTL(bounded(t), k).Val(); ttl < 2*time.Minute || ttl > 10*time.Minute {
					t.Errorf("%s ends in %v", k, ttl)
				}
			}
			if each := memory / (members * tenants); each == 0 || each > 500 {
				t.Errorf("%d bytes for a tenant in a member", each)
			}
			cancel()
			out.Release()
			until(t, "all have gone", func() bool { return gs[0].Waiting()+gs[1].Waiting()+gs[2].Waiting()+gs[3].Waiting() == 0 })
		})
	}
}
