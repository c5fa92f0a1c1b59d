// Package seen keeps what the tenants of an example saw: how long each waited, and
// how many tasks were served while it waited.
package seen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/firq-go/firq/hist"
)

// Table collects the times of all tenants. Build it with New; safe for concurrent use.
type Table struct {
	verb   string
	served atomic.Uint64 // tasks that were started

	mu      sync.Mutex
	tenants map[string]*tenant
}

type tenant struct {
	waits hist.Local
	ahead []uint64 // per task: how many others were served while it waited
}

// New returns an empty table. The verb says what the times are, for example "waited".
func New(verb string) *Table { return &Table{verb: verb, tenants: map[string]*tenant{}} }

// Mark is the moment at which a task got in line.
type Mark struct {
	at     time.Time
	served uint64
}

// Queued is called when a task gets in line.
func (t *Table) Queued() Mark { return Mark{time.Now(), t.served.Load()} }

// Started is called when the wait that began at m is over.
func (t *Table) Started(name string, m Mark) {
	wait := time.Since(m.at)
	before := t.served.Add(1) - 1
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.tenants[name]
	if one == nil {
		one = &tenant{}
		t.tenants[name] = one
	}
	one.waits.Record(wait)
	one.ahead = append(one.ahead, before-min(before, m.served))
}

// Count returns how many tasks of the tenant were served.
func (t *Table) Count(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.tenants[name]; one != nil {
		return len(one.ahead)
	}
	return 0
}

// Ahead returns the median number of tasks that were served while a task of this tenant
// waited: this does not depend on the speed of the machine.
func (t *Table) Ahead(name string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.tenants[name]
	if one == nil || len(one.ahead) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(one.ahead))
	return sorted[len(sorted)/2]
}

// Print writes the table, the tenants with most tasks first.
func (t *Table) Print(w io.Writer, title string) error {
	t.mu.Lock()
	names := make([]string, 0, len(t.tenants))
	for name := range t.tenants {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(t.tenants[b].ahead), len(t.tenants[a].ahead)), cmp.Compare(a, b))
	})
	t.mu.Unlock()
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	row := func(cells ...any) {
		for _, c := range cells {
			_, _ = fmt.Fprintf(tw, "%v\t", c) // Flush tells
		}
		_, _ = fmt.Fprintln(tw)
	}
	row("tenant", "tasks", t.verb+" p50", "p99", "longest", "others served in between (p50)")
	for _, name := range names {
		s := t.snapshot(name)
		row(name, s.Count(), short(s.Quantile(0.5)), short(s.Quantile(0.99)), short(s.Max()), t.Ahead(name))
	}
	if _, err := fmt.Fprintf(w, "%s\n", title); err != nil {
		return err
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (t *Table) snapshot(name string) *hist.Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := hist.NewSnapshot()
	t.tenants[name].waits.AddTo(s)
	return s
}

// short rounds to the precision that a reader compares.
func short(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond / 10)
}
