package firqredis

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
)

// InFlight iterates over the tasks in flight, of one tenant or, with "", of all: the leases that end first come first. It reads them
// page by page: leases that begin, end or are extended at that time may be seen as they were, or not. Wait is until now; Payload is zero if
// the codec cannot read it. The items belong to their workers; if a worker is known to be gone, Release and Nack of its item end the
// lease early.
func (q *Queue[T]) InFlight(ctx context.Context, tenant string) iter.Seq2[*Item[T], error] {
	return func(yield func(*Item[T], error) bool) {
		var err error
		if tenant != "" {
			err = q.named(ctx, "InFlight", "tenant", tenant)
		} else {
			err = q.call(ctx, "InFlight")
		}
		if err != nil {
			yield(nil, err)
			return
		}
		var each []iter.Seq2[*Item[T], error]
		for p := range q.prefix {
			each = append(each, q.inFlightOf(ctx, p, tenant))
		}
		for it, err := range merged(each, func(a, b *Item[T]) bool {
			return cmp.Or(a.LeaseUntil.Compare(b.LeaseUntil), cmp.Compare(a.ID, b.ID)) < 0
		}) {
			if !yield(it, err) {
				return
			}
		}
	}
}

// inFlightOf iterates over the tasks in flight of a partition.
func (q *Queue[T]) inFlightOf(ctx context.Context, p int, tenant string) iter.Seq2[*Item[T], error] {
	return func(yield func(*Item[T], error) bool) {
		for zs, err := range q.pages(ctx, q.prefix[p]+":l", "-inf", "+inf", tenantsAtOnce) {
			var all []lease
			for _, z := range zs {
				member, _ := z.Member.(string)
				if f := strings.SplitN(member, "\n", 3); len(f) == 3 && (tenant == "" || tenant == f[2]) {
					all = append(all, lease{f[0], f[1], time.UnixMicro(int64(z.Score))})
				}
			}
			var its []*Item[T]
			if err == nil && len(all) > 0 {
				its, err = q.leased(ctx, p, all)
			}
			if err != nil {
				yield(nil, fmt.Errorf("firqredis: InFlight: %w", err))
				return
			}
			for _, it := range its {
				if !yield(it, nil) {
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
func (q *Queue[T]) leased(ctx context.Context, p int, some []lease) (its []*Item[T], err error) {
	ids := make([]string, len(some))
	for i := range some {
		ids[i] = some[i].id
	}
	bodies, err := await(ctx, func() ([]any, error) { return q.db.HMGet(ctx, q.prefix[p]+":d", ids...).Result() })
	if err != nil {
		return nil, err
	}
	for i, l := range some {
		if body, ok := bodies[i].(string); ok {
			it, _ := q.item(l.id, l.token, body, time.Now().UnixMicro(), q.decodeApart) // with an error: without its payload
			it.LeaseUntil = l.until
			its = append(its, it)
		}
	}
	return its, nil
}

// dueAtOnce bounds the tasks of each kind that one script brings in.
const dueAtOnce = 100

// Maintain does the upkeep that is due: it queues delayed tasks and tasks whose leases have run out, and purges dead letters that are not kept any
// longer. Consumers do so whenever they look for work. Where none may be running, call it now and then, as firqd serve does: until
// then, tasks of workers that are gone count as in flight, and the last attempt of one makes no dead letter.
func (q *Queue[T]) Maintain(ctx context.Context) error {
	if err := q.call(ctx, "Maintain"); err != nil {
		return err
	}
	for p := range q.prefix {
		for more := true; more; {
			n, err := q.runWithSettings(ctx, maintainScript, p, dueAtOnce)
			if err != nil {
				return err
			}
			more = number(n) >= dueAtOnce
		}
	}
	return nil
}
