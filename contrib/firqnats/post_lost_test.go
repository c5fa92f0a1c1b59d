package firqnats

import (
	"testing"
	"time"
)

// The stream of Post is deleted: it is made again, and messages are handled again.
func TestPostStreamDeleted(t *testing.T) {
	n := join(t, options(t))
	k := kind(t, n)
	ctx := bounded(t)
	post := func(want int) {
		t.Helper()
		eventually(t, "the server takes a message", func() bool { return Post(ctx, k, "x", keep, 1, PostOptions{ID: time.Now().String()}) == nil })
		eventually(t, "a posted message is handled", func() bool { return must(keep.Call(ctx, k.Ref("x"), 0))(t) == want })
	}
	post(1)
	if err := n.js.DeleteStream(ctx, "firqpost_"+n.o.Cluster); err != nil {
		t.Fatal(err)
	}
	post(2)
}

// The next one of a message that comes Every so often is by the server's clock, whatever the node's says.
func TestPostNext(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for stored, want := range map[time.Duration]time.Duration{0: 1, 300 * time.Millisecond: 1, time.Second: 2, 59*time.Second + 1: 60, -time.Hour: 1} {
		if got := next(at, at.Add(stored), time.Second); got != at.Add(want*time.Second) {
			t.Errorf("one of 12:00:00 that came %v later is followed by one of %v", stored, got)
		}
	}
}
