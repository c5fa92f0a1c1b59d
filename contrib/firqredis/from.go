package firqredis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firq-go/firq"
)

// Consumer takes from some tenants only. Make it with Queue.From. Safe for concurrent use.
type Consumer[T any] struct {
	q        *Queue[T]
	names    []string
	patterns []string // as Lua has them
	parts    []int    // where to look
}

// fromEvery is how often consumers of some tenants look: a wake-up may be for others, so they do not
// sleep on them.
const fromEvery = 100 * time.Millisecond

// From returns a consumer that takes from the tenants it is assigned; if none of them has tasks, from
// those that match one of the steal targets, in which `*` stands for any characters and `?` for one;
// and from nobody else. Without both it takes from everybody. What tenants are served counts for them
// in the order for everybody, too.
func (q *Queue[T]) From(tenants, steal []string) *Consumer[T] {
	c := &Consumer[T]{q: q, names: slices.Compact(slices.Sorted(slices.Values(tenants)))}
	for _, glob := range steal {
		c.patterns = append(c.patterns, pattern(glob))
	}
	for p := range q.cfg.Partitions {
		if len(steal) > 0 || slices.ContainsFunc(tenants, func(t string) bool { return q.partitionOf(t) == p }) {
			c.parts = append(c.parts, p)
		}
	}
	return c
}

// pattern translates a glob for the script: what is between its stars, each as Lua's string.find has it, one per
// line. A star within a Lua pattern would let it try all ways to divide a name, and that can take for ever.
func pattern(glob string) string {
	if strings.ContainsAny(glob, "\n\r") {
		return "^$" // no tenant's name
	}
	var b strings.Builder
	b.WriteByte('^')
	for i := range len(glob) { // bytes, as Lua has them
		switch c := glob[i]; {
		case c == '*':
			b.WriteByte('\n')
		case c == '?':
			b.WriteString("[^\x80-\xbf][\x80-\xbf]*") // a character of UTF-8
		case c == 0:
			b.WriteString("%z") // a pattern of Lua 5.1 ends at a zero byte
		case c < 0x80 && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z'):
			b.WriteByte('%')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('$')
	return b.String()
}

// Dequeue is Queue.Dequeue for the consumer's tenants. It may be late by 100 ms.
func (c *Consumer[T]) Dequeue(ctx context.Context) (*Item[T], error) {
	its, err := c.dequeue(ctx, "Dequeue", 1)
	if err != nil {
		return nil, err
	}
	return its[0], nil
}

// DequeueBatch is Queue.DequeueBatch for the consumer's tenants. It may be late by 100 ms.
func (c *Consumer[T]) DequeueBatch(ctx context.Context, n int) ([]*Item[T], error) {
	return c.dequeue(ctx, "DequeueBatch", n)
}

func (c *Consumer[T]) dequeue(ctx context.Context, name string, n int) ([]*Item[T], error) {
	if len(c.names)+len(c.patterns) == 0 {
		return c.q.dequeue(ctx, name, n)
	}
	if n < 1 {
		return nil, fmt.Errorf("%w: firqredis: %s: n: %d, must be at least 1", firq.ErrInvalidArgument, name, n)
	}
	for {
		if err := c.q.call(ctx, name); err != nil {
			return nil, err
		}
		sleep := fromEvery
		for _, p := range c.parts {
			// Not with ctx: what the reply brings would be leased to nobody.
			b, err := c.q.pop(context.Background(), p, min(n, maxBatch), unknown, c.names, c.patterns)
			if err != nil {
				return nil, err
			}
			if len(b.items) > 0 {
				if ctx.Err() != nil {
					c.q.giveBack(b.items)
					return nil, ctx.Err()
				}
				return b.items, nil
			}
			if b.next >= 0 {
				sleep = min(sleep, max(b.next, time.Millisecond))
			}
		}
		t := time.NewTimer(sleep)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		case <-c.q.closed:
			t.Stop()
			return nil, firq.ErrClosed
		case <-t.C:
		}
	}
}
