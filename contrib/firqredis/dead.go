package firqredis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
)

// Filter chooses dead letters that match all of its fields that are set. The zero Filter matches all dead letters.
type Filter struct {
	Tenant string
	IDs    []string  // nil: any; a list that is empty, but not nil, chooses none
	Reason string    // a part of it
	After  time.Time // died at that time or later
	Before time.Time // died before that
	Limit  int       // that many at most; 0: all
}

// DeadLetter is a task that is not tried again.
type DeadLetter[T any] struct {
	Task[T]         // Payload is zero if the codec cannot read it
	Attempts int    // deliveries that have failed
	Reason   string // of the last one
	DiedAt   time.Time
	Raw      []byte // the payload as stored
}

// deadPage is how many dead letters are asked for at a time.
const deadPage = 200

// DeadLetters iterates over dead letters, the oldest first. It reads them page by page: those that die,
// or are purged, at that time may be seen or not. With IDs it reads only these.
func (q *Queue[T]) DeadLetters(ctx context.Context, f Filter) iter.Seq2[DeadLetter[T], error] {
	return func(yield func(DeadLetter[T], error) bool) {
		if err := q.call(ctx, "DeadLetters"); err != nil {
			yield(DeadLetter[T]{}, err)
			return
		}
		var each []iter.Seq2[DeadLetter[T], error]
		for p := range q.prefix {
			each = append(each, q.deadOf(ctx, p, f))
		}
		n := 0
		for d, err := range merged(each, func(a, b DeadLetter[T]) bool { return a.DiedAt.Before(b.DiedAt) }) {
			if !yield(d, err) {
				return
			}
			if n++; n == f.Limit {
				return
			}
		}
	}
}

// deadOf iterates over the dead letters of a partition.
func (q *Queue[T]) deadOf(ctx context.Context, p int, f Filter) iter.Seq2[DeadLetter[T], error] {
	return func(yield func(DeadLetter[T], error) bool) {
		for zs, err := range q.deadPages(ctx, p, f) {
			var letters []DeadLetter[T]
			if err == nil {
				letters, err = q.letters(ctx, p, zs)
			}
			if err != nil {
				yield(DeadLetter[T]{}, fmt.Errorf("firqredis: DeadLetters: %w", err))
				return
			}
			for _, d := range letters {
				if strings.Contains(d.Reason, f.Reason) && !yield(d, nil) {
					return
				}
			}
		}
	}
}

// deadPages iterates over the ids of a partition's dead letters, and the times at which they died.
func (q *Queue[T]) deadPages(ctx context.Context, p int, f Filter) iter.Seq2[[]redis.Z, error] {
	key := q.prefix[p] + ":x"
	if f.Tenant != "" {
		key += ":" + f.Tenant
	}
	low, high := math.Inf(-1), math.Inf(1) // us
	if !f.After.IsZero() {
		low = float64(f.After.Add(time.Microsecond - 1).UnixMicro())
	}
	if !f.Before.IsZero() {
		high = float64(f.Before.Add(time.Microsecond - 1).UnixMicro())
	}
	if f.IDs == nil {
		text := func(us float64) string {
			if math.IsInf(us, 0) {
				return map[bool]string{true: "+inf", false: "-inf"}[us > 0]
			}
			return strconv.FormatFloat(us, 'f', 0, 64)
		}
		return q.pages(ctx, key, text(low), "("+text(high), deadPage)
	}
	return func(yield func([]redis.Z, error) bool) {
		var all []redis.Z
		for ids := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(f.IDs))), deadPage) {
			died, err := await(ctx, func() ([]float64, error) { return q.db.ZMScore(ctx, key, ids...).Result() })
			if err != nil {
				yield(nil, err)
				return
			}
			for i, us := range died {
				if us != 0 && low <= us && us < high { // 0: there is none
					all = append(all, redis.Z{Score: us, Member: ids[i]})
				}
			}
		}
		slices.SortStableFunc(all, func(a, b redis.Z) int { return cmp.Compare(a.Score, b.Score) })
		for zs := range slices.Chunk(all, deadPage) {
			if !yield(zs, nil) {
				return
			}
		}
	}
}

// letters reads the dead letters with the given ids; those that are gone are left out.
func (q *Queue[T]) letters(ctx context.Context, p int, zs []redis.Z) ([]DeadLetter[T], error) {
	ids := make([]string, len(zs))
	for i := range zs {
		ids[i] = zs[i].Member.(string)
	}
	lists, err := await(ctx, func() ([2][]any, error) {
		pipe := q.db.Pipeline()
		bodies, reasons := pipe.HMGet(ctx, q.prefix[p]+":d", ids...), pipe.HMGet(ctx, q.prefix[p]+":xr", ids...)
		_, err := pipe.Exec(ctx)
		return [2][]any{bodies.Val(), reasons.Val()}, err
	})
	if err != nil {
		return nil, err
	}
	var all []DeadLetter[T]
	for i, body := range lists[0] {
		text, ok := body.(string)
		if !ok {
			continue
		}
		s, err := parse(text)
		if err != nil {
			return nil, err
		}
		d := DeadLetter[T]{Attempts: int(s.attempt), DiedAt: time.UnixMicro(int64(zs[i].Score)), Raw: []byte(s.payload)}
		if d.Task, err = task[T](ids[i], &s); err != nil {
			return nil, err
		}
		d.Reason, _ = lists[1][i].(string)
		if v, err := q.decodeApart(d.Raw); err == nil {
			d.Payload = v
		}
		all = append(all, d)
	}
	return all, nil
}

// Requeue queues dead letters as new tasks: attempts count from 1, and no limit refuses them. Errors are joined
// TaskErrors: ErrNotFound.
func (q *Queue[T]) Requeue(ctx context.Context, ids ...string) error {
	if err := q.call(ctx, "Requeue"); err != nil {
		return err
	}
	found := make(map[string]bool, len(ids))
	for p := range q.prefix {
		for some := range slices.Chunk(ids, maxBatch) {
			r, err := q.runWithSettings(ctx, requeueScript, p, anys(some)...)
			if err != nil {
				return err
			}
			for i, n := range ints(r) {
				if n == 1 {
					found[some[i]] = true
				}
			}
		}
	}
	var errs []error
	for _, id := range ids {
		if !found[id] {
			errs = append(errs, &TaskError{id, ErrNotFound})
		}
	}
	return errors.Join(errs...)
}

// Purge removes dead letters permanently, and returns their number. Beware: the zero Filter matches all of them.
func (q *Queue[T]) Purge(ctx context.Context, f Filter) (int, error) {
	if f.Tenant != "" && badName(f.Tenant) {
		return 0, fmt.Errorf("%w: firqredis: Purge: Tenant: %q: %s", firq.ErrInvalidArgument, f.Tenant, nameRule)
	}
	n, each := 0, make([][]string, q.cfg.Partitions)
	flush := func(p int) error {
		r, err := q.runWithSettings(ctx, purgeScript, p, anys(each[p])...)
		each[p] = each[p][:0]
		n += int(number(r))
		return err
	}
	for d, err := range q.DeadLetters(ctx, f) {
		if err != nil {
			return n, err
		}
		p := q.partitionOf(d.Tenant)
		if each[p] = append(each[p], d.ID); len(each[p]) >= deadPage {
			if err := flush(p); err != nil {
				return n, err
			}
		}
	}
	for p := range each {
		if len(each[p]) > 0 {
			if err := flush(p); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func anys(ss []string) []any {
	as := make([]any, len(ss))
	for i, s := range ss {
		as[i] = s
	}
	return as
}
