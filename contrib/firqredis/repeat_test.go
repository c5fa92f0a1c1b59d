package firqredis

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// A script whose reply is lost is not sent again: it may have run.
func TestNoRepetition(t *testing.T) {
	t.Parallel()
	s, _ := own(t)
	p := startProxy(t, s.addrs[0])
	c := redis.NewClient(&redis.Options{Addr: p.addr(), MaxRetries: 3, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond})
	t.Cleanup(func() { _ = c.Close() })
	watch, ctx := s.client(t), bounded(t)
	q := open(t, s, Config[string]{})
	cut := open(t, s, Config[string]{Client: c, Name: at(q).o.Name})
	put(t, cut, many("a", 20)...)
	its := now(t, cut, 10)
	for _, end := range []func(it *Item[string]) error{ // so that the server knows all scripts
		func(it *Item[string]) error { return cut.Ack(ctx, it) },
		func(it *Item[string]) error { return cut.Nack(ctx, it, Retry{After: time.Hour}) },
		func(it *Item[string]) error { return cut.Release(ctx, it) },
	} {
		ok(t, end(its[0]))
		its = its[1:]
	}
	calls := func() int {
		text, err := watch.Info(ctx, "commandstats").Result()
		ok(t, err)
		m := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(text)
		return must(strconv.Atoi(m[1]))
	}
	for name, f := range map[string]func() error{
		"push":    func() error { _, err := cut.Enqueue(ctx, job{}); return err },
		"pop":     func() error { _, err := at(cut).pop(ctx, 0, popping{n: 1, bytes: queue.MaxBytes}); return err },
		"ack":     func() error { return cut.Ack(ctx, its[0]) },
		"nack":    func() error { return cut.Nack(ctx, its[1], Retry{}) },
		"release": func() error { return cut.Release(ctx, its[2]) },
	} {
		ok(t, c.Ping(ctx).Err()) // there is a connection
		was := calls()
		p.cuts(func([]byte) int { p.cut = nil; return 0 }) // the next one, with the lock held
		if err := f(); err == nil {
			t.Errorf("%s: no error, though the reply was lost", name)
		}
		if n := calls() - was; n != 1 {
			t.Errorf("%s: sent %d times", name, n)
		}
	}
}
