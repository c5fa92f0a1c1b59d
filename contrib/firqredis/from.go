package firqredis

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Consumer takes from some tenants only. Make it with Queue.From. Safe for concurrent use.
type Consumer[T any] struct {
	q        *Queue[T]
	names    map[int][][]string // by partition, in chunks for a script each
	patterns []string           // as Lua has them
	fetch    *fetcher[T]        // for all its calls
}

const (
	// fromEvery is how often a consumer of some tenants looks while others have tasks that it must not take: the wake-ups
	// are for consumers that may take them.
	fromEvery = 100 * time.Millisecond
	// maxNames bounds the names that one script looks for. Above it the order holds within a chunk of the names, and chunks take turns.
	maxNames = 10_000
)

// From returns a consumer that takes from the tenants in assigned; if none of them has tasks, from
// those that match one of the steal targets, in which `*` stands for any characters and `?` for one;
// and from no others. Without both it takes from all tenants. What tenants are served counts for them
// in the common order, too. Its calls share scripts: make one consumer, and use it for all of them.
func (q *Queue[T]) From(tenants, steal []string) *Consumer[T] {
	c := &Consumer[T]{q: q, names: map[int][][]string{}, fetch: q.fetch}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(tenants))) {
		p := q.partitionOf(name)
		chunks := c.names[p]
		if n := len(chunks); n == 0 || len(chunks[n-1]) == maxNames {
			chunks = append(chunks, nil)
		}
		chunks[len(chunks)-1] = append(chunks[len(chunks)-1], name)
		c.names[p] = chunks
	}
	for _, glob := range steal {
		c.patterns = append(c.patterns, pattern(glob))
	}
	if len(tenants)+len(steal) > 0 {
		c.fetch = newFetcher(q, c)
	}
	return c
}

// at reports whether some of its tenants may live in a partition.
func (c *Consumer[T]) at(p int) bool { return len(c.patterns) > 0 || len(c.names[p]) > 0 }

// pattern translates a glob for the script: the pieces between its stars, each as a pattern of Lua's string.find, one per
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

// Dequeue is Queue.Dequeue for the consumer's tenants. While others have tasks it may be late by 100 ms.
func (c *Consumer[T]) Dequeue(ctx context.Context) (*Item[T], error) {
	return c.q.dequeue(ctx, c.fetch)
}

// DequeueBatch is Queue.DequeueBatch for the consumer's tenants. While others have tasks it may be late by 100 ms.
func (c *Consumer[T]) DequeueBatch(ctx context.Context, n int) ([]*Item[T], error) {
	return c.q.dequeueBatch(ctx, c.fetch, "DequeueBatch", n)
}
