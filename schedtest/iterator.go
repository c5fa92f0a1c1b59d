package schedtest

import (
	"context"
	"testing"

	"github.com/firq-go/firq"
)

// firq.All over a scheduler.
var iteratorChecks = []check{
	{name: "delivers in order until the loop breaks", run: allBreak},
	{name: "ends with ctx", run: allContext},
	{name: "ends with Close", run: allClose},
	{name: "ends when a shut down scheduler has drained", run: allShutdown},
	{name: "takes nothing that it does not deliver", run: allLazy},
}

func allBreak(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxInFlightPerTenant: 1})
	load(t, s, "a", 5)
	n := 0
	for it := range firq.All(patient(t), s) {
		if n++; it.Payload != n {
			t.Errorf("delivered %s, want a%d", show(it), n)
		}
		it.Done()
		if n == 3 {
			break
		}
	}
	length(t, s, 2)
}

func allContext(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	ctx, stop := context.WithCancel(patient(t))
	defer stop()
	load(t, s, "a", 3)
	n := 0
	for range firq.All(ctx, s) {
		if n++; n == 3 {
			go stop() // the loop is parked by then, or about to be
		}
	}
	if n != 3 || ctx.Err() != context.Canceled {
		t.Errorf("%d delivered, ctx.Err() is %v", n, ctx.Err())
	}
}

func allClose(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	load(t, s, "a", 3)
	ctx := patient(t)
	n := 0
	for range firq.All(ctx, s) {
		if n++; n == 2 {
			s.Close()
		}
	}
	if n != 2 || ctx.Err() != nil {
		t.Errorf("%d delivered after Close at the second, ctx.Err() is %v", n, ctx.Err())
	}
	for it := range firq.All(ctx, s) {
		t.Errorf("a closed scheduler delivers %s", show(it))
	}
}

func allShutdown(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	load(t, s, "a", 10)
	stopped := shutting(t, s, patient(t))
	ctx := patient(t)
	refusing(t, s)
	n := 0
	for range firq.All(ctx, s) {
		n++
	}
	if n != 10 || ctx.Err() != nil {
		t.Errorf("%d delivered of 10, ctx.Err() is %v", n, ctx.Err())
	}
	gets(t, stopped, "the backlog is gone", nil)
}

func allLazy(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	load(t, s, "a", 3)
	seq := firq.All(patient(t), s)
	length(t, s, 3)
	for it := range seq {
		length(t, s, 2)
		same(t, "the first", show(it), "a1")
		break
	}
	for it := range seq { // a sequence may be ranged over again
		length(t, s, 1)
		same(t, "the next", show(it), "a2")
		break
	}
	length(t, s, 1)
}
