package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firq-go/firq/contrib/firqredis"
)

// batch is a run of calls with the given number of tasks each, one after the other.
type batch struct {
	Size    int   `json:"size"`
	Round   int   `json:"round"`
	Enqueue phase `json:"enqueue"`
	Dequeue phase `json:"dequeue"`
	Ack     phase `json:"ack"`
}

func (b *batch) serverUs() float64 { return b.Enqueue.ServerUs + b.Dequeue.ServerUs + b.Ack.ServerUs }

// measureBatch queues n tasks of 64 tenants, takes them and settles them, size at a time.
func measureBatch(ctx context.Context, s *server, size, n int) (b batch, err error) {
	b.Size, n = size, max(n/size, 1)*size
	if err := s.empty(ctx); err != nil {
		return b, err
	}
	opened, err := openFirq(ctx, s, 2, "bench")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	q := opened.(*firqSession).q
	names := tenantNames(64)
	timed := func(f func() error) (phase, error) {
		return s.during(ctx, n, func() (time.Time, error) {
			for range n / size {
				if err := ctx.Err(); err != nil {
					return time.Time{}, err
				}
				if err := f(); err != nil {
					return time.Time{}, err
				}
			}
			return time.Now(), nil
		})
	}
	ts := make([]firqredis.Task[[]byte], size)
	next := 0
	if b.Enqueue, err = timed(func() error {
		for i := range ts {
			tenant := names[next%len(names)]
			ts[i] = firqredis.Task[[]byte]{Tenant: tenant, Payload: payload(tenant)}
			next++
		}
		_, err := q.EnqueueBatch(ctx, ts)
		return err
	}); err != nil {
		return b, err
	}
	var taken [][]*firqredis.Item[[]byte]
	if b.Dequeue, err = timed(func() error {
		its, err := q.DequeueBatch(ctx, size)
		if err == nil && len(its) != size {
			err = fmt.Errorf("%d tasks of %d", len(its), size)
		}
		taken = append(taken, its)
		return err
	}); err != nil {
		return b, err
	}
	b.Ack, err = timed(func() error {
		its := taken[0]
		taken = taken[1:]
		return q.Ack(ctx, its...)
	})
	return b, err
}
