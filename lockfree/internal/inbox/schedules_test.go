//go:build firq_failpoints

package inbox

import (
	"testing"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A batch that is published while its slots are looked at, after its first one has been, is
// taken in order.
func TestSchedulesBatchInOrder(t *testing.T) {
	for before := range uint32(3) { // how many of its slots have been looked at
		for _, head := range []uint32{0, 1} { // a hole before the batch
			b, k := New[int](8, 0), Taker{}
			looks := uint32(0)
			restore := failpoint.AtMark("inbox hole", func() {
				if looks++; looks == before+head {
					published(b, head, head+1, head+2)
				}
			})
			if before == 0 {
				published(b, head, head+1, head+2)
			}
			at, tail := k.Head(), head+3
			for n := head; n < tail; n++ {
				s, _, ok := b.Next(&k, &at, tail)
				if !ok || s.Payload != int(n) {
					t.Fatalf("after %d looks, from %d on: %+v, %t; want %d", before, head, s, ok, n)
				}
			}
			if _, _, ok := b.Next(&k, &at, tail); ok {
				t.Error("one task too many")
			}
			restore()
		}
	}
}
