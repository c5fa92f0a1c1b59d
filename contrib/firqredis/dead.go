package firqredis

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firq-go/firq"
	"github.com/redis/go-redis/v9"
)

// Filter chooses dead letters. All that are set must hold.
type Filter struct {
	Tenant string
	IDs    []string
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
// or are purged, meanwhile may be seen or not.
func (q *Queue[T]) DeadLetters(ctx context.Context, f Filter) iter.Seq2[DeadLetter[T], error] {
	return func(yield func(DeadLetter[T], error) bool) {
		if err := q.call(ctx, "DeadLetters"); err != nil {
			yield(DeadLetter[T]{}, err)
			return
		}
		type next struct {
			letter DeadLetter[T]
			ok     bool
		}
		var heads []next
		var pulls []func() (DeadLetter[T], error, bool)
		for p := range q.prefix {
			pull, stop := iter.Pull2(q.deadOf(ctx, p, f))
			defer stop()
			pulls = append(pulls, pull)
			heads = append(heads, next{})
		}
		for n := 0; f.Limit <= 0 || n < f.Limit; n++ {
			first := -1
			for p := range heads {
				if !heads[p].ok && pulls[p] != nil {
					letter, err, ok := pulls[p]()
					if err != nil {
						yield(DeadLetter[T]{}, err)
						return
					}
					if !ok {
						pulls[p] = nil
						continue
					}
					heads[p] = next{letter, true}
				}
				if heads[p].ok && (first < 0 || heads[p].letter.DiedAt.Before(heads[first].letter.DiedAt)) {
					first = p
				}
			}
			if first < 0 || !yield(heads[first].letter, nil) {
				return
			}
			heads[first].ok = false
		}
	}
}

// deadOf iterates over those of a partition.
func (q *Queue[T]) deadOf(ctx context.Context, p int, f Filter) iter.Seq2[DeadLetter[T], error] {
	return func(yield func(DeadLetter[T], error) bool) {
		key := q.prefix[p] + ":x"
		if f.Tenant != "" {
			key += ":" + f.Tenant
		}
		low, high := "-inf", "+inf"
		if !f.After.IsZero() {
			low = strconv.FormatInt(ceil(time.Duration(f.After.UnixNano()), time.Microsecond), 10)
		}
		if !f.Before.IsZero() {
			high = "(" + strconv.FormatInt(ceil(time.Duration(f.Before.UnixNano()), time.Microsecond), 10)
		}
		seen := map[string]bool{} // of the time that the page begins at
		for {
			zs, err := q.db.ZRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{Min: low, Max: high, Count: int64(deadPage + len(seen))}).Result()
			if err != nil {
				yield(DeadLetter[T]{}, fmt.Errorf("firqredis: DeadLetters: %w", err))
				return
			}
			zs = slices.DeleteFunc(zs, func(z redis.Z) bool { return seen[z.Member.(string)] })
			if len(zs) == 0 {
				return
			}
			letters, err := q.letters(ctx, p, zs)
			if err != nil {
				yield(DeadLetter[T]{}, err)
				return
			}
			for _, d := range letters {
				if (len(f.IDs) == 0 || slices.Contains(f.IDs, d.ID)) && strings.Contains(d.Reason, f.Reason) && !yield(d, nil) {
					return
				}
			}
			last := zs[len(zs)-1].Score
			if l := strconv.FormatFloat(last, 'f', 0, 64); l != low {
				low, seen = l, map[string]bool{}
			}
			for _, z := range zs {
				if z.Score == last {
					seen[z.Member.(string)] = true
				}
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
	var bodies, reasons *redis.SliceCmd
	if _, err := q.db.Pipelined(ctx, func(t redis.Pipeliner) error {
		bodies, reasons = t.HMGet(ctx, q.prefix[p]+":d", ids...), t.HMGet(ctx, q.prefix[p]+":xr", ids...)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("firqredis: DeadLetters: %w", err)
	}
	var all []DeadLetter[T]
	for i, body := range bodies.Val() {
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
		d.Reason, _ = reasons.Val()[i].(string)
		if v, err := q.decode(d.Raw); err == nil {
			d.Payload = v
		}
		all = append(all, d)
	}
	return all, nil
}

// Requeue queues dead letters as new: attempts are counted from 1, and no limit stops them. Errors are joined
// TaskErrors: ErrNotFound.
func (q *Queue[T]) Requeue(ctx context.Context, ids ...string) error {
	if err := q.call(ctx, "Requeue"); err != nil {
		return err
	}
	found := make([]bool, len(ids))
	for p := range q.prefix {
		for some := range slices.Chunk(ids, maxBatch) {
			r, err := q.cold(ctx, requeueScript, p, anys(some)...)
			if err != nil {
				return err
			}
			for i, n := range ints(r) {
				if n == 1 {
					found[slices.Index(ids, some[i])] = true
				}
			}
		}
	}
	var errs []error
	for i, id := range ids {
		if !found[slices.Index(ids, id)] {
			errs = append(errs, &TaskError{ids[i], ErrNotFound})
		}
	}
	return errors.Join(errs...)
}

// Purge removes dead letters for good, and returns how many.
func (q *Queue[T]) Purge(ctx context.Context, f Filter) (int, error) {
	if f.Tenant != "" && badName(f.Tenant) {
		return 0, fmt.Errorf("%w: firqredis: Purge: Tenant: %q: %s", firq.ErrInvalidArgument, f.Tenant, nameRule)
	}
	n, each := 0, make([][]string, q.cfg.Partitions)
	flush := func(p int) error {
		r, err := q.cold(ctx, purgeScript, p, anys(each[p])...)
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
