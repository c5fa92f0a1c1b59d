package actor

import (
	"context"
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
	s := newSys(b, Config{})
	r := must(b, s, "", Value(&counter{}))
	ctx := within(b)
	b.ReportAllocs()
	for i := range b.N {
		_ = add.Tell(context.Background(), r, 1)
		if i%2048 == 0 {
			_, _ = add.Call(ctx, r, 1)
		}
	}
}
