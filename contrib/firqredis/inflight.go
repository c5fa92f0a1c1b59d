package firqredis

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/firq-go/firq/queue"
)

// InFlight is of queue.Engine.
func (e *engine) InFlight(ctx context.Context, tenant string) iter.Seq2[queue.Delivery, error] {
	var each []iter.Seq2[queue.Delivery, error]
	for p := range e.prefix {
		each = append(each, e.inFlightOf(ctx, p, tenant))
	}
	return merged(each, func(a, b queue.Delivery) bool {
		return cmp.Or(a.LeaseUntil.Compare(b.LeaseUntil), cmp.Compare(a.ID, b.ID)) < 0
	})
}

// inFlightOf iterates over the tasks in flight of a partition.
func (e *engine) inFlightOf(ctx context.Context, p int, tenant string) iter.Seq2[queue.Delivery, error] {
	return func(yield func(queue.Delivery, error) bool) {
		for zs, err := range e.pages(ctx, e.prefix[p]+":l", "-inf", "+inf", tenantsAtOnce) {
			var all []lease
			for _, z := range zs {
				member, _ := z.Member.(string)
				if f := strings.SplitN(member, "\n", 3); len(f) == 3 && (tenant == "" || tenant == f[2]) {
					all = append(all, lease{f[0], f[1], time.UnixMicro(int64(z.Score))})
				}
			}
			var ds []queue.Delivery
			if err == nil && len(all) > 0 {
				ds, err = e.leased(ctx, p, all)
			}
			if err != nil {
				yield(queue.Delivery{}, fmt.Errorf("firqredis: InFlight: %w", err))
				return
			}
			for i := range ds {
				if !yield(ds[i], nil) {
					return
				}
			}
		}
	}
}

// lease is a member of a partition's leases.
type lease struct {
	id, token string
	until     time.Time
}

// leased reads the tasks of leases, without those that are gone.
func (e *engine) leased(ctx context.Context, p int, some []lease) (ds []queue.Delivery, err error) {
	ids := make([]string, len(some))
	for i := range some {
		ids[i] = some[i].id
	}
	bodies, err := await(ctx, func() ([]any, error) { return e.db.HMGet(ctx, e.prefix[p]+":d", ids...).Result() })
	if err != nil {
		return nil, err
	}
	for i, l := range some {
		if body, ok := bodies[i].(string); ok {
			ds = append(ds, delivery(l.id, l.token, body, time.Now().UnixMicro(), l.until))
		}
	}
	return ds, nil
}
