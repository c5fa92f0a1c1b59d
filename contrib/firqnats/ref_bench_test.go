//go:build unix

package firqnats

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/firq-go/firq/actor"
)

// BenchmarkRef compares the Ref of a Kind, whose actor is on this node, with the actor's plain Ref: it reports the
// processor time of a message by each, medians of alternating rounds.
//
//	go test -run '^$' -bench Ref -benchtime 15x ./contrib/firqnats
func BenchmarkRef(b *testing.B) {
	o := options(b)
	k := kind(b, join(b, o))
	ctx := context.Background()
	far := k.Ref("a")
	must(add.Call(ctx, far, 1))(b)
	near := must(k.Here(ctx, actor.Identity{Kind: "tally", Key: "a"}))(b).(actor.Ref[*tally])
	const messages = 100_000
	for name, send := range map[string]func(actor.Ref[*tally]){
		"call": func(r actor.Ref[*tally]) {
			for range messages {
				if _, err := add.Call(ctx, r, 1); err != nil {
					b.Fatal(err)
				}
			}
		},
		"tell": func(r actor.Ref[*tally]) {
			for i := range messages {
				if err := add.Tell(ctx, r, 1); err != nil {
					b.Fatal(err)
				}
				if i%1000 == 0 { // or the mailbox would be full
					must(add.Call(ctx, r, 1))(b)
				}
			}
		},
		"ref": func(actor.Ref[*tally]) {
			for range messages {
				_ = k.Ref("a")
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			var plain, kinds, more []float64
			used := func(r actor.Ref[*tally]) float64 {
				before := processor(b)
				send(r)
				return float64(processor(b)-before) / messages
			}
			used(far)
			for range b.N {
				p, f := used(near), used(far)
				plain, kinds, more = append(plain, p), append(kinds, f), append(more, f-p)
			}
			for unit, list := range map[string][]float64{"plain-ns": plain, "kind-ns": kinds, "more-ns": more} {
				slices.Sort(list)
				b.ReportMetric(list[len(list)/2], unit)
			}
		})
	}
}

// processor returns the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
