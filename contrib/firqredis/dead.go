package firqredis

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// deadPage is how many dead letters are asked for at a time.
const deadPage = 200

// DeadLetters is of queue.Engine.
func (e *engine) DeadLetters(ctx context.Context, f queue.Filter) iter.Seq2[letter, error] {
	var each []iter.Seq2[letter, error]
	for p := range e.prefix {
		each = append(each, e.deadOf(ctx, p, f))
	}
	return merged(each, func(a, b letter) bool { return a.DiedAt.Before(b.DiedAt) })
}

type letter = queue.DeadLetter[[]byte]

// deadOf iterates over the dead letters of a partition.
func (e *engine) deadOf(ctx context.Context, p int, f queue.Filter) iter.Seq2[letter, error] {
	return func(yield func(letter, error) bool) {
		for zs, err := range e.deadPages(ctx, p, f) {
			var letters []letter
			if err == nil {
				letters, err = e.letters(ctx, p, zs)
			}
			if err != nil {
				yield(letter{}, fmt.Errorf("firqredis: DeadLetters: %w", err))
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
func (e *engine) deadPages(ctx context.Context, p int, f queue.Filter) iter.Seq2[[]redis.Z, error] {
	key := e.prefix[p] + ":x"
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
		return e.pages(ctx, key, text(low), "("+text(high), deadPage)
	}
	return func(yield func([]redis.Z, error) bool) {
		var all []redis.Z
		for ids := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(f.IDs))), deadPage) {
			died, err := await(ctx, func() ([]float64, error) { return e.db.ZMScore(ctx, key, ids...).Result() })
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
func (e *engine) letters(ctx context.Context, p int, zs []redis.Z) ([]letter, error) {
	ids := make([]string, len(zs))
	for i := range zs {
		ids[i] = zs[i].Member.(string)
	}
	lists, err := await(ctx, func() ([2][]any, error) {
		pipe := e.db.Pipeline()
		bodies, reasons := pipe.HMGet(ctx, e.prefix[p]+":d", ids...), pipe.HMGet(ctx, e.prefix[p]+":xr", ids...)
		_, err := pipe.Exec(ctx)
		return [2][]any{bodies.Val(), reasons.Val()}, err
	})
	if err != nil {
		return nil, err
	}
	var all []letter
	for i, body := range lists[0] {
		text, ok := body.(string)
		if !ok {
			continue
		}
		s, err := parse(text)
		if err != nil {
			return nil, err
		}
		d := letter{Attempts: int(s.attempt), DiedAt: time.UnixMicro(int64(zs[i].Score)), Raw: []byte(s.payload)}
		if d.Task, err = task(ids[i], &s); err != nil {
			return nil, err
		}
		d.Reason, _ = lists[1][i].(string)
		all = append(all, d)
	}
	return all, nil
}

// Requeue is of queue.Engine.
func (e *engine) Requeue(ctx context.Context, ids []string) ([]bool, error) {
	found := make([]bool, len(ids))
	for p := range e.prefix {
		r, err := e.runWithSettings(ctx, requeueScript, p, anys(ids)...)
		if err != nil {
			return nil, err
		}
		for i, n := range ints(r) {
			found[i] = found[i] || n == 1
		}
	}
	return found, nil
}

// Purge is of queue.Engine.
func (e *engine) Purge(ctx context.Context, p int, ids []string) (int, error) {
	r, err := e.runWithSettings(ctx, purgeScript, p, anys(ids)...)
	return int(number(r)), err
}

func anys(ss []string) []any {
	as := make([]any, len(ss))
	for i, s := range ss {
		as[i] = s
	}
	return as
}
