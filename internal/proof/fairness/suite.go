package fairness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firq-go/firq/internal/proof/race"
)

// Run measures a core under every setup, and logs the tables that are in
// docs/fairness.md.
func Run(t *testing.T, build Maker) {
	t.Run("table", func(t *testing.T) { table(t, build) })
	t.Run("slack", func(t *testing.T) { slack(t, build) })
	t.Run("two tenants", func(t *testing.T) { twoTenants(t, build) })
	t.Run("waiting shard", func(t *testing.T) { waitingShard(t, build) })
	t.Run("history", func(t *testing.T) { history(t, build) })
	t.Run("newcomers", func(t *testing.T) { newcomers(t, build) })
	t.Run("newcomer in the middle of a hold", func(t *testing.T) { midHold(t, build) })
	t.Run("new tenants first", func(t *testing.T) { newFirst(t, build) })
	t.Run("wait", func(t *testing.T) { wait(t, build) })
}

func (x setup) must(t *testing.T, build Maker) found {
	t.Helper()
	f, err := x.run(build)
	if err != nil {
		t.Errorf("%+v: %v", x, err)
	}
	if f.within.Stated.Over+f.across.Stated.Over > 0 && !x.newFirst {
		t.Errorf("%+v: %v rounds on one shard, %v across: beyond what docs/design/shards.md states", x, f.within.Stated, f.across.Stated)
	}
	return f
}

// table is the one of the measured maximum, with the bound.
func table(t *testing.T, build Maker) {
	var b strings.Builder
	for _, shards := range []int{1, 2, 8, 64} {
		for _, consumers := range []int{1, 2, 4, 16} {
			for _, batch := range []int{1, 32} {
				x := setup{shards: shards, crowd: 100, consumers: consumers, batch: batch, slack: 1}
				if quick() {
					if x.crowd = 20; shards == 64 || consumers == 2 || (consumers == 1) != (batch == 1) {
						continue
					}
				}
				x.row(t, build, &b)
			}
		}
	}
	t.Logf("shards, consumers, batch; for each mix: one shard, across, across as stated; for cheap: as returned\n%s", &b)
}

func (x setup) row(t *testing.T, build Maker, b *strings.Builder) {
	fmt.Fprintf(b, "| %d | %d | %d |", x.shards, x.consumers, x.batch)
	for _, x.mix = range []Mix{Random, Cheap, Costly} {
		f := x.must(t, build)
		fmt.Fprintf(b, " %v | %v | %v |", f.within.Proved, f.across.Proved, f.across.Stated)
		if x.mix == Cheap {
			fmt.Fprintf(b, " %.1f |", f.returned)
		}
	}
	b.WriteByte('\n')
}

// quick leaves out most of the table.
func quick() bool { return testing.Short() || race.Enabled }
