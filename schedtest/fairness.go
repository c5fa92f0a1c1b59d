package schedtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq/internal/proof/fairness"
	"github.com/firq-go/firq/internal/proof/race"
)

// Over every interval of the service, any two backlogged tenants are within the
// bound that docs/fairness.md states. The log is that of the calls: with several
// consumers what is checked is what the calls prove.
var fairnessChecks = func() []check {
	var checks []check
	for _, shards := range []int{1, 8, 64} {
		for _, consumers := range []int{1, 2, 16} {
			for _, batch := range []int{1, 32} {
				if race.Enabled && (consumers == 2 || (consumers == 1) != (batch == 1)) {
					continue
				}
				checks = append(checks, check{
					name: fmt.Sprintf("shards=%d/consumers=%d/batch=%d", shards, consumers, batch),
					run:  func(t *testing.T, m maker) { fairnessBound(t, m, shards, consumers, batch) },
				})
			}
		}
	}
	return checks
}()

func fairnessBound(t *testing.T, newSched maker, shards, consumers, batch int) {
	for _, mix := range []fairness.Mix{fairness.Random, fairness.Cheap, fairness.Costly} {
		if testing.Short() || race.Enabled {
			mix.Rounds /= 2
		}
		for _, slack := range []int{1, 4}[:min(shards, 2)] {
			names := tenants(30)
			load := mix.Draw(rand.New(rand.NewPCG(uint64(shards), uint64(slack))), len(names))
			if shards > 1 {
				for i := range load.Tenants {
					load.Tenants[i].Shard = i // unknown here: assume that no two share a shard
				}
			}
			s := open(t, newSched, config{Shards: shards, FairnessSlack: slack})
			h := fairness.Histories[(shards+consumers+batch+slack)%len(fairness.Histories)]
			if err := fairness.Live(s, h, func(tenant int) string { return fmt.Sprint("history ", tenant) }); err != nil {
				t.Fatal(err)
			}
			n, err := fairness.Admit(s, load, names, fairness.Everybody)
			if err != nil {
				t.Fatal(err)
			}
			g := fairness.Measure(load.Tenants, fairness.Serve(s, n, consumers, batch))
			within, across := g.Judge(fairness.Proved(slack))
			for _, v := range []fairness.Verdict{within, across} {
				if err := v.Check(); err != nil {
					t.Errorf("%s, slack %d, history %q: %v", mix.Name, slack, h.Name, err)
				}
			}
			if consumers == 1 && g.Turns() < 3 { // others may hold most of the tasks at the same time
				t.Errorf("%s, slack %d: a tenant had %d turns: too little to see anything", mix.Name, slack, g.Turns())
			}
		}
	}
}
