package firqredis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// lease is a member of a partition's leases.
type lease struct {
	p                 int
	id, token, tenant string
	until             time.Time
}

// InFlight iterates over what is in flight, of one tenant or, with "", of all: the leases that end first come first. Leases
// that begin, end or are extended meanwhile may be seen as they were. Wait is until now; Payload is zero if the codec cannot read
// it. The items are their workers': with the item of a worker that is known to be gone, Release and Nack end its lease early.
func (q *Queue[T]) InFlight(ctx context.Context, tenant string) iter.Seq2[*Item[T], error] {
	return func(yield func(*Item[T], error) bool) {
		all, err := q.leases(ctx, tenant)
		if err != nil {
			yield(nil, err)
			return
		}
		for some := range slices.Chunk(all, tenantsAtOnce) {
			its, err := q.leased(ctx, some)
			if err != nil {
				yield(nil, err)
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

// leases reads all leases.
func (q *Queue[T]) leases(ctx context.Context, tenant string) (all []lease, err error) {
	if tenant != "" {
		err = q.named(ctx, "InFlight", "tenant", tenant)
	} else {
		err = q.call(ctx, "InFlight")
	}
	if err != nil {
		return nil, err
	}
	for p := range q.prefix {
		zs, err := q.db.ZRangeWithScores(ctx, q.prefix[p]+":l", 0, -1).Result()
		if err != nil {
			return nil, fmt.Errorf("firqredis: InFlight: %w", err)
		}
		for _, z := range zs {
			member, _ := z.Member.(string)
			if f := strings.SplitN(member, "\n", 3); len(f) == 3 && (tenant == "" || tenant == f[2]) {
				all = append(all, lease{p, f[0], f[1], f[2], time.UnixMicro(int64(z.Score))})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b lease) int { return cmp.Or(a.until.Compare(b.until), cmp.Compare(a.id, b.id)) })
	return all, nil
}

// leased reads the tasks of leases; those that are gone are left out.
func (q *Queue[T]) leased(ctx context.Context, some []lease) (its []*Item[T], err error) {
	bodies := make([]*redis.StringCmd, len(some))
	pipe := q.db.Pipeline()
	for i, l := range some {
		bodies[i] = pipe.HGet(ctx, q.prefix[l.p]+":d", l.id)
	}
	_, _ = pipe.Exec(ctx) // each of them has its error
	for i, l := range some {
		body, err := bodies[i].Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("firqredis: InFlight: %w", err)
		}
		it, _ := q.item(l.id, l.token, body, time.Now().UnixMicro()) // with an error: without its payload
		it.LeaseUntil = l.until
		its = append(its, it)
	}
	return its, nil
}

// dueAtOnce is how many tasks of each kind one script brings in at most.
const dueAtOnce = 100

// Maintain brings in what is due: delayed tasks, tasks whose leases have run out, and dead letters that are not kept any
// longer. Consumers do so whenever they look for work. Where none may be running, call it now and then, as firqd serve does: until
// then, tasks of workers that are gone count as in flight, and the last attempt of one makes no dead letter.
func (q *Queue[T]) Maintain(ctx context.Context) error {
	if err := q.call(ctx, "Maintain"); err != nil {
		return err
	}
	for p := range q.prefix {
		for more := true; more; {
			n, err := q.cold(ctx, maintainScript, p, dueAtOnce)
			if err != nil {
				return err
			}
			more = number(n) >= dueAtOnce
		}
	}
	return nil
}
