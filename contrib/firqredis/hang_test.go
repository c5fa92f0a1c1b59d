package firqredis

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A server that does not answer holds no call up whose context ends.
func TestContextsEnd(t *testing.T) {
	t.Parallel()
	redisServer.need(t)
	p := startProxy(t, redisServer.addrs[0])
	q := open(t, &server{name: "proxy", addrs: []string{p.addr()}}, Config[string]{Partitions: 2})
	bury(t, q, "x", job{ID: "dead"})
	put(t, q, many("a", 3)...)
	its := now(t, q, 3)
	goesOn := make(chan struct{})
	p.cuts(func([]byte) int { <-goesOn; return -1 }) // with the lock held, so that new connections hang, too
	defer p.cuts(nil)
	defer close(goesOn)
	for name, call := range map[string]func(ctx context.Context) error{
		"New": func(ctx context.Context) error {
			_, err := New(ctx, Config[string]{Client: at(q).db, Name: "other"})
			return err
		},
		"Ack":     func(ctx context.Context) error { return q.Ack(ctx, its[0]) },
		"Nack":    func(ctx context.Context) error { return q.Nack(ctx, its[1], Retry{}) },
		"Extend":  func(ctx context.Context) error { return q.Extend(ctx, 0, its[2]) },
		"Release": func(ctx context.Context) error { return q.Release(ctx, its[2]) },
		"Cancel":  func(ctx context.Context) error { return q.Cancel(ctx, "a") },
		"Pause":   func(ctx context.Context) error { return q.Pause(ctx, "") },
		"Resume":  func(ctx context.Context) error { return q.Resume(ctx, "a") },
		"SetTenant": func(ctx context.Context) error {
			return q.SetTenant(ctx, "a", TenantSettings{Weight: 2})
		},
		"Stats":       func(ctx context.Context) error { _, err := q.Stats(ctx); return err },
		"Survey":      func(ctx context.Context) error { _, err := q.Survey().Stats(ctx); return err },
		"TenantStats": func(ctx context.Context) error { _, err := q.TenantStats(ctx, "a"); return err },
		"TopTenants":  func(ctx context.Context) error { _, err := q.TopTenants(ctx, 1, ByQueued); return err },
		"QueueTimes":  func(ctx context.Context) error { _, _, err := q.QueueTimes(ctx); return err },
		"Health":      func(ctx context.Context) error { _, err := q.Health(ctx); return err },
		"DeadLetters": func(ctx context.Context) error {
			for _, err := range q.DeadLetters(ctx, Filter{}) {
				return err
			}
			return nil
		},
		"DeadLetters by ID": func(ctx context.Context) error {
			for _, err := range q.DeadLetters(ctx, Filter{IDs: []string{"dead"}}) {
				return err
			}
			return nil
		},
		"InFlight": func(ctx context.Context) error {
			for _, err := range q.InFlight(ctx, "") {
				return err
			}
			return nil
		},
		"Requeue":  func(ctx context.Context) error { return q.Requeue(ctx, "dead") },
		"Purge":    func(ctx context.Context) error { _, err := q.Purge(ctx, Filter{}); return err },
		"Maintain": func(ctx context.Context) error { return q.Maintain(ctx) },
		"Put": func(ctx context.Context) error {
			return q.Schedules().Put(ctx, Schedule[string]{ID: "s", Cron: "@daily"})
		},
		"Delete": func(ctx context.Context) error { return q.Schedules().Delete(ctx, "s") },
		"List":   func(ctx context.Context) error { _, err := q.Schedules().List(ctx); return err },
	} {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		time.AfterFunc(10*time.Millisecond, cancel)
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(patience / 6):
			t.Errorf("%s does not return", name)
		}
	}
}
