package queue

import (
	"context"
	"testing"

	"github.com/firq-go/firq/worker"
)

// A pool without a name has the queue's, so that the log says whose handler failed.
func TestPoolName(t *testing.T) {
	t.Parallel()
	q, _ := open(t)
	ctx, stop := context.WithCancel(bounded(t))
	stop()
	for _, c := range []struct{ name, want string }{{"", DefaultName}, {"mails", "mails"}} {
		got := ""
		o := RunOptions[string]{Name: c.name, OnStart: func(p *worker.Pool[string, *Item[string]]) { got = p.Stats().Name }}
		ok(t, Run(ctx, q, func(context.Context, *Item[string]) error { return nil }, o))
		same(t, "the pool's name", got, c.want)
	}
}
