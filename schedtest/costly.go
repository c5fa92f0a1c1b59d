package schedtest

import (
	"fmt"
	"testing"
)

// A costly task skips many empty turns in one step. That must not put its shard so far
// ahead that other tenants of the shard wait until all other shards have caught up.
var costlyChecks = []check{
	{name: "a newcomer does not wait for costly tasks", run: sharded(costlyNewcomers, 1, 2, 8)},
}

func costlyNewcomers(t *testing.T, newSched maker, shards int) {
	const costly, steady = 8, 4
	s := open(t, newSched, config{Shards: shards})
	for i := range costly {
		for range 20 {
			admit(t, s, fmt.Sprint("costly", i), task{Cost: 200})
		}
	}
	for i := range steady {
		load(t, s, fmt.Sprint("steady", i), 5000)
	}
	for i := range 100 {
		for range 37 {
			take(t, s)
		}
		quiet := fmt.Sprint("quiet", i)
		admit(t, s, quiet, task{})
		waited := 0
		for take(t, s).Tenant != quiet {
			waited++
		}
		// A few rounds, in each of which a tenant is served at most one task.
		if most := 4 * (costly + steady); waited > most {
			t.Fatalf("%d shards: newcomer %d waited for %d tasks, at most %d are fair", shards, i, waited, most)
		}
	}
}
