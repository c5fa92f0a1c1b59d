package actor

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

func BenchmarkCall(b *testing.B) {
	for name, ctx := range map[string]context.Context{"inline": context.Background(), "mailbox": within(b)} {
		b.Run("by="+name, func(b *testing.B) {
			s := newSys(b, Config{})
			r := must(b, s, "", Value(&counter{}))
			b.ReportAllocs()
			for range b.N {
				_, _ = add.Call(ctx, r, 1)
			}
		})
	}
}

func BenchmarkTell(b *testing.B) {
	for _, n := range [][2]int{{1, 1}, {8, 1}, {8, 64}} {
		b.Run(fmt.Sprintf("senders=%d/actors=%d", n[0], n[1]), func(b *testing.B) {
			s := newSys(b, Config{})
			var refs []Ref[*counter]
			for range n[1] {
				refs = append(refs, must(b, s, "", Value(&counter{}), WithMailbox(Mailbox{Limit: -1})))
			}
			ctx := within(b)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for g := range n[0] {
				wg.Go(func() {
					for i := range b.N / n[0] {
						r := refs[(g*7+i)%len(refs)]
						_ = add.Tell(context.Background(), r, 1)
						if i%2048 == 2047 {
							_, _ = add.Call(ctx, r, 1)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

type pinger struct {
	to   Ref[*pinger]
	left int
	done chan bool
}

var ping *Method[*pinger, int, struct{}]

func init() {
	ping = NewAction("Ping", func(p *pinger, c *Ctx, _ int) error {
		if p.left--; p.left <= 0 {
			select {
			case p.done <- true:
			default:
			}
			return nil
		}
		return ping.Tell(c, p.to, 1)
	})
}

func BenchmarkPingPong(b *testing.B) {
	for _, pairs := range []int{1, 32} {
		b.Run(fmt.Sprintf("pairs=%d", pairs), func(b *testing.B) {
			s := newSys(b, Config{})
			done := make(chan bool, pairs)
			var all []Ref[*pinger]
			for range pairs {
				x, y := &pinger{left: b.N / pairs / 2, done: done}, &pinger{left: b.N/pairs/2 + 2, done: done}
				rx, ry := must(b, s, "", Value(x)), must(b, s, "", Value(y))
				x.to, y.to = ry, rx
				all = append(all, rx)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, r := range all {
				_ = ping.Tell(context.Background(), r, 1)
			}
			for range pairs {
				<-done
			}
		})
	}
}

func BenchmarkSpawnStop(b *testing.B) {
	s := newSys(b, Config{})
	ctx := context.Background()
	b.ReportAllocs()
	for range b.N {
		r := must(b, s, "", Value(&counter{}))
		_ = r.Stop(ctx)
	}
}

// What a Ref of a Kind adds to a tell and a call.
func BenchmarkRef(b *testing.B) {
	ctx := context.Background()
	s := newSys(b, Config{})
	k, _ := NewKind(s, "k", func(*Ctx, string) (*counter, error) { return &counter{}, nil }, WithMailbox(Mailbox{Limit: -1}))
	plain := must(b, s, "", Value(&counter{}), WithMailbox(Mailbox{Limit: -1}))
	for name, r := range map[string]Ref[*counter]{"plain": plain, "kind": k.Ref("key")} {
		b.Run("call/ref="+name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				_, _ = add.Call(ctx, r, 1)
			}
		})
		b.Run("tell/ref="+name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if _ = add.Tell(ctx, r, 1); i%1024 == 1023 {
					_, _ = add.Call(within(b), plain, 1)
				}
			}
		})
	}
	b.Run("Kind.Ref", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			_ = k.Ref("key")
		}
	})
}

// Calls from handler to handler through the mailbox, of pairs of actors that have nothing to do with
// each other.
func BenchmarkHandlerCall(b *testing.B) {
	loop := NewMethod("Loop", func(k *counter, c *Ctx, to Ref[*counter]) (int, error) {
		for range k.n {
			if _, err := add.Call(c, to, 1); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
	for _, pairs := range []int{1, 8} {
		b.Run(fmt.Sprintf("pairs=%d", pairs), func(b *testing.B) {
			s := newSys(b, Config{})
			var futures []*Future[int]
			b.ReportAllocs()
			for range pairs {
				to := must(b, s, "", Value(&counter{}), WithReentrancy(CallChain)) // never on the caller's goroutine
				futures = append(futures, loop.Start(context.Background(), must(b, s, "", Value(&counter{n: b.N / pairs})), to))
			}
			for _, f := range futures {
				_, _ = f.Wait(context.Background())
			}
		})
	}
}
