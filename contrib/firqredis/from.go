package firqredis

import (
	"slices"
	"strings"
	"time"

	"github.com/firq-go/firq/queue"
)

// some are the tenants that a fetcher may take from.
type some struct {
	names    map[int][][]string // by partition, in chunks for a script each
	patterns []string           // as Lua has them
}

const (
	// fromEvery is how often a consumer of some tenants looks while others have tasks that it must not take: the wake-ups
	// are for consumers that may take them.
	fromEvery = 100 * time.Millisecond
	// maxNames bounds the names that one script looks for. Above it the order holds within a chunk of the names, and chunks take turns.
	maxNames = 10_000
)

// From is of queue.Engine.
func (e *engine) From(tenants, steal []string) queue.Source {
	if len(tenants)+len(steal) == 0 {
		f := newFetcher(e, nil)
		if e.fetch == nil {
			e.fetch = f
		}
		return f
	}
	c := &some{names: map[int][][]string{}}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(tenants))) {
		p := e.Lane(name)
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
	return newFetcher(e, c)
}

// at reports whether some of its tenants may live in a partition.
func (c *some) at(p int) bool { return len(c.patterns) > 0 || len(c.names[p]) > 0 }

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
