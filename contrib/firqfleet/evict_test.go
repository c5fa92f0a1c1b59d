package firqfleet

import (
	"testing"
	"time"

	"github.com/firq-go/firq/gate"
)

// A server that evicts keys loses a part of the data. What is out counts all the same, and no slot is lost.
func TestEvicted(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		for _, kind := range []string{"m", "l", "q", "t:x", "h:", "h: and m", "l and m"} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				n := name()
				cfg := Config{Name: n, Lease: 400 * time.Millisecond}
				a, b := join(t, addr, 3, cfg), join(t, addr, 3, cfg)
				out := []gate.Permit[string]{get(t, a, "x", gate.Request{}), get(t, a, "x", gate.Request{})}
				out = append(out, get(t, b, "x", gate.Request{}))
				lost := map[string][]string{"h:": {"h:" + a.member}, "h: and m": {"h:" + a.member, "m"}, "l and m": {"l", "m"}}[kind]
				if lost == nil {
					lost = []string{kind}
				}
				if err := client(t, addr).Del(bounded(t), addPrefix(n, lost)...).Err(); err != nil {
					t.Fatal(err)
				}
				waits := later(t, b, "y", gate.Request{})
				token := a.Lease().Token
				a.poke()
				if kind == "m" || kind == "h:" {
					until(t, "it joins again", func() bool { return a.Lease().Token > token })
				}
				select {
				case <-waits:
					t.Fatal("above the limit")
				case <-time.After(2 * cfg.Lease): // and what was lost is noticed
				}
				out[0].Release()
				(<-waits).Release()
				out[1].Release()
				out[2].Release()
				until(t, "no slot is lost", func() bool {
					a.poke()
					b.poke()
					f, in := fleet(t, a), a.Stats().Idle+b.Stats().Idle
					return f.InUse == in && f.Limit == 3 && f.Members == 2
				})
				for range 3 {
					get(t, a, "z", gate.Request{})
				}
			})
		}
	})
}
