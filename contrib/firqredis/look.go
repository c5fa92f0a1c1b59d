package firqredis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// looked is a task that was looked at.
type looked = queue.Info[[]byte]

// infoOf returns what is known of a stored task. at is its score where it is.
func infoOf(id, body string, state queue.State, at int64) (i looked, err error) {
	s, err := parse(body)
	if err == nil {
		i.Task, err = task(id, &s)
	}
	i.State, i.Attempts, i.Due, i.Raw = state, int(s.attempt), time.UnixMicro(s.due), []byte(s.payload)
	switch when := time.UnixMicro(at); state {
	case queue.StateDelayed:
		i.Due = when
	case queue.StateInFlight:
		i.LeaseUntil = when
	case queue.StateDead:
		i.DiedAt = when
	}
	return i, err
}

// keptOf returns what is kept of a completed task: "when it was acked , until when , bytes of the result : result body".
func keptOf(id, kept string) (*looked, error) {
	head, rest, _ := strings.Cut(kept, ":")
	var acked, until int64
	var n int
	if _, err := fmt.Sscanf(head, "%d,%d,%d", &acked, &until, &n); err != nil || n < 0 || n > len(rest) {
		return nil, fmt.Errorf("firqredis: what is kept of task %q begins with %q", id, head)
	}
	i, err := infoOf(id, rest[n:], queue.StateCompleted, 0)
	i.Result, i.CompletedAt, i.KeptUntil = []byte(rest[:n]), time.UnixMicro(acked), time.UnixMicro(until)
	return &i, err
}

// Forget is of queue.Engine.
func (e *engine) Forget(ctx context.Context, ids []string) ([]bool, error) {
	found := make([]bool, len(ids))
	for p := range e.prefix {
		r, err := await(ctx, func() (any, error) { return e.run(ctx, forgetScript, p, anys(ids)) })
		if err != nil {
			return nil, err
		}
		for i, n := range ints(r) {
			found[i] = found[i] || n == 1
		}
	}
	return found, nil
}

// Get is of queue.Engine.
func (e *engine) Get(ctx context.Context, id string) (*looked, error) {
	for p := range e.prefix {
		r, err := e.runWithSettings(ctx, getScript, p, id)
		if err != nil {
			return nil, err
		}
		list, _ := r.([]any)
		if len(list) != 4 {
			continue
		}
		body, _ := list[2].(string)
		if queue.State(number(list[0])) == queue.StateCompleted {
			return keptOf(id, body)
		}
		i, err := infoOf(id, body, queue.State(number(list[0])), number(list[1]))
		if err != nil {
			return nil, err
		}
		if i.Reason, _ = list[3].(string); i.State == queue.StateInFlight {
			if i.LeaseUntil, err = e.leaseOf(ctx, p, id); err != nil {
				return nil, err
			}
		}
		return &i, nil
	}
	return nil, nil
}

// leaseOf looks for the lease of a task: leases are not found by id.
func (e *engine) leaseOf(ctx context.Context, p int, id string) (until time.Time, err error) {
	for zs, err := range e.pages(ctx, e.prefix[p]+":l", "-inf", "+inf", 1000) {
		if err != nil {
			return until, fmt.Errorf("firqredis: Get: %w", err)
		}
		for _, z := range zs {
			if member, _ := z.Member.(string); strings.HasPrefix(member, id+"\n") {
				return time.UnixMicro(int64(z.Score)), nil
			}
		}
	}
	return until, nil // it has ended just now
}

// List is of queue.Engine. The lanes come one after the other.
func (e *engine) List(ctx context.Context, l queue.Listing, from queue.Place) (some []looked, next *queue.Place, err error) {
	for p := from.Lane; p < e.partitions; p++ {
		if l.Tenant != "" && p != e.Lane(l.Tenant) {
			continue
		}
		at := queue.Place{Lane: p}
		if p == from.Lane {
			at = from
		}
		names := []string{l.Tenant}
		if l.State == queue.StateQueued && l.Tenant == "" {
			if names, err = e.tenantsFrom(ctx, p, at.Tenant); err != nil {
				return nil, nil, err
			}
		}
		for _, name := range names {
			if at.Tenant != name && l.State == queue.StateQueued {
				at = queue.Place{Lane: p, Tenant: name}
			}
			page, end, err := e.list(ctx, l, at, l.Limit-len(some))
			if err != nil {
				return nil, nil, fmt.Errorf("firqredis: List: %w", err)
			}
			if some = append(some, page...); end != nil {
				return some, end, nil
			}
		}
	}
	return some, nil, nil
}

// tenantsFrom returns the tenants of a partition that have tasks, in the order of their names.
func (e *engine) tenantsFrom(ctx context.Context, p int, from string) (names []string, err error) {
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		some, next, err := e.activeTenants(ctx, p, cursor)
		if err != nil {
			return nil, err
		}
		names, cursor = append(names, some...), next
	}
	slices.Sort(names)
	names = slices.Compact(names)
	at, _ := slices.BinarySearch(names, from)
	return names[at:], nil
}

// list lists the tasks of one sorted set behind a place: n of them, or fewer if it has looked at many others. nil: that was all.
func (e *engine) list(ctx context.Context, l queue.Listing, at queue.Place, n int) (some []looked, end *queue.Place, err error) {
	prefix := e.prefix[at.Lane]
	key := prefix + map[queue.State]string{queue.StateQueued: ":n:" + at.Tenant, queue.StateDelayed: ":z", queue.StateInFlight: ":l", queue.StateDead: ":x", queue.StateCompleted: ":k"}[l.State]
	if l.State == queue.StateDead && l.Tenant != "" {
		key += ":" + l.Tenant
	}
	for seen := 0; len(some) < n && seen < mostLooked; {
		zs, err := e.behind(ctx, key, at, max(n-len(some), 100))
		if err != nil {
			return nil, nil, err
		}
		if len(zs) == 0 {
			return some, nil, nil
		}
		infos, err := e.infos(ctx, at.Lane, l.State, zs)
		if err != nil {
			return nil, nil, err
		}
		for k, i := range infos {
			seen++
			at.At, at.Last = int64(zs[k].Score), zs[k].Member.(string)
			if i == nil || l.Tenant != "" && i.Tenant != l.Tenant {
				continue
			}
			if some = append(some, *i); len(some) == n {
				break
			}
		}
	}
	return some, &at, nil
}

// mostLooked bounds what a call looks at.
const mostLooked = 5000

// behind returns the members of a sorted set behind a place.
func (e *engine) behind(ctx context.Context, key string, at queue.Place, n int) ([]redis.Z, error) {
	low := "-inf"
	if at.Last != "" {
		low = strconv.FormatInt(at.At, 10)
	}
	for offset := 0; ; offset += n { // past those of the same score
		by := &redis.ZRangeBy{Min: low, Max: "+inf", Offset: int64(offset), Count: int64(n)}
		zs, err := await(ctx, func() ([]redis.Z, error) { return e.db.ZRangeByScoreWithScores(ctx, key, by).Result() })
		if err != nil || len(zs) == 0 {
			return nil, err
		}
		if at.Last != "" {
			zs = slices.DeleteFunc(zs, func(z redis.Z) bool {
				return cmp.Or(cmp.Compare(int64(z.Score), at.At), cmp.Compare(z.Member.(string), at.Last)) <= 0
			})
		}
		if len(zs) > 0 {
			return zs, nil
		}
	}
}

// infos reads tasks; those that are gone are nil.
func (e *engine) infos(ctx context.Context, p int, state queue.State, zs []redis.Z) ([]*looked, error) {
	ids := make([]string, len(zs))
	for i := range zs {
		ids[i], _, _ = strings.Cut(zs[i].Member.(string), "\n") // of a lease, the id comes first
	}
	if state == queue.StateCompleted {
		return e.kept(ctx, p, ids)
	}
	lists, err := await(ctx, func() (lists [2][]any, err error) {
		pipe := e.db.Pipeline()
		bodies, reasons := pipe.HMGet(ctx, e.prefix[p]+":d", ids...), pipe.HMGet(ctx, e.prefix[p]+":xr", ids...)
		_, err = pipe.Exec(ctx)
		return [2][]any{bodies.Val(), reasons.Val()}, err
	})
	if err != nil {
		return nil, err
	}
	all := make([]*looked, len(zs))
	for k, body := range lists[0] {
		text, ok := body.(string)
		if !ok {
			continue
		}
		i, err := infoOf(ids[k], text, state, int64(zs[k].Score))
		if err != nil {
			return nil, err
		}
		if state == queue.StateDead {
			i.Reason, _ = lists[1][k].(string)
		}
		all[k] = &i
	}
	return all, nil
}

// kept reads what is kept of completed tasks; nothing is nil.
func (e *engine) kept(ctx context.Context, p int, ids []string) ([]*looked, error) {
	texts, err := await(ctx, func() ([]*redis.StringCmd, error) {
		pipe := e.db.Pipeline()
		texts := make([]*redis.StringCmd, len(ids))
		for k, id := range ids {
			texts[k] = pipe.Get(ctx, e.prefix[p]+":k:"+id)
		}
		_, err := pipe.Exec(ctx)
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return texts, err
	})
	if err != nil {
		return nil, err
	}
	all := make([]*looked, len(ids))
	for k := range ids {
		switch text, err := texts[k].Result(); {
		case errors.Is(err, redis.Nil): // its time is over
		case err != nil:
			return nil, err
		default:
			if all[k], err = keptOf(ids[k], text); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
