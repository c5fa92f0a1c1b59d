package firqredis

import (
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// pages iterates over a sorted set by score, from low to high, a page at a time. What comes or goes in between may be seen or not.
func (e *engine) pages(ctx context.Context, key, low, high string, size int) iter.Seq2[[]redis.Z, error] {
	return func(yield func([]redis.Z, error) bool) {
		seen := map[string]bool{} // of the score that the page begins at
		for {
			by := &redis.ZRangeBy{Min: low, Max: high, Count: int64(size + len(seen))}
			zs, err := await(ctx, func() ([]redis.Z, error) { return e.db.ZRangeByScoreWithScores(ctx, key, by).Result() })
			if err != nil {
				yield(nil, err)
				return
			}
			zs = slices.DeleteFunc(zs, func(z redis.Z) bool { return seen[z.Member.(string)] })
			if len(zs) == 0 {
				return
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
			if !yield(zs, nil) {
				return
			}
		}
	}
}

// merged merges several ordered sequences into one. An error ends it.
func merged[V any](all []iter.Seq2[V, error], before func(a, b V) bool) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		type source struct {
			pull func() (V, error, bool)
			head V
			ok   bool // there is a head
		}
		var open []*source
		for _, seq := range all {
			pull, stop := iter.Pull2(seq)
			defer stop()
			open = append(open, &source{pull: pull})
		}
		for {
			var first *source
			for _, s := range open {
				if !s.ok && s.pull != nil {
					var err error
					if s.head, err, s.ok = s.pull(); err != nil {
						yield(s.head, err)
						return
					}
					if !s.ok {
						s.pull = nil
					}
				}
				if s.ok && (first == nil || before(s.head, first.head)) {
					first = s
				}
			}
			if first == nil || !yield(first.head, nil) {
				return
			}
			first.ok = false
		}
	}
}
